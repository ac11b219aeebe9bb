"""Decodes objects into the fields of their kind: finds unknown fields, rejects wrong types and sets zero values.

The result is that of decoding with `sigs.k8s.io/json` and encoding again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.exactdecode import SCHEMA_OR_BOOL, SCHEMA_OR_ELSE, decode_exactly
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.scalars import INTEGER_LIMITS, SPECIAL, scalar
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.schema.zerovalues import JSON_SCHEMA, complete, is_kept, is_nil

#: Types whose values are decoded unchanged, unless they are empty, and the Python type of the values.
_UNCHANGED = {"string": str, "boolean": bool}
_STRING = frozenset({str})


def decode(schema: Schema, obj: Object, unknown: list[str]) -> Object:
    """The object without unknown fields, whose paths are appended to `unknown`. Raises WrongType.

    As in Go, decoding continues after a value of the wrong type and stops at an error of a type with its own decoder,
    which is therefore reported in place of earlier ones.
    """
    try:
        found: Object = usual_decoder(schema)(_without_implied(schema, obj))
        return found
    except Unusual:
        return decode_exactly(schema, obj, unknown)


def _without_implied(schema: Schema, obj: Object) -> Object:
    """The object without the apiVersion and the kind that are no fields of its type."""
    if ("apiVersion" in obj or "kind" in obj) and "kind" not in schema.fields:
        return {key: value for key, value in obj.items() if key not in _IMPLIED}
    return obj


_IMPLIED = frozenset(("apiVersion", "kind"))

# --- usual values ----------------------------------------------------------------------------------------------------

#: Decodes one value of a type. Raises Unusual.
Decoder = Callable[[Any], Any]


class Unusual(Exception):
    """A value that is left to `decode_exactly`: it is wrong, or rare."""


#: What becomes of an empty value: it is left out, kept, or null.
_DROPPED, _KEPT, _NULL = range(3)

_FieldDecoder = tuple[object, Decoder, int, bool]
"""The Python type of values that do not change, the decoder of others, what becomes of an empty value, and whether null
is kept."""


def usual_decoder(schema: Schema) -> Decoder:
    """The decoder of usual values of a type, which is made once: no paths, since it raises no errors."""
    if schema.decoder is None:
        schema.decoder = _MADE.get(schema.type, _usual_scalar)(schema)
    return schema.decoder


def _usual_struct(schema: Schema) -> Decoder:
    plan: dict[str, _FieldDecoder] = {}

    def decode_struct(value: Any) -> Object:
        if type(value) is not dict:
            raise Unusual
        if schema.unchanged is None:
            _plan(schema, plan)  # not before: types can be recursive
        found: Object = {}
        for key, item in value.items():
            field = plan.get(key)
            if field is None:
                raise Unusual
            same, decoder, empty, keeps_null = field
            if item and type(item) is same:
                found[key] = item  # the most frequent case
            elif item is not None:
                decoded = decoder(item)
                if decoded or (keeps_null if decoded is None else empty == _KEPT):
                    found[key] = decoded
                elif decoded is not None and empty == _NULL:
                    found[key] = None
        complete(schema, found)
        return found

    return decode_struct


def _plan(schema: Schema, plan: dict[str, _FieldDecoder]) -> None:
    fields = schema.fields
    schema.unchanged = {key: _UNCHANGED[field.type] for key, field in fields.items() if field.type in _UNCHANGED}
    for key, field in fields.items():
        empty = _DROPPED
        if is_kept(schema, key, field, ""):
            empty = _NULL if is_nil(schema, key, field) else _KEPT
        decoder = usual_decoder(field)
        if key in SCHEMA_OR_ELSE and schema.struct == JSON_SCHEMA:
            decoder = _usual_schema_or_else(schema, key)
        elif key == "managedFields":
            decoder = _never_empty(decoder)
        plan[key] = (schema.unchanged.get(key), decoder, empty, is_kept(schema, key, field, None))


def _never_empty(decoder: Decoder) -> Decoder:
    """For a field of which an empty value depends on its place."""

    def decode_never_empty(value: Any) -> Any:
        found = decoder(value)
        if not found:
            raise Unusual
        return found

    return decode_never_empty


def _usual_schema_or_else(schema: Schema, key: str) -> Decoder:
    def decode_schema_or_else(value: Any) -> Any:
        if type(value) is dict:
            return usual_decoder(schema)(value)
        if key in SCHEMA_OR_BOOL and type(value) is bool:
            return value
        raise Unusual

    return decode_schema_or_else


def _usual_list(schema: Schema) -> Decoder:
    items = schema.items
    assert items is not None
    one, of_structs, of_texts = usual_decoder(items), items.type == "object", items.type == "string"

    def decode_list(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Unusual
        if of_texts and _STRING.issuperset(map(type, value)):
            return value.copy()
        if of_structs and len(value) > 1 and _are_unchanged(items, value):
            return [item.copy() for item in value]
        if None in value:
            raise Unusual
        return [one(item) for item in value]

    return decode_list


def _usual_map(schema: Schema) -> Decoder:
    values = schema.values
    assert values is not None
    one, of_texts, of_schemas = usual_decoder(values), values.type == "string", values.struct == JSON_SCHEMA

    def decode_map(value: Any) -> Object:
        if type(value) is not dict:
            raise Unusual
        if of_texts and _STRING.issuperset(map(type, value.values())):
            return value
        if None in value.values():
            raise Unusual
        if of_schemas:
            return {
                key: item if type(item) is dict and _has_only_texts(item) else one(item) for key, item in value.items()
            }
        return {key: one(item) for key, item in value.items()}

    return decode_map


def _usual_scalar(schema: Schema) -> Decoder:
    kind = _UNCHANGED.get(schema.type)
    limit = INTEGER_LIMITS.get(schema.type, 0)
    exact: Callable[..., Any] = SPECIAL.get(schema.type, scalar)

    def decode_unchanged(value: Any) -> Any:
        if type(value) is not kind:
            raise Unusual
        return value

    def decode_integer(value: Any) -> int:
        if type(value) is not int or not -limit <= value < limit:
            raise Unusual
        return value

    def decode_other(value: Any) -> Any:
        try:
            return exact(schema, value, "", "")
        except WrongType:
            raise Unusual from None

    return decode_unchanged if kind is not None else decode_integer if limit else decode_other


_MADE: dict[str, Callable[[Schema], Decoder]] = {"object": _usual_struct, "list": _usual_list, "map": _usual_map}


def _are_unchanged(schema: Schema, items: list[Any]) -> bool:
    """Whether decoding surely changes none of these structs: all have the same fields, of which each has a value."""
    first, unchanged = items[0], schema.unchanged
    if type(first) is not dict or unchanged is None or schema.shown is None:
        return False  # nothing of this type was decoded yet
    names = first.keys()
    kinds = {key: unchanged.get(key) for key in names}
    if not all(key in names for key, _, _ in schema.shown):
        return False
    for item in items:
        if type(item) is not dict or item.keys() != names:
            return False
        for key, value in item.items():
            if not value or type(value) is not kinds[key]:
                return False
    return True


def _has_only_texts(schema: Object) -> bool:
    """Whether a schema has a type, a format and a description only, as most schemas of properties have."""
    for key, item in schema.items():
        if key not in ("type", "description", "format") or type(item) is not str or not item:
            return False
    return True
