"""Attributes that are replaced while a bubble is open, and restored afterwards."""

from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any, NamedTuple

_MISSING = object()

#: By the owner and the name: the last value that was found to be the standard library's own. It is looked at in every
#: cluster of a process.
_ORIGINAL: dict[tuple[Any, str], object] = {}


class Patch(NamedTuple):
    """Sets `owner.name` to `replacement`, which calls the original in the end.

    `original`: what is expected there; None: any function of the standard library's module that `owner` belongs to.
    """

    owner: Any
    name: str
    replacement: Any
    original: object = None


class PatchSet:
    """Patches that are installed and removed together."""

    def __init__(self, patches: Iterable[Patch]) -> None:
        self._patches = tuple(patches)
        self._before: list[tuple[Patch, object]] = []

    def install(self) -> None:
        """Install all; RuntimeError, and none installed, if another library has replaced one of the attributes."""
        for owner, name, _, original in self._patches:
            if original is None or getattr(owner, name) is not original:
                check_original(owner, name)
        for patch in self._patches:
            owner, name, replacement, _ = patch
            self._before.append((patch, owner.__dict__.get(name, _MISSING)))
            setattr(owner, name, replacement)

    def remove(self) -> None:
        """Restore the originals, also where code under test has wrapped a replacement (Sentry wraps `Thread.start`, and
        others), except for attributes that another library has replaced since."""
        while self._before:
            (owner, name, replacement, _), before = self._before.pop()
            present = owner.__dict__.get(name)
            if present is not replacement and all(each is not replacement for each in _layers(present)):
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


class Swaps:
    """Attributes that are replaced one after the other, without a check, and restored together."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, object]] = []

    def set(self, owner: Any, name: str, value: object) -> None:
        self._before.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def restore(self) -> None:
        while self._before:
            owner, name, before = self._before.pop()
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _layers(value: Any) -> Iterator[Any]:
    """A function, and what it wraps."""
    yield value
    while (value := getattr(value, "__wrapped__", None)) is not None:
        yield value


def check_original(owner: Any, name: str) -> None:
    """Raises RuntimeError if `owner.name` is not the standard library's own."""
    present = getattr(owner, name)
    if _ORIGINAL.get((owner, name)) is present:
        return
    *_, value = _layers(present)  # what instruments calls, as OpenTelemetry does, is welcome
    home = getattr(owner, "__module__", None) or owner.__name__
    if isinstance(value, BuiltinFunctionType | MethodDescriptorType) or (
        isinstance(value, FunctionType) and f"{value.__module__}.".startswith(f"{home}.")
    ):
        _ORIGINAL[owner, name] = present
        return
    whose = getattr(value, "__module__", None) or type(value).__module__
    raise RuntimeError(
        f"{home}.{getattr(owner, '__qualname__', '')}".removesuffix(".").removesuffix(f".{home}")
        + f".{name} has been replaced by {whose}, and the cluster must replace it, too; the two do not work together "
        "(pytest-socket, gevent and a monkeypatched time.sleep do this): disable the other one for this test"
    )
