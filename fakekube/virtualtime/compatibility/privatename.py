"""An attribute of another library that is not part of its public interface, and what is lost without it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

from fakekube.struct import Struct

#: The versions that fakekube was tested with, for messages.
TESTED = {
    "Python": "3.11, 3.12 and 3.13",
    "anyio": "4.16",
    "freezegun": "1.5.5",
    "kr8s": "0.20.15",
    "kubernetes": "37.0.1",
    "pytest": "7.4 to 9.2",
}

_DISTRIBUTIONS = {"_pytest": "pytest"}


class CompatibilityWarning(UserWarning):
    """A version of Python or of a library that fakekube was not tested with; says what does not work, if known."""


class IncompatibleVersion(RuntimeError):
    """Python or a library lacks what every cluster needs."""


class PrivateName(Struct, frozen=True):
    """`where.name` of another library.

    where: a module, and a class after a colon: `asyncio.base_events:BaseEventLoop`.
    lost: what does not work without it, as the end of "... has no X: ".
    required: a cluster cannot be opened without it. Else there is a fallback, and one line says what is lost.
    sample: returns an instance of the class, if only instances have the attribute; it gets what `missing` gets.
    """

    where: str
    name: str
    lost: str
    required: bool = False
    sample: Callable[[Any], Any] | None = None

    @property
    def library(self) -> str:
        """The distribution, as in TESTED."""
        package = self.where.partition(":")[0].partition(".")[0]
        return "Python" if package in sys.stdlib_module_names else _DISTRIBUTIONS.get(package, package)

    def is_missing(self, given: Any = None) -> bool:
        """False for a library that is not imported: nothing uses it."""
        module, _, kind = self.where.partition(":")
        if self.library == "Python":
            import_module(module)
        if module not in sys.modules:
            return False
        owner: Any = sys.modules[module]
        if kind:
            owner = getattr(owner, kind, None)
        if owner is None:
            return self.sample is None  # else the class has a row of its own
        if self.sample is not None:
            try:
                owner = self.sample(given)
            except AttributeError:
                return False  # another name is missing, by which the instance is found
        return not hasattr(owner, self.name)

    def __str__(self) -> str:
        """One line: what is missing, what does not work, and the versions that were tested."""
        place = self.where.rpartition(":")[2]
        return (
            f"{installed(self.library)} has no {place}.{self.name}: {self.lost} (fakekube was tested with "
            f"{self.library} {TESTED[self.library]})"
        )


def installed(library: str) -> str:
    """The name and the version of a library of this process."""
    if library == "Python":
        return f"Python {python_version()}"
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library


def missing(names: Iterable[PrivateName], given: Any = None) -> Iterator[PrivateName]:
    """Those that this process does not have. `given`: for their samples."""
    return (name for name in names if name.is_missing(given))
