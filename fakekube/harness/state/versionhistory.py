"""The versions of an object, and the differences between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, overload

import orjson

from controllerlib.client import Path, PathFilter, differences
from fakekube.harness.records.entry import offset

Object = dict[str, Any]

Version = tuple[datetime, Object | None]
"""The time of a change, and the new version of the object (None: deleted)."""

#: Fields that change with each write and explain nothing.
_NOISE = PathFilter.of(ignore=("metadata.resourceVersion", "metadata.managedFields"))

#: The most characters of a value in a difference.
_WIDTH = 120


class FieldChange(NamedTuple):
    """A field that differs between two versions: its path, and both values (None: absent)."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.path}: {shown(self.after)}"
        if self.after is None:
            return f"- {self.path}: {shown(self.before)}"
        return f"~ {self.path}: {shown(self.before)} -> {shown(self.after)}"


class VersionHistory(Sequence[Version]):
    """The versions of an object, oldest first; `str()` shows what each has changed.

    `dropped`: how many older ones are no longer kept that may have been of this object. 0: the history is complete.
    """

    def __init__(self, name: str, versions: Sequence[Version], epoch: datetime, dropped: int = 0) -> None:
        self.dropped: int = dropped
        self._name, self._versions, self._epoch = name, tuple(versions), epoch

    @overload
    def __getitem__(self, index: int) -> Version: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Version]: ...
    def __getitem__(self, index: int | slice) -> Version | Sequence[Version]:
        return self._versions[index]

    def __len__(self) -> int:
        return len(self._versions)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VersionHistory):
            return self._versions == other._versions
        return isinstance(other, Sequence) and list(self._versions) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<VersionHistory {self._name} versions={len(self)}>"

    def __str__(self) -> str:
        return "\n".join([f"{self._name}: {len(self)} versions", *self._lines()])

    def changes(self, index: int) -> Sequence[FieldChange]:
        """What version number `index` has changed, without resourceVersion and managedFields."""
        found = self._versions[index]
        position = index % len(self._versions)
        before = self._versions[position - 1][1] if position else None
        return field_changes(before, found[1])

    def _lines(self) -> Iterator[str]:
        for index, (at, obj) in enumerate(self._versions):
            before = self._versions[index - 1][1] if index else None
            what = "deleted" if obj is None else "created" if before is None else "changed"
            version = f" resourceVersion {obj['metadata']['resourceVersion']}" if obj is not None else ""
            if index == 0 and obj is not None and (obj["metadata"].get("creationTimestamp") or "") < _seconds(at):
                what = "first recorded version"
            yield f"{offset(at - self._epoch)} {what}{version}"
            if obj is not None and before is not None:
                changes = field_changes(before, obj)
                yield from (f"  {change}" for change in changes)
                if not changes:
                    yield "  (no field but resourceVersion and managedFields)"


def _seconds(at: datetime) -> str:
    return f"{at.isoformat()[:19]}Z"


def field_changes(before: Object | None, after: Object | None) -> list[FieldChange]:
    """The fields that differ, each by its whole path."""
    return list(_changes(before or {}, after or {}))


def _changes(before: Object, after: Object) -> Iterator[FieldChange]:
    for path in differences(before, after):
        if _NOISE.counts(path):
            yield FieldChange(".".join(path), value_at(before, path), value_at(after, path))


def value_at(obj: Any, path: Path) -> Any:
    """The value at a path of `differences`, where indices and special keys are in brackets; None: absent."""
    for segment in path:
        name, *inside = segment.replace("]", "").split("[")
        for key in [name, *inside] if name else inside:
            if isinstance(obj, list):
                obj = obj[int(key)] if key.isdigit() and int(key) < len(obj) else None
            else:
                obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def shown(value: Any) -> str:
    """A value as JSON, shortened."""
    text = value if isinstance(value, str) and value else orjson.dumps(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
