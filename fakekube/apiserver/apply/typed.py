"""Values of a schema: what they hold, how two of them differ, and how they merge (structured-merge-diff `typed`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import LEAF, SELF, Tree
from fakekube.apiserver.apply.pathelement import BadItem, of_item, shown
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire import goprint

Object = dict[str, Any]

#: The schema of what has none: maps go by key, lists and single values as a whole.
ANY = Schema("any")


class _Absent:
    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Any = _Absent()


class Mismatch(Exception):
    """A value that does not fit its schema; the message is the real server's."""


def _is_map(schema: Schema, value: Any) -> bool:
    """Whether the value's members are owned one by one."""
    if schema.type == "object" or schema.type == "map":
        return schema.map_type != "atomic"
    return schema.type == "any" and isinstance(value, dict)


def _is_list(schema: Schema) -> bool:
    """Whether the items are owned one by one."""
    return schema.type == "list" and schema.item_keys is not None


def _child(schema: Schema, key: str) -> Schema:
    if schema.type == "object":
        return schema.fields.get(key) or schema.values or ANY
    return schema.values or ANY


def _declared(schema: Schema, key: str) -> bool:
    return schema.type == "object" and key in schema.fields


def _indexed(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    """The items by element, in order; those that cannot be told apart from others are left out."""
    found: dict[str, list[Any]] = {}
    for item in items:
        try:
            element = of_item(item, schema)
        except BadItem:
            continue
        found.setdefault(element, []).append(item)
    return found


# --- what a value holds ----------------------------------------------------------------------------------------------


def field_set(value: Object, schema: Schema) -> Tree:
    """Every field and item that the value names (`ToFieldSet`)."""
    return _held_by_map(value, schema)


def _held(value: Any, schema: Schema) -> Tree | None:
    """The node of a value; None where only what lies below counts, and nothing does."""
    if _is_map(schema, value):
        return _held_by_map(value, schema) or None if isinstance(value, dict) else None
    if _is_list(schema):
        return _held_by_list(value, schema) or None if isinstance(value, list) else None
    return LEAF


def _held_by_map(value: Object, schema: Schema) -> Tree:
    out: Tree = {}
    for key, item in value.items():
        node = _held(item, _child(schema, key))
        if node is None:
            if item is None or item == {} or not _declared(schema, key):
                out["f:" + key] = LEAF
        elif node and not _declared(schema, key):
            out["f:" + key] = fieldset.member(node)
        else:
            out["f:" + key] = node
    return out


def _held_by_list(value: list[Any], schema: Schema) -> Tree:
    items = schema.items or ANY
    out: Tree = {}
    for element, same in _indexed(value, schema).items():
        node = _held(same[0], items) if len(same) == 1 else None
        out[element] = fieldset.member(node) if node else LEAF
    return out


# --- how two values differ -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is in the second value and not in the first, what is in both and differs, what is only in the first."""

    added: Tree
    modified: Tree
    removed: Tree

    @property
    def changed(self) -> Tree:
        """What the second value has that the first has not, or has otherwise."""
        return fieldset.union(self.modified, self.added)

    def outside(self, ignored: Tree) -> Comparison:
        """Without these fields and all below them."""
        named = ignored.keys()
        if named.isdisjoint(self.added) and named.isdisjoint(self.modified) and named.isdisjoint(self.removed):
            return self
        return Comparison(*(fieldset.without(t, ignored) for t in (self.added, self.modified, self.removed)))


_Nodes = tuple[Tree | None, Tree | None, Tree | None]
_SAME: _Nodes = (None, None, None)
_MODIFIED: _Nodes = (None, LEAF, None)


def compare(old: Object, new: Object, schema: Schema) -> Comparison:
    """How the second value differs from the first (`Compare`)."""
    added, modified, removed = _compare_maps(old, new, schema)
    return Comparison(added or {}, modified or {}, removed or {})


def _compare(old: Any, new: Any, schema: Schema) -> _Nodes:
    if old is ABSENT:
        return _whole(new, schema), None, None
    if new is ABSENT:
        return None, None, _whole(old, schema)
    if old is new or (old == new and type(old) is type(new)):
        return _SAME
    if schema.type == "any" and isinstance(old, dict) is not isinstance(new, dict) and None not in (old, new):
        return _other_type(old, new)
    if _is_map(schema, new) or _is_map(schema, old):
        before, after = old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}
        return _compare_maps(before, after, schema) if before or after else _MODIFIED
    if _is_list(schema):
        one, other = old if isinstance(old, list) else [], new if isinstance(new, list) else []
        return _compare_lists(one, other, schema) if one or other else _MODIFIED
    return _MODIFIED


def _other_type(old: Any, new: Any) -> _Nodes:
    """A map instead of a single value, or the other way round, where the schema allows both."""
    if isinstance(new, dict):
        return _below(_whole(new, ANY)), LEAF, None
    return None, LEAF, _below(_whole(old, ANY))


def _below(node: Tree) -> Tree | None:
    return {pe: child for pe, child in node.items() if pe != SELF} or None


def _compare_maps(old: Object, new: Object, schema: Schema) -> _Nodes:
    added: Tree = {}
    modified: Tree = {}
    removed: Tree = {}
    for key, value in new.items():
        before = old.get(key, ABSENT)
        if before is value or (type(value) is str and before == value):
            continue
        plus, other, minus = _compare(before, value, _child(schema, key))
        if plus is not None:
            added["f:" + key] = plus
        if other is not None:
            modified["f:" + key] = other
        if minus is not None:
            removed["f:" + key] = minus
    for key, value in old.items():
        if key not in new:
            removed["f:" + key] = _whole(value, _child(schema, key))
    return added or None, modified or None, removed or None


def _compare_lists(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    trees: tuple[Tree, Tree, Tree] = ({}, {}, {})
    before, after = _indexed(old, schema), _indexed(new, schema)
    for element in before | after:
        nodes = _compare_items(before.get(element, []), after.get(element, []), schema.items or ANY)
        for tree, node in zip(trees, nodes, strict=True):
            if node is not None:
                tree[element] = node
    added, modified, removed = trees
    return added or None, modified or None, removed or None


def _compare_items(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    """Items of one element. Where there are several, they count as a whole."""
    if len(old) < 2 and len(new) < 2:
        return _compare(old[0] if old else ABSENT, new[0] if new else ABSENT, schema)
    if len(old) > 1 and len(new) > 1:
        return _SAME if old == new else _MODIFIED
    if len(old) > 1:
        return (_whole(new[0], schema) if new else None), None, LEAF
    return LEAF, None, (_whole(old[0], schema) if old else None)


def _whole(value: Any, schema: Schema) -> Tree:
    """The node of a value that is there on one side only: itself, and all below."""
    kind = schema.type
    if kind == "object" or kind == "map" or kind == "any":
        if not isinstance(value, dict) or not value or schema.map_type == "atomic":
            return LEAF
        out: Tree = {SELF: LEAF}
        for key, item in value.items():
            out["f:" + key] = _whole(item, _child(schema, key)) if isinstance(item, dict | list) else LEAF
        return out
    if kind == "list" and schema.item_keys is not None and isinstance(value, list) and value:
        items = schema.items or ANY
        out = {SELF: LEAF}
        for element, same in _indexed(value, schema).items():
            out[element] = _whole(same[0], items) if len(same) == 1 else LEAF
        return out
    return LEAF


# --- merging ---------------------------------------------------------------------------------------------------------


def merge(live: Object, config: Object, schema: Schema) -> Object:
    """The live value with what the configuration says (`Merge`); nothing goes."""
    merged: Object = _merge_maps(live, config, schema)
    return merged


def _merge(live: Any, config: Any, schema: Schema) -> Any:
    if config is ABSENT:
        return live
    if live is ABSENT:
        return config
    if _is_map(schema, config) or (config is None and _is_map(schema, live)):
        before, after = live if isinstance(live, dict) else {}, config if isinstance(config, dict) else {}
        return _merge_maps(before, after, schema) if before or after else config
    if _is_list(schema):
        one, other = live if isinstance(live, list) else [], config if isinstance(config, list) else []
        return _merge_lists(one, other, schema) if one or other else config
    return config


def _merge_maps(live: Object, config: Object, schema: Schema) -> Object:
    out = dict(live)
    for key, value in config.items():
        out[key] = _merge(live.get(key, ABSENT), value, _child(schema, key))
    return out


def _merge_lists(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    """The configuration's items keep its order; the others stay near where they were."""
    items = schema.items or ANY
    mine = [(of_item(item, schema), item) for item in live if _can_be_named(item, schema)]
    theirs = {of_item(item, schema): item for item in config}
    counts: dict[str, int] = {}
    for element, _ in mine:
        counts[element] = counts.get(element, 0) + 1
    have = {element: item for element, item in mine if counts[element] == 1}

    def merged(element: str) -> Any:
        return _merge(have.get(element, ABSENT), theirs[element], items)

    order = list(theirs)
    shared = iter([element for element in order if element in counts])
    upcoming = next(shared, None)
    out: list[Any] = []
    done: set[str] = set()
    left = right = 0
    while left < len(mine) or right < len(order):
        if left < len(mine) and right < len(order):
            element = mine[left][0]
            if element == order[right]:
                done.add(element)
                out.append(merged(element))
                left, right, upcoming = left + 1, right + 1, next(shared, None)
                continue
            if element in theirs and upcoming is not None and upcoming != element:
                left += 1  # shared, and its turn comes later
                continue
        if left < len(mine):
            element, item = mine[left]
            if element not in theirs:
                out.append(item)
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(order):
            element = order[right]
            done.add(element)
            out.append(merged(element))
            right += 1
            if upcoming == element:
                upcoming = next(shared, None)
    return out


def _can_be_named(item: Any, schema: Schema) -> bool:
    try:
        of_item(item, schema)
    except BadItem:
        return False
    return True


# --- taking out ------------------------------------------------------------------------------------------------------


def remove(value: Object, tree: Tree, schema: Schema) -> Object:
    """The value without these fields and items (`RemoveItems`). What is left empty becomes null."""
    left: Object = _remove(value, tree, schema) or {}
    return left


def _remove(value: Any, tree: Tree, schema: Schema) -> Any:
    if _is_map(schema, value):
        return _remove_from_map(value, tree, schema) if isinstance(value, dict) else None
    if _is_list(schema):
        return _remove_from_list(value, tree, schema) if isinstance(value, list) else None
    return None if isinstance(value, dict | list) else value


def _remove_from_map(value: Object, tree: Tree, schema: Schema) -> Object | None:
    out = {}
    for key, item in value.items():
        node = tree.get("f:" + key)
        if node is None:
            out[key] = item
        elif not fieldset.is_member(node):
            out[key] = _remove(item, node, _child(schema, key))
    return out or None


def _remove_from_list(value: list[Any], tree: Tree, schema: Schema) -> list[Any] | None:
    out = []
    for item in value:
        node = tree.get(of_item(item, schema)) if _can_be_named(item, schema) else None
        if node is None:
            out.append(item)
        elif not fieldset.is_member(node):
            out.append(_remove(item, node, schema.items or ANY))
    return out or None


# --- sets of a schema ------------------------------------------------------------------------------------------------


def with_named_fields(tree: Tree, schema: Schema) -> Tree:
    """Declared fields count as members where something below them does (`EnsureNamedFieldsAreMembers`)."""
    out: Tree = {}
    for pe, node in tree.items():
        if not node or pe == SELF:
            out[pe] = node
            continue
        if pe.startswith("f:"):
            named, child = _declared(schema, pe[2:]), _child(schema, pe[2:])
        else:
            named, child = False, schema.items or ANY
        below = with_named_fields(node, child)
        out[pe] = fieldset.member(below) if named else below
    return out


def reconciled(tree: Tree, schema: Schema) -> Tree:
    """A set that was made when what is atomic now was not: it owns the whole (`ReconcileFieldSetWithSchema`)."""
    if schema.type == "any" or (schema.type == "map" and (schema.values is None or schema.values.type == "any")):
        return tree
    changed: Tree = {}
    for pe, node in tree.items():
        if not node or pe == SELF:
            continue
        child = _child(schema, pe[2:]) if pe.startswith("f:") else schema.items or ANY
        atomic = (child.type == "list" and child.item_keys is None) or child.map_type == "atomic"
        whole = LEAF if atomic else reconciled(node, child)
        if whole is not node:
            changed[pe] = whole
    return {**tree, **changed} if changed else tree


# --- does it fit -----------------------------------------------------------------------------------------------------


def check(value: Object, schema: Schema) -> None:
    """Raises Mismatch for a value that does not fit its schema, or whose lists name an item twice."""
    problems = [f"{path}: {why}" if path else why for path, why in _problems(value, schema)]
    if problems:
        raise Mismatch(problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {p}" for p in problems)]))


_Problems = Iterator[tuple[str, str]]

_TEXT = frozenset({"string", "bytes", "time", "microtime"})
_NUMBERS = frozenset({"int32", "int64", "integer", "number", "double"})


def _problems(value: Any, schema: Schema) -> _Problems:
    if value is None or schema.type == "any":
        return
    if schema.type in ("object", "map"):
        yield from _map_problems(value, schema)
    elif schema.type == "list":
        yield from _list_problems(value, schema)
    elif schema.type in _TEXT:
        if not isinstance(value, str):
            yield "", f"expected string, got &value.valueUnstructured{{Value:{goprint.syntax(value)}}}"
    elif schema.type in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield "", f"expected numeric (int or float), got {goprint.type_of(value)}"
    elif schema.type == "boolean":
        if not isinstance(value, bool):
            yield "", f"expected boolean, got &{{{goprint.plain(value)}}}"
    elif isinstance(value, dict | list):
        yield "", f"expected any scalar, got &{{{goprint.plain(value)}}}"


def _map_problems(value: Any, schema: Schema) -> _Problems:
    if not isinstance(value, dict):
        yield "", f"expected map, got &{{{goprint.plain(value)}}}"
        return
    for key, item in value.items():
        if schema.type == "object" and key not in schema.fields and schema.values is None:
            yield f".{key}", "field not declared in schema"
            return
        for path, why in _problems(item, _child(schema, key)):
            yield f".{key}{path}", why


def _list_problems(value: Any, schema: Schema) -> _Problems:
    if not isinstance(value, list):
        yield "", f"expected list, got &{{{goprint.plain(value)}}}"
        return
    seen: set[str] = set()
    for i, item in enumerate(value):
        element = f"i:{i}"
        if schema.item_keys is not None:
            try:
                element = of_item(item, schema)
            except BadItem as problem:
                yield "", f"element {i}: {problem}"
                return
            if element in seen:
                yield "", f"duplicate entries for key {shown((element,))}"
            seen.add(element)
        for path, why in _problems(item, schema.items or ANY):
            yield shown((element,)) + path, why
