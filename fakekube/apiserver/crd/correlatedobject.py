"""The correlation of values with their old versions (`apiserver/pkg/cel/common.CorrelatedObject`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.wire.gojson import is_same

#: Stands for a missing key of a list item.
_NO_KEY = object()


class CorrelatedObject:
    """A value and its old version. Children that cannot be correlated are None."""

    __slots__ = ("_children", "_equal", "_keyed", "new", "old", "schema")

    schema: Structural
    old: Any
    new: Any

    def __init__(self, new: Any, old: Any, schema: Structural) -> None:
        self.new, self.old, self.schema = new, old, schema
        self._children: dict[str | int, CorrelatedObject | None] = {}
        self._equal: bool | None = None
        self._keyed: dict[Any, Any] | None = None

    def key(self, name: str) -> CorrelatedObject | None:
        """The field or map entry with a name; None if it is missing on either side or in the schema."""
        if name not in self._children:
            self._children[name] = self._make_key(name)
        return self._children[name]

    def _make_key(self, name: str) -> CorrelatedObject | None:
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
            return None
        schema = self.schema.properties.get(name) or self.schema.additional
        return CorrelatedObject(new[name], old[name], schema) if schema is not None else None

    def index(self, i: int) -> CorrelatedObject | None:
        """The item at an index of the new list; only lists of type `map` are correlated."""
        if i not in self._children:
            self._children[i] = self._make_index(i)
        return self._children[i]

    def _make_index(self, i: int) -> CorrelatedObject | None:
        new, old, schema = self.new, self.old, self.schema
        if not isinstance(new, list) or not isinstance(old, list) or i >= len(new):
            return None
        if schema.list_type != "map" or schema.items is None:
            return None
        if self._keyed is None:
            self._keyed = keyed(old, schema.list_keys)
        before = self._keyed.get(item_key(new[i], schema.list_keys))
        return CorrelatedObject(new[i], before, schema.items) if before is not None else None

    def unchanged(self) -> bool:
        """Whether the new value equals the old one, according to the schema."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            if len(new) != len(old):
                return False
            children = [self.key(name) for name in new]
            return all(child is not None and child.unchanged() for child in children)
        if isinstance(new, list) and isinstance(old, list):
            if len(new) != len(old):
                return False
            if self.schema.list_type != "map":
                return is_same(new, old)
            items = [self.index(i) for i in range(len(new))]
            return all(child is not None and child.unchanged() for child in items)
        return is_same(new, old)


def item_key(item: Any, keys: tuple[str, ...]) -> Any:
    """The hashable key of an item in a list of type `map`."""
    if not isinstance(item, dict):
        return _NO_KEY
    return tuple(_hashable(item.get(key, _NO_KEY)) for key in keys)


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return type(value), value


def keyed(items: list[Any], keys: tuple[str, ...]) -> dict[Any, Any]:
    """The items by key; the first of several with the same key is used."""
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(item_key(item, keys), item)
    return found
