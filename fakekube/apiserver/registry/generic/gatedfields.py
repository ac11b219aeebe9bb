"""Fields of features that are off: writes drop them unless the stored object has them (`dropDisabledFields`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from fakekube.apiserver.features import enabled

Object = dict[str, Any]

Gated = Sequence[tuple[str, Sequence[str]]]
"""Gates with the paths of their fields. In a path, `name[]` are the elements of a list, and `name?` is a map that is
dropped with its last field."""

#: The gate of fields whose feature has been removed.
REMOVED = ""


class _Step(NamedTuple):
    name: str
    is_list: bool
    is_pruned: bool


def without_disabled(gated: Gated, new: Object, old: Object | None = None) -> Object:
    """The new object without the fields whose gates are off; those of a gate stay if the stored object has one."""
    for gate, paths in gated:
        if gate != REMOVED and enabled(gate):
            continue
        found = [steps for steps in map(_steps, paths) if _has(new, steps)]
        if found and not (old is not None and uses(old, paths)):
            for steps in found:
                new = _without(new, steps)
    return new


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


def _has(obj: Object, steps: tuple[_Step, ...], place: int = 0, *, empty: bool = True) -> bool:
    step = steps[place]
    value = obj.get(step.name)
    if place == len(steps) - 1:
        return step.name in obj if empty else value not in (None, [], {})
    if not value:
        return False
    if step.is_list:
        return any(_has(item, steps, place + 1, empty=empty) for item in value)
    return _has(value, steps, place + 1, empty=empty)


def _without(obj: Object, steps: tuple[_Step, ...], place: int = 0) -> Object:
    step = steps[place]
    if place == len(steps) - 1:
        return {name: value for name, value in obj.items() if name != step.name}
    value = obj.get(step.name)
    if not value:
        return obj
    if step.is_list:
        return {**obj, step.name: [_without(item, steps, place + 1) for item in value]}
    left = _without(value, steps, place + 1)
    if step.is_pruned and not left:
        return {name: value for name, value in obj.items() if name != step.name}
    return {**obj, step.name: left}
