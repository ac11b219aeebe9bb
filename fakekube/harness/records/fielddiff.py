"""Which fields of an object a write changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

#: Fields that every write changes, or that say nothing about it.
_LEFT_OUT = frozenset({"metadata.managedFields", "metadata.resourceVersion"})

_ABSENT: Any = object()


class FieldChange(NamedTuple):
    """A changed field. `before` or `after` is absent if `added` or `removed`."""

    path: str
    before: Any
    after: Any
    added: bool
    removed: bool


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    """The smallest fields that differ, in the order of their names; items of lists are compared by their position."""
    return _changed("", before, after)


def _changed(path: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if before == after or path in _LEFT_OUT:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            inner = f"{path}.{key}" if path else key
            yield from _changed(inner, before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        for i in range(max(len(before), len(after))):
            one, other = (each[i] if i < len(each) else _ABSENT for each in (before, after))
            yield from _changed(f"{path}[{i}]", one, other)
    else:
        added, removed = before is _ABSENT, after is _ABSENT
        yield FieldChange(path, None if added else before, None if removed else after, added, removed)
