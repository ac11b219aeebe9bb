"""The field sets of values with a schema, and validation of values (structured-merge-diff `typed`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.apply import fieldset
from fakekube.apiserver.apply.fieldset import LEAF, SELF, Tree
from fakekube.apiserver.apply.pathelement import BadItem, of_item, shown
from fakekube.apiserver.resource import Object
from fakekube.apiserver.resultsbytext import Remembered
from fakekube.apiserver.schema.model import NO_FIELDS, Schema
from fakekube.apiserver.wire import goprint

#: The schema of values without one: maps are granular, lists and scalars are atomic.
ANY = Schema("any")


class _Absent:
    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Any = _Absent()


class Mismatch(Exception):
    """A value that does not conform to its schema; the message is the real server's."""


def is_map(schema: Schema, value: Any) -> bool:
    """Whether the value is a granular map."""
    if schema.type == "object" or schema.type == "map":
        return schema.map_type != "atomic"
    return schema.type == "any" and isinstance(value, dict) and schema.map_type != "atomic"


def is_list(schema: Schema) -> bool:
    """Whether the schema is an associative list."""
    return schema.type == "list" and schema.item_keys is not None


def child_schema(schema: Schema, key: str) -> Schema:
    if schema.type == "object":
        return schema.fields.get(key) or schema.values or ANY
    return schema.values or ANY


def _declared(schema: Schema, key: str) -> bool:
    return schema.type == "object" and key in schema.fields


def indexed(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    """The items by path element, in order. Raises Mismatch for an item without a valid key."""
    found: dict[str, list[Any]] = {}
    for position, item in enumerate(items):
        try:
            element = of_item(item, schema)
        except BadItem as problem:
            raise Mismatch(f"element {position}: {problem}") from None
        found.setdefault(element, []).append(item)
    return found


# --- field sets of values --------------------------------------------------------------------------------------------


def field_set(value: Object, schema: Schema, *, remembers: bool = False) -> Tree:
    """The fields and items of a value (`ToFieldSet`).

    `remembers`: whether to remember the result for the text of the spec, of an object of a built-in kind with values of
    JSON alone.
    """
    if not remembers or type(value.get("spec")) is not dict:
        return _held_by_map(value, schema)
    return _held_by_map(_without_spec(value), schema) | _field_set_of_spec(value["spec"], schema)


@Remembered
def _field_set_of_spec(spec: Object, whole: Schema) -> Tree:
    """`whole` is the schema of the object."""
    return _held_by_map({"spec": spec}, whole)


def _without_spec(value: Object) -> Object:
    return {key: one for key, one in value.items() if key != "spec"}


def _held(value: Any, schema: Schema) -> Tree | None:
    """The subtree of a value; None if only its descendants count and there are none."""
    if is_map(schema, value):
        return _held_by_map(value, schema) or None if isinstance(value, dict) else None
    if is_list(schema):
        return _held_by_list(value, schema) or None if isinstance(value, list) else None
    return LEAF


def _held_by_map(value: Object, schema: Schema) -> Tree:
    out: Tree = {}
    fields, other = schema.fields if schema.type == "object" else NO_FIELDS, schema.values or ANY
    for key, item in value.items():
        declared = fields.get(key)
        child = other if declared is None else declared
        if child.type == "string":
            out["f:" + key] = LEAF  # the most frequent case
            continue
        node = _held(item, child)
        if node is None:
            if item is None or item == {} or declared is None:
                out["f:" + key] = LEAF
        elif node and declared is None:
            out["f:" + key] = fieldset.member(node)
        else:
            out["f:" + key] = node
    return out


def _held_by_list(value: list[Any], schema: Schema) -> Tree:
    items = schema.items or ANY
    out: Tree = {}
    granular = items.type == "object" and items.map_type != "atomic"
    texts = {key for key, field in items.fields.items() if field.type == "string"} if granular else set()
    for element, same in indexed(value, schema).items():
        item = same[0]
        if len(same) == 1 and type(item) is dict and 0 < len(item) <= fieldset.FEW and texts.issuperset(item):
            out[element] = fieldset.leaves(tuple(item))  # the most frequent case
            continue
        node = _held(item, items) if len(same) == 1 else None
        out[element] = fieldset.member(node) if node else LEAF
    return out


# --- field sets of schemas -------------------------------------------------------------------------------------------


def with_named_fields(tree: Tree, schema: Schema) -> Tree:
    """The set with declared fields added as members if a descendant is one (`EnsureNamedFieldsAreMembers`)."""
    out: Tree = {}
    for pe, node in tree.items():
        if not node or pe == SELF:
            out[pe] = node
            continue
        if pe.startswith("f:"):
            named, child = _declared(schema, pe[2:]), child_schema(schema, pe[2:])
        else:
            named, child = False, schema.items or ANY
        below = with_named_fields(node, child)
        out[pe] = fieldset.member(below) if named else below
    return out


def reconciled(tree: Tree, schema: Schema) -> Tree:
    """The set with atomic values as a whole, if they were granular when it was made (`ReconcileFieldSetWithSchema`)."""
    if schema.type == "any" or (schema.type == "map" and (schema.values is None or schema.values.type == "any")):
        return tree
    changed: Tree = {}
    for pe, node in tree.items():
        if not node or pe == SELF:
            continue
        child = child_schema(schema, pe[2:]) if pe.startswith("f:") else schema.items or ANY
        atomic = (child.type == "list" and child.item_keys is None) or child.map_type == "atomic"
        whole = LEAF if atomic else reconciled(node, child)
        if whole is not node:
            changed[pe] = whole
    return {**tree, **changed} if changed else tree


# --- validation ------------------------------------------------------------------------------------------------------


def check(value: Object, schema: Schema, *, duplicates: bool = False, remembers: bool = False) -> None:
    """Raises Mismatch if a value does not conform to its schema, or if a list has items with equal keys.

    `duplicates`: equal keys are allowed. `remembers`: as for `field_set`.
    """
    if remembers and type(value.get("spec")) is dict:
        conforms = _spec_conforms(value["spec"], schema, duplicates)
        if conforms and _conforms(_without_spec(value), schema, duplicates):
            return
    elif _conforms(value, schema, duplicates):
        return
    problems = [f"{path}: {why}" if path else why for path, why in _problems(value, schema)]
    if duplicates:
        problems = [one for one in problems if ": duplicate entries for key " not in one]
    if problems:
        raise Mismatch(problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {p}" for p in problems)]))


_Problems = Iterator[tuple[str, str]]

_TEXT = frozenset({"string", "bytes"})
_NUMBERS = frozenset({"int32", "int64", "integer", "number", "double"})

_ANY_SCALAR = frozenset({str, int, float, bool})
_SCALARS: dict[str, frozenset[type]] = {
    **dict.fromkeys(_TEXT, frozenset({str})),
    **dict.fromkeys(_NUMBERS, frozenset({int, float})),
    "boolean": frozenset({bool}),
}


def _conforms(value: Any, schema: Schema, duplicates: bool) -> bool:
    """Whether a value surely conforms to its schema, without the errors."""
    kind = schema.type
    if value is None or kind == "any":
        return True
    if type(value) is dict:
        if kind == "object":
            fields, others = schema.fields, schema.values
            for key, item in value.items():
                child = fields.get(key) or others
                if child is None:
                    return False
                if type(item) is str and child.type == "string":
                    continue  # the most frequent case
                if not _conforms(item, child, duplicates):
                    return False
            return True
        values = schema.values or ANY
        return kind == "map" and all(_conforms(item, values, duplicates) for item in value.values())
    if type(value) is list:
        items = schema.items or ANY
        return (
            kind == "list"
            and _has_keys(value, schema, duplicates)
            and all(_conforms(item, items, duplicates) for item in value)
        )
    return type(value) in _SCALARS.get(kind, _ANY_SCALAR) and kind not in ("object", "map", "list")


@Remembered
def _spec_conforms(spec: Object, whole: Schema, duplicates: bool) -> bool:
    """`whole` is the schema of the object."""
    return _conforms({"spec": spec}, whole, duplicates)


def _has_keys(value: list[Any], schema: Schema, duplicates: bool) -> bool:
    if schema.item_keys is None:
        return True
    try:
        elements = [of_item(item, schema) for item in value]
    except BadItem:
        return False
    return duplicates or len(set(elements)) == len(elements)


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
    elif schema.type != "int-or-string" and isinstance(value, dict | list):
        yield "", f"expected any scalar, got &{{{goprint.plain(value)}}}"


def _map_problems(value: Any, schema: Schema) -> _Problems:
    if not isinstance(value, dict):
        yield "", f"expected map, got &{{{goprint.plain(value)}}}"
        return
    for key, item in value.items():
        if schema.type == "object" and key not in schema.fields and schema.values is None:
            yield f".{key}", "field not declared in schema"
            return
        for path, why in _problems(item, child_schema(schema, key)):
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
