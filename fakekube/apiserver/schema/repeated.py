"""Fields that occur more than once in an object of a JSON document, as Go decodes them into the types of a kind.

A later value is decoded into the earlier one: the fields of structs and the items of lists are merged, the entries of
maps are added, and null leaves values that are no pointers as they are (`sigs.k8s.io/json`, `decodeState.object`).
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.omitempty import PLAIN, PLAIN_STRUCTS, POINTER_STRINGS
from fakekube.apiserver.wire.gojson import Pairs

#: The types of the scalars that have a JSON decoder of their own or are decoded as a whole -> those of valid values.
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "int32": (int,),
    "int64": (int,),
    "integer": (int,),
}


def merged(schema: Schema, pairs: Pairs) -> Object:
    """The object that Go's decoder returns for a document."""
    return _object(schema, pairs, {})


def _object(schema: Schema, pairs: Pairs, into: Object) -> Object:
    fields = schema.fields
    for key, value in pairs:
        field = fields.get(key)
        if field is None:
            into[key] = plain(value)
        elif key not in into:
            into[key] = _first(field, value)
        elif value is None:
            if _is_pointer(schema, key, field):
                into[key] = None
        elif into[key] is None or _fits(field, into[key]):
            into[key] = _over(field, into[key], value)
    return into


def _first(schema: Schema, value: Any) -> Any:
    """A value that has not been decoded before."""
    if schema.type == "object" and isinstance(value, Pairs):
        return _object(schema, value, {})
    if schema.type == "list" and type(value) is list and schema.items is not None:
        return [_first(schema.items, item) for item in value]
    if schema.type == "map" and isinstance(value, Pairs) and schema.values is not None:
        return {key: _first(schema.values, item) for key, item in value}
    return plain(value)


def _over(schema: Schema, old: Any, value: Any) -> Any:
    """A value that is decoded into the value of an earlier field."""
    if schema.type == "object" and isinstance(old, dict) and isinstance(value, Pairs):
        return _object(schema, value, old)
    if schema.type == "map" and isinstance(old, dict) and isinstance(value, Pairs):
        return {**old, **_first(schema, value)}
    if schema.type == "list" and isinstance(old, list) and type(value) is list and schema.items is not None:
        return [_item(schema.items, old, i, item) for i, item in enumerate(value)]
    return _first(schema, value) if old is None or _fits(schema, old) else old


def _item(schema: Schema, old: list[Any], index: int, value: Any) -> Any:
    if index >= len(old):
        return _first(schema, value)
    return old[index] if value is None else _over(schema, old[index], value)


def _is_pointer(schema: Schema, key: str, field: Schema) -> bool:
    """Whether null resets the field."""
    where = f"{schema.name}.{key}"
    if field.type == "string":
        return where in POINTER_STRINGS
    if field.type == "object":
        return where not in PLAIN_STRUCTS and key not in ("metadata", "spec", "status")
    if field.type in ("boolean", "int32", "int64", "integer", "double"):
        return where not in PLAIN and key not in schema.required
    return field.type != "any"


def _fits(schema: Schema, value: Any) -> bool:
    """Whether the value can be decoded; if it cannot, it stays, so that its error is reported."""
    if schema.type in ("object", "map"):
        return isinstance(value, dict)
    if schema.type == "list":
        return isinstance(value, list)
    wanted = _TYPES.get(schema.type)
    return wanted is None or type(value) in wanted


def plain(value: Any) -> Any:
    """The JSON value in which the last one of repeated fields counts."""
    if isinstance(value, Pairs):
        return {key: plain(item) for key, item in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
