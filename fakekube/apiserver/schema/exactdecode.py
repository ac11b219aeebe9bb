"""Decodes any value into the fields of its type, with the exact errors of Go. Usual values are decoded by `decode`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.gotypes import EMBEDDED, in_path
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.scalars import SPECIAL, place, scalar, wrong
from fakekube.apiserver.schema.wrongtype import WrongType, within
from fakekube.apiserver.schema.zerovalues import JSON_SCHEMA, complete, is_kept, is_nil, zero_value

#: The fields of schemas in definitions that are either a schema or another value.
SCHEMA_OR_BOOL = frozenset(("additionalItems", "additionalProperties"))
SCHEMA_OR_ELSE = SCHEMA_OR_BOOL | {"items"}

_STRING = frozenset({str})


def decode_exactly(schema: Schema, obj: Object, unknown: list[str]) -> Object:
    """As `decode`, slower."""
    try:
        return _struct(schema, obj, "", "", unknown)
    except WrongType as problem:
        raise _decoder_problem(schema, obj, "") or problem from None


def _struct(schema: Schema, value: Any, path: str, shown: str, unknown: list[str]) -> Object:
    """`path` contains list indexes, for unknown fields; `shown` does not, for Go's type errors."""
    fields, embeds = schema.fields, schema.struct in EMBEDDED
    found: Object = {}
    for key, item in value.items():
        field = fields.get(key)
        here = f"{path}.{key}" if path else key
        if field is None:
            if not (path == "" and key in ("apiVersion", "kind")):
                unknown.append(here)
            continue
        if item is None:
            continue
        name = in_path(schema.struct, key) if embeds else key
        below = f"{shown}.{name}" if shown else name
        if key in SCHEMA_OR_ELSE and schema.struct == JSON_SCHEMA:
            decoded = schema_or_else(schema, key, item, below)
        else:
            decoded = _value(field, item, here, below, unknown, schema.struct)
        if not decoded and key == "managedFields" and path not in ("", "metadata"):
            continue  # the empty list counts in the metadata of the object only
        if is_kept(schema, key, field, decoded):
            found[key] = decoded if decoded or not is_nil(schema, key, field) else None
    complete(schema, found)
    return found


#: The types with their own decoders.
_OWN_DECODERS = ("quantity", "time", "microtime", "int-or-string")


def _decoder_problem(schema: Schema, value: Object, shown: str) -> WrongType | None:
    """The first error of a field whose type has its own decoder."""
    embeds = schema.struct in EMBEDDED
    for key, item in value.items():
        field = schema.fields.get(key)
        if field is None or item is None:
            continue
        name = in_path(schema.struct, key) if embeds else key
        below = f"{shown}.{name}" if shown else name
        if key in SCHEMA_OR_ELSE and schema.struct == JSON_SCHEMA:
            try:
                schema_or_else(schema, key, item, below)
            except WrongType as problem:
                return problem
        elif (found := _value_problem(field, item, below, schema.struct)) is not None:
            return found
    return None


def _value_problem(schema: Schema, value: Any, shown: str, struct: str) -> WrongType | None:
    kind = schema.type
    if kind in _OWN_DECODERS:
        try:
            SPECIAL[kind](schema, value, shown, struct)
        except WrongType as problem:
            return problem
    if kind == "object" and isinstance(value, dict):
        return _decoder_problem(schema, value, shown)
    below: Iterable[Any] = ()
    if kind == "list" and isinstance(value, list):
        below, inner = value, schema.items
    elif kind == "map" and isinstance(value, dict):
        below, inner = value.values(), schema.values
    for item in below:
        if item is not None and inner is not None and (found := _value_problem(inner, item, shown, struct)):
            return found
    return None


def _value(schema: Schema, value: Any, path: str, shown: str, unknown: list[str], struct: str) -> Any:
    kind = schema.type
    if kind == "object":
        if not isinstance(value, dict):
            raise wrong(value, struct, shown, schema)
        return _struct(schema, value, path, shown, unknown)
    if kind == "list":
        if not isinstance(value, list):
            raise wrong(value, struct, shown, schema)
        items = schema.items
        assert items is not None
        return [
            zero_value(items) if item is None else _value(items, item, f"{path}[{i}]", shown, unknown, struct)
            for i, item in enumerate(value)
        ]
    if kind == "map":
        if not isinstance(value, dict):
            raise wrong(value, struct, shown, schema)
        return _map(schema, value, path, shown, unknown, struct)
    return scalar(schema, value, shown, struct)


def _map(schema: Schema, value: Object, path: str, shown: str, unknown: list[str], struct: str) -> Object:
    values = schema.values
    assert values is not None
    if values.type == "string" and _STRING.issuperset(map(type, value.values())):
        return value
    found: Object = {}
    for key, item in value.items():
        if item is None:
            found[key] = _in_map(values)
        else:
            found[key] = _value(values, item, f"{path}.{key}", shown, unknown, struct)
    return found


def _in_map(values: Schema) -> Any:
    return "" if values.type == "bytes" else zero_value(values)


def schema_or_else(schema: Schema, key: str, value: Any, shown: str) -> Any:
    """Decodes a field that is a schema or another value (`JSONSchemaPropsOrBool`, `JSONSchemaPropsOrArray`).

    These types have their own decoders, which ignore unknown fields; other values become nil.
    """
    try:
        if isinstance(value, dict):
            return decode_exactly(schema, value, [])
        if key in SCHEMA_OR_BOOL:
            if not isinstance(value, bool):
                raise WrongType("boolean or JSON schema expected")
            return value
        if key == "items" and isinstance(value, list):
            several = Schema("list", items=schema)
            return _value(several, value, "", "", [], schema.struct) or None
    except WrongType as problem:
        raise within(problem, place(schema.struct, shown)) from None
    return None
