"""Fields of features that are off: writes drop them unless the stored object has them (`dropDisabledFields`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from fakekube.apiserver.features import Features, current, enabled

Object = dict[str, Any]

#: The gate of fields whose feature has been removed.
REMOVED = ""


class _Step(NamedTuple):
    name: str
    is_list: bool
    is_pruned: bool


Row = tuple[str, Sequence[str]]
"""A gate and the paths of its fields. In a path, `name[]` are the elements of a list, and `name?` is a map that is
dropped with its last field."""


class _DisabledPaths(NamedTuple):
    """The paths of the gates that are off."""

    of_gates: tuple[tuple[tuple[_Step, ...], ...], ...]
    """Those of each gate."""

    tree: dict[_Step, Any]
    """All of them: each step has a tree of the steps after it, which is empty where a path ends."""


class GatedFields:
    """The fields of features that a kind has."""

    def __init__(self, *rows: Row) -> None:
        self.rows: tuple[Row, ...] = rows
        self._disabled: dict[Features, _DisabledPaths] = {}
        """For each behaviour of a server."""

    def drop_disabled(self, new: Object, old: Object | None = None) -> Object:
        """The new object without the fields whose gates are off; those of a gate stay if the stored object has one."""
        features = current()
        disabled = self._disabled.get(features)
        if disabled is None:
            disabled = self._disabled[features] = self._disabled_paths()
        if not _has_any(new, disabled.tree):  # nearly always
            return new
        for paths in disabled.of_gates:
            found = [steps for steps in paths if _has(new, steps)]
            if found and not (old is not None and any(_has(old, steps, empty=False) for steps in paths)):
                for steps in found:
                    new = _without(new, steps)
        return new

    def _disabled_paths(self) -> _DisabledPaths:
        of_gates = tuple(tuple(map(_steps, paths)) for gate, paths in self.rows if gate == REMOVED or not enabled(gate))
        tree: dict[_Step, Any] = {}
        for *steps, last in sorted(chain.from_iterable(of_gates), key=len, reverse=True):
            branch = tree
            for step in steps:
                branch = branch.setdefault(step, {})
            branch[last] = {}  # shorter paths come last, and replace longer ones
        return _DisabledPaths(of_gates, tree)


def without(new: Object, *paths: str) -> Object:
    """The object without the fields of the paths. What is not changed is shared."""
    for steps in map(_steps, paths):
        if _has(new, steps):
            new = _without(new, steps)
    return new


def uses(obj: Object, paths: Sequence[str]) -> bool:
    """Whether a field of the paths is set and not empty."""
    return any(_has(obj, steps, empty=False) for steps in map(_steps, paths))


@cache
def _steps(path: str) -> tuple[_Step, ...]:
    return tuple(_Step(part.rstrip("[]?"), part.endswith("[]"), part.endswith("?")) for part in path.split("."))


def _has_any(obj: Object, tree: dict[_Step, Any]) -> bool:
    """Whether the object has a field at the end of a path, if only an empty one."""
    for (name, is_list, _), after in tree.items():
        if name not in obj:
            continue
        if not after:
            return True
        value = obj[name]
        for inner in (value if is_list else (value,)) if value else ():
            if _has_any(inner, after):
                return True
    return False


def _has(obj: Object, steps: tuple[_Step, ...], place: int = 0, *, empty: bool = True) -> bool:
    """`empty`: an empty value counts, too."""
    for name, is_list, _ in steps[place:-1]:
        value = obj.get(name)
        if not value:
            return False
        place += 1
        if is_list:
            for item in value:  # noqa: SIM110 `any` with a generator takes twice the time
                if _has(item, steps, place, empty=empty):
                    return True
            return False
        obj = value
    name = steps[-1].name
    return name in obj if empty else obj.get(name) not in (None, [], {})


def _without(obj: Object, steps: tuple[_Step, ...], place: int = 0) -> Object:
    name, is_list, is_pruned = steps[place]
    value = obj.get(name)
    if place < len(steps) - 1:
        if not value:
            return obj
        if is_list:
            return {**obj, name: [_without(item, steps, place + 1) for item in value]}
        left = _without(value, steps, place + 1)
        if left or not is_pruned:
            return {**obj, name: left}
    return {key: item for key, item in obj.items() if key != name}
