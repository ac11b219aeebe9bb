"""Compares two values of a schema (structured-merge-diff `typed.Compare`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import LEAF, SELF, Tree
from fakekube.apiserver.apply.typed import ABSENT, ANY, child_schema, indexed, is_list, is_map
from fakekube.apiserver.resource import Object
from fakekube.apiserver.resultsbytext import Remembered
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire.gojson import is_same
from fakekube.struct import Struct


class Comparison(Struct, frozen=True):
    """The differences of two values: fields only in the second, different in both, and only in the first."""

    added: Tree
    modified: Tree
    removed: Tree

    @property
    def changed(self) -> Tree:
        """The fields that the second value adds or modifies."""
        return fieldset.union(self.modified, self.added)

    def outside(self, ignored: Tree) -> Comparison:
        """The differences without these fields and their descendants."""
        named = ignored.keys()
        if named.isdisjoint(self.added) and named.isdisjoint(self.modified) and named.isdisjoint(self.removed):
            return self
        return Comparison(*(fieldset.without(t, ignored) for t in (self.added, self.modified, self.removed)))


_Nodes = tuple[Tree | None, Tree | None, Tree | None]
_CONTAINERS = frozenset({dict, list})
_SAME: _Nodes = (None, None, None)
_MODIFIED: _Nodes = (None, LEAF, None)


def compare(old: Object, new: Object, schema: Schema) -> Comparison:
    """Compares two values (`Compare`)."""
    return _of_nodes(_compare_maps(old, new, schema))


def compare_created(empty: Object, new: Object, schema: Schema) -> Comparison:
    """Compares a new object with the empty one of its kind, which is the same for all.

    The spec often has the text of another one, and so its fields.
    """
    return _of_nodes(_compare_maps(empty, new, schema, _compare_created))


def _of_nodes(nodes: _Nodes) -> Comparison:
    added, modified, removed = nodes
    return Comparison(added or {}, modified or {}, removed or {})


def _compare(old: Any, new: Any, schema: Schema) -> _Nodes:
    if old is ABSENT:
        return _whole(new, schema), None, None
    if new is ABSENT:
        return None, None, _whole(old, schema)
    if is_same(old, new):
        return _SAME
    if schema.type == "any" and isinstance(old, dict) is not isinstance(new, dict) and None not in (old, new):
        return _other_type(old, new) if schema.map_type != "atomic" else _MODIFIED
    if is_map(schema, new) or is_map(schema, old):
        before, after = old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}
        return _compare_maps(before, after, schema) if before or after else _MODIFIED
    if is_list(schema):
        one, other = old if isinstance(old, list) else [], new if isinstance(new, list) else []
        return _compare_lists(one, other, schema) if one or other else _MODIFIED
    return _MODIFIED


def _other_type(old: Any, new: Any) -> _Nodes:
    """The change between a map and a scalar, if the schema allows both."""
    if isinstance(new, dict):
        return _below(_whole(new, ANY)), LEAF, None
    return None, LEAF, _below(_whole(old, ANY))


def _below(node: Tree) -> Tree | None:
    return {pe: child for pe, child in node.items() if pe != SELF} or None


def _compare_created(old: Any, new: Any, schema: Schema) -> _Nodes:
    """As `_compare`. The result is remembered by the text of what is new if the empty object has the struct, as it has
    the spec of built-in kinds; so are those of the structs in it, such as a pod template's spec. (It has no metadata,
    which no two objects have in common, and nothing of a custom resource, whose schema ends with its cluster.) A struct
    with scalars alone is compared as quickly."""
    are_structs = schema.type == "object" and schema.map_type != "atomic" and type(old) is dict and type(new) is dict
    if are_structs and old and not _CONTAINERS.isdisjoint(map(type, new.values())):
        return _compare_by_text(new, old, schema)
    return _compare(old, new, schema)


@Remembered
def _compare_by_text(new: Any, old: Any, schema: Schema) -> _Nodes:
    """Compares two structs. The new one is the first argument, because it is its text that is looked at."""
    return _compare_maps(old, new, schema, _compare_created)


def _compare_maps(
    old: Object, new: Object, schema: Schema, below: Callable[[Any, Any, Schema], _Nodes] = _compare
) -> _Nodes:
    added: Tree = {}
    modified: Tree = {}
    removed: Tree = {}
    for key, value in new.items():
        before = old.get(key, ABSENT)
        if before is value:
            continue
        if type(value) not in _CONTAINERS and type(before) not in _CONTAINERS:
            if before is ABSENT:
                added["f:" + key] = LEAF
            elif before != value or type(before) is not type(value):
                modified["f:" + key] = LEAF
            continue
        plus, other, minus = below(before, value, child_schema(schema, key))
        if plus is not None:
            added["f:" + key] = plus
        if other is not None:
            modified["f:" + key] = other
        if minus is not None:
            removed["f:" + key] = minus
    for key, value in old.items():
        if key not in new:
            removed["f:" + key] = _whole(value, child_schema(schema, key))
    return added or None, modified or None, removed or None


def _compare_lists(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    trees: tuple[Tree, Tree, Tree] = ({}, {}, {})
    before, after = indexed(old, schema), indexed(new, schema)
    for element in before | after:
        nodes = _compare_items(before.get(element, []), after.get(element, []), schema.items or ANY)
        for tree, node in zip(trees, nodes, strict=True):
            if node is not None:
                tree[element] = node
    added, modified, removed = trees
    return added or None, modified or None, removed or None


def _compare_items(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    """Compares the items with one key. Several items with the same key are compared as a whole."""
    if len(old) < 2 and len(new) < 2:
        return _compare(old[0] if old else ABSENT, new[0] if new else ABSENT, schema)
    if len(old) > 1 and len(new) > 1:
        return _SAME if old == new else _MODIFIED
    if len(old) > 1:
        return (_whole(new[0], schema) if new else None), None, LEAF
    return LEAF, None, (_whole(old[0], schema) if old else None)


def _whole(value: Any, schema: Schema) -> Tree:
    """The subtree of a value that only one side has: the value and its descendants."""
    kind = schema.type
    if kind == "object" or kind == "map" or kind == "any":
        if not isinstance(value, dict) or not value or schema.map_type == "atomic":
            return LEAF
        if len(value) <= fieldset.FEW and _CONTAINERS.isdisjoint(map(type, value.values())):
            return fieldset.leaves(tuple(value))
        out: Tree = {SELF: LEAF}
        for key, item in value.items():
            out["f:" + key] = _whole(item, child_schema(schema, key)) if type(item) in _CONTAINERS else LEAF
        return out
    if kind == "list" and schema.item_keys is not None and isinstance(value, list) and value:
        items = schema.items or ANY
        out = {SELF: LEAF}
        for element, same in indexed(value, schema).items():
            out[element] = _whole(same[0], items) if len(same) == 1 else LEAF
        return out
    return LEAF
