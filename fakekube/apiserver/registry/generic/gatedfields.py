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


_Tree = dict[_Step, Any]
"""Paths: each step has a tree of the steps after it, which is empty where a path ends."""


Row = tuple[str, Sequence[str]]
"""A gate and the paths of its fields. In a path, `name[]` are the elements of a list, and `name?` is a map that is
dropped with its last field."""


class _Disabled(NamedTuple):
    """The paths of the gates that are off: those of each, and the tree of all."""

    of_gates: tuple[Sequence[str], ...]
    tree: _Tree


class GatedFields:
    """The fields of features that a kind has."""

    def __init__(self, *rows: Row) -> None:
        self.rows: tuple[Row, ...] = rows
        self._disabled: dict[Features, _Disabled] = {}
        """For each behaviour of a server."""

    def drop_disabled(self, new: Object, old: Object | None = None) -> Object:
        """The new object without the fields whose gates are off; those of a gate stay if the stored object has one."""
        features = current()
        disabled = self._disabled.get(features)
        if disabled is None:
            of_gates = tuple(paths for gate, paths in self.rows if gate == REMOVED or not enabled(gate))
            disabled = self._disabled[features] = _Disabled(of_gates, _tree(*chain.from_iterable(of_gates)))
        if _has(new, disabled.tree):  # hardly ever
            for paths in disabled.of_gates:
                if old is None or not uses(old, paths):
                    new = without(new, *paths)
        return new


def without(new: Object, *paths: str) -> Object:
    """The object without the fields of the paths. What is not changed is shared."""
    for path in paths:
        if _has(new, _tree(path)):
            new = _without(new, _steps(path))
    return new


def uses(obj: Object, paths: Sequence[str]) -> bool:
    """Whether a field of the paths is set and not empty."""
    return _has(obj, _tree(*paths), empty=False)


@cache
def _steps(path: str) -> tuple[_Step, ...]:
    return tuple(_Step(part.rstrip("[]?"), part.endswith("[]"), part.endswith("?")) for part in path.split("."))


@cache
def _tree(*paths: str) -> _Tree:
    tree: _Tree = {}
    for *steps, last in sorted(map(_steps, paths), key=len, reverse=True):
        branch = tree
        for step in steps:
            branch = branch.setdefault(step, {})
        branch[last] = {}  # shorter paths come last, and replace longer ones
    return tree


def _has(obj: Object, tree: _Tree, *, empty: bool = True) -> bool:
    """Whether the object has a field at the end of a path; `empty`: an empty value counts, too."""
    for (name, is_list, _), after in tree.items():
        if name not in obj:
            continue
        value = obj[name]
        if not after:
            if empty or value not in (None, [], {}):
                return True
            continue
        for inner in (value if is_list else (value,)) if value else ():
            if _has(inner, after, empty=empty):
                return True
    return False


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
