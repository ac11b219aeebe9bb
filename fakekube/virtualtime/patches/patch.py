"""PatchSet: attributes that are replaced while a bubble is active, and put back after it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """`owner.name` becomes `replacement`, which ends up calling what was there."""

    owner: Any
    name: str
    replacement: Callable[..., Any]


class PatchSet:
    """A set of patches that is in place or is not."""

    def __init__(self, patches: Iterable[Patch]) -> None:
        self._patches = tuple(patches)
        self._before: list[tuple[Patch, object]] = []

    def install(self) -> None:
        """Put all in place. RuntimeError, and nothing done, if somebody else has replaced one of them already."""
        for patch in self._patches:
            refuse_foreign(patch.owner, patch.name)
        for patch in self._patches:
            self._before.append((patch, vars(patch.owner).get(patch.name, _MISSING)))
            setattr(patch.owner, patch.name, patch.replacement)

    def remove(self) -> None:
        """Put back what was there, except where somebody has replaced our replacement since: that is his to undo."""
        while self._before:
            patch, before = self._before.pop()
            if vars(patch.owner).get(patch.name) is not patch.replacement:
                continue
            if before is _MISSING:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, before)


def refuse_foreign(owner: Any, name: str) -> None:
    """RuntimeError if `owner.name` is not what the standard library made it."""
    value = getattr(owner, name)
    home = getattr(owner, "__module__", None) or owner.__name__
    if isinstance(value, BuiltinFunctionType | MethodDescriptorType) or (
        isinstance(value, FunctionType) and value.__module__ == home
    ):
        return
    whose = getattr(value, "__module__", None) or type(value).__module__
    raise RuntimeError(
        f"{home}.{getattr(owner, '__qualname__', '')}".removesuffix(".").removesuffix(f".{home}")
        + f".{name} has been replaced by {whose}; the cluster has to replace it, too, and the two would get into each "
        "other's way (pytest-socket, gevent and a monkeypatched time.sleep are known for it): switch that off here"
    )
