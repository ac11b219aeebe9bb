"""Decodes objects into the fields of their kind: finds unknown fields, rejects wrong types and sets zero values.

The result is that of decoding with `sigs.k8s.io/json` and encoding again.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.gotypes import EMBEDDED, GO_TYPES, in_path
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.omitempty import (
    ALWAYS,
    EMPTY_COUNTS,
    PLAIN,
    PLAIN_STRUCTS,
    POINTER_STRINGS,
    has_plain_times,
)
from fakekube.apiserver.schema.quantity import InvalidQuantity, as_read
from fakekube.apiserver.schema.times import InvalidTime, microtime_text, time_text
from fakekube.apiserver.schema.wrongtype import WrongType, number_text, within
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.gobase64 import illegal_byte

#: The type of schemas in definitions, and its fields that are either a schema or another value.
JSON_SCHEMA = "JSONSchemaProps"
SCHEMA_OR_BOOL = frozenset(("additionalItems", "additionalProperties"))
SCHEMA_OR_ELSE = SCHEMA_OR_BOOL | {"items"}

INTEGER_LIMITS = {"int32": 2**31, "int64": 2**63, "integer": 2**63}


#: Types whose values are decoded unchanged, unless they are empty, and the Python type of the values.
_UNCHANGED = {"string": str, "boolean": bool}
_STRING = frozenset({str})


def decode(schema: Schema, obj: Object, unknown: list[str]) -> Object:
    """The object without unknown fields, whose paths are appended to `unknown`. Raises WrongType.

    As in Go, decoding continues after a value of the wrong type and stops at an error of a type with its own decoder,
    which is therefore reported in place of earlier ones.
    """
    try:
        return _struct(schema, obj, "", "", unknown)
    except WrongType as problem:
        raise _decoder_problem(schema, obj, "") or problem from None


def _struct(schema: Schema, value: Any, path: str, shown: str, unknown: list[str]) -> Object:
    """`path` contains list indexes, for unknown fields; `shown` does not, for Go's type errors."""
    fields, embeds, unchanged = schema.fields, schema.struct in EMBEDDED, schema.unchanged
    if unchanged is None:
        unchanged = schema.unchanged = {
            key: _UNCHANGED[field.type] for key, field in fields.items() if field.type in _UNCHANGED
        }
    found: Object = {}
    for key, item in value.items():
        if item and type(item) is unchanged.get(key):
            found[key] = item  # the most frequent case
            continue
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
            decoded = _schema_or_else(schema, key, item, below)
        else:
            decoded = _value(field, item, here, below, unknown, schema.struct)
        if not decoded and key == "managedFields" and path not in ("", "metadata"):
            continue  # the empty list counts in the metadata of the object only
        if _kept(schema, key, field, decoded):
            found[key] = decoded if decoded or not _is_nil(schema, key, field) else None
    complete(schema, found)
    return found


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
                _schema_or_else(schema, key, item, below)
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


def complete(schema: Schema, found: Object) -> None:
    """Adds the zero values of fields that Go always encodes: required fields, and structs that are not pointers."""
    if schema.shown is None:
        schema.shown = tuple(_shown(schema))
    for key, field, constant in schema.shown:
        if key not in found:
            found[key] = constant if field is None else _zero(field)


def _shown(schema: Schema) -> Iterator[tuple[str, Schema | None, Any]]:
    """The fields that Go always encodes, each with its schema or with its zero value."""
    name = schema.name
    for key in (one for one in schema.fields if one in schema.required):  # in the order of the fields
        where = f"{name}.{key}"
        if where in ALWAYS:
            yield key, None, ALWAYS[where]
        else:
            yield key, schema.fields[key], None
    for key, field in schema.fields.items():
        where = f"{name}.{key}"
        if key in schema.required:
            continue
        if where in ALWAYS:
            yield key, None, ALWAYS[where]
        elif key in schema.always:
            yield key, None, schema.always[key]
        elif (field.type in ("time", "microtime") and has_plain_times(name)) or (
            field.type == "object" and (where in PLAIN_STRUCTS or (key in ("spec", "status") and is_kind(schema)))
        ):
            yield key, field, None


def is_kind(schema: Schema) -> bool:
    """Whether the type is a kind with metadata; its spec and status are not pointers."""
    return (
        "metadata" in schema.fields
        and schema.fields["metadata"].name == "meta.v1.ObjectMeta"
        and not (schema.struct.endswith("TemplateSpec") or schema.struct.endswith("ClaimTemplate"))
    )


def _zero(schema: Schema) -> Any:
    return zero(schema) if schema.type == "object" else ZEROS.get(schema.type)


def zero(schema: Schema) -> Object:
    """The encoding of an empty object of the type."""
    empty: Object = {}
    complete(schema, empty)
    return empty


def without_unknown(schema: Schema, value: Any) -> Any:
    """The value without the fields that the schema does not have, which is the same value if it has all of them."""
    if type(value) is list:
        below = schema.items
        items = value if below is None else [without_unknown(below, item) for item in value]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    if type(value) is not dict or schema.type not in ("object", "map"):
        return value
    fields = {key: schema.fields.get(key) if schema.type == "object" else schema.values for key in value}
    found = {key: without_unknown(field, value[key]) for key, field in fields.items() if field is not None}
    return value if len(found) == len(value) and all(found[key] is value[key] for key in found) else found


def _is_nil(schema: Schema, key: str, field: Schema) -> bool:
    """Whether an empty value is decoded as nil. Lists and maps that are always encoded become nil when they are stored
    (`settled`); until then their managers own them."""
    return field.type == "bytes" or (field.type in ("list", "map") and f"{schema.name}.{key}" in EMPTY_COUNTS)


def settled(schema: Schema, value: Object) -> Object:
    """The object as it is read after storage: empty lists and maps are nil. The same object if nothing changes."""
    if schema.nils is None:
        schema.nils = ()  # types can be recursive
        schema.nils = tuple(_nils(schema))
    changed: Object = {}
    for key, own, below in schema.nils:
        item = value.get(key)
        if item is None:
            continue
        after = None if own and not item else item
        if below is not None and item:
            after = _settled_items(below, item) if type(item) is list else settled(below, item)
        if after is not item:
            changed[key] = after
    return {**value, **changed} if changed else value


def _settled_items(schema: Schema, items: list[Object]) -> list[Object]:
    after = [settled(schema, item) for item in items]
    return items if all(one is other for one, other in zip(after, items, strict=True)) else after


def _nils(schema: Schema) -> Iterator[tuple[str, bool, Schema | None]]:
    for key, field in schema.fields.items():
        own = field.type in ("list", "map") and (key in schema.required or f"{schema.name}.{key}" in ALWAYS)
        below = field.items if field.type == "list" else field
        if below is None or below.type != "object" or (settled(below, {}) is not None and not below.nils):
            below = None
        if own or below is not None:
            yield key, own, below


ZEROS: dict[str, str | bool | int] = {
    "string": "", "boolean": False, "int32": 0, "int64": 0, "integer": 0, "double": 0, "quantity": "0",
    "int-or-string": 0,
}  # fmt: skip


def _kept(schema: Schema, key: str, field: Schema, value: Any) -> bool:
    """Whether the value is encoded in spite of `omitempty`."""
    if value or key in schema.required:
        return True
    if value is None and schema.struct == JSON_SCHEMA:
        return False
    where = f"{schema.name}.{key}"
    if where in ALWAYS:
        return True
    kind = field.type
    if kind in ("list", "map", "bytes"):
        return where in EMPTY_COUNTS
    if kind == "string":
        return where in POINTER_STRINGS
    if kind == "object":
        return True
    if kind in ("boolean", "int32", "int64", "integer", "double"):
        return where not in PLAIN
    return kind in ("int-or-string", "any", "quantity", "time", "microtime")  # the zero time is encoded as null


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
        if items.type == "object" and len(value) > 1 and _are_unchanged(items, value):
            return [item.copy() for item in value]
        return [
            _zero(items) if item is None else _value(items, item, f"{path}[{i}]", shown, unknown, struct)
            for i, item in enumerate(value)
        ]
    if kind == "map":
        if not isinstance(value, dict):
            raise wrong(value, struct, shown, schema)
        return _map(schema, value, path, shown, unknown, struct)
    return _scalar(schema, value, shown, struct)


def _map(schema: Schema, value: Object, path: str, shown: str, unknown: list[str], struct: str) -> Object:
    values = schema.values
    assert values is not None
    if values.type == "string" and _STRING.issuperset(map(type, value.values())):
        return value
    found: Object = {}
    are_schemas = values.struct == JSON_SCHEMA
    for key, item in value.items():
        if item is None:
            found[key] = _in_map(values)
        elif are_schemas and type(item) is dict and _has_only_texts(item):
            found[key] = item
        else:
            found[key] = _value(values, item, f"{path}.{key}", shown, unknown, struct)
    return found


def _has_only_texts(schema: Object) -> bool:
    """Whether a schema has a type, a format and a description only, as most schemas of properties have."""
    for key, item in schema.items():
        if key not in ("type", "description", "format") or type(item) is not str or not item:
            return False
    return True


def _in_map(values: Schema) -> Any:
    return "" if values.type == "bytes" else _zero(values)


def _schema_or_else(schema: Schema, key: str, value: Any, shown: str) -> Any:
    """Decodes a field that is a schema or another value (`JSONSchemaPropsOrBool`, `JSONSchemaPropsOrArray`).

    These types have their own decoders, which ignore unknown fields; other values become nil.
    """
    try:
        if isinstance(value, dict):
            return decode(schema, value, [])
        if key in SCHEMA_OR_BOOL:
            if not isinstance(value, bool):
                raise WrongType("boolean or JSON schema expected")
            return value
        if key == "items" and isinstance(value, list):
            several = Schema("list", items=schema)
            return _value(several, value, "", "", [], schema.struct) or None
    except WrongType as problem:
        raise within(problem, _place(schema.struct, shown)) from None
    return None


def _scalar(schema: Schema, value: Any, shown: str, struct: str) -> Any:
    kind = schema.type
    if kind == "string":
        if type(value) is not str:
            raise wrong(value, struct, shown, schema)
        return value
    if kind in INTEGER_LIMITS:
        return _integer(schema, value, shown, struct)
    if kind == "boolean":
        if type(value) is not bool:
            raise wrong(value, struct, shown, schema)
        return value
    if kind == "any":
        return value
    if kind == "double":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(value, struct, shown, schema)
        return value
    return SPECIAL[kind](schema, value, shown, struct)


def _integer(schema: Schema, value: Any, shown: str, struct: str) -> int:
    limit = INTEGER_LIMITS[schema.type]
    if type(value) is not int:
        raise wrong(value, struct, shown, schema)
    if not -limit <= value < limit:
        raise WrongType(f"json: cannot unmarshal number {value} into {_place(struct, shown)} of type {schema.go_type}")
    return value


def _bytes(schema: Schema, value: Any, shown: str, struct: str) -> str:
    if type(value) is list:
        return base64.b64encode(bytes(_byte(schema, one, shown, struct) for one in value)).decode()
    if type(value) is not str:
        raise wrong(value, struct, shown, schema)
    position = illegal_byte(value)
    if position is not None:
        text = f"illegal base64 data at input byte {position}"
        raise WrongType(text, f"error decoding from json: {text}")
    text = value.replace("\n", "").replace("\r", "")
    return base64.b64encode(base64.b64decode(text)).decode() if text.endswith("=") else text  # without stray bits


def _byte(schema: Schema, value: Any, shown: str, struct: str) -> int:
    """One item of bytes that are given as a list of numbers."""
    if value is None:
        return 0
    if type(value) is not int:
        raise wrong(value, struct, shown, schema, go_type="uint8")
    if not 0 <= value < 256:
        raise WrongType(f"json: cannot unmarshal number {value} into {_place(struct, shown)} of type uint8")
    return value


def _quantity(schema: Schema, value: Any, shown: str, struct: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongType(QUANTITY_PROBLEM)
    try:
        return as_read(value.strip(" ") if isinstance(value, str) else repr(value))  # other space is escaped in JSON
    except InvalidQuantity as problem:
        raise WrongType(str(problem)) from None


QUANTITY_PROBLEM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _time(schema: Schema, value: Any, shown: str, struct: str) -> str | None:
    if type(value) is not str:
        raise wrong(value, struct, shown, schema, go_type="string")
    try:
        return time_text(value)
    except InvalidTime as problem:
        raise WrongType(str(problem)) from None


def _microtime(schema: Schema, value: Any, shown: str, struct: str) -> str | None:
    if type(value) is not str:
        raise wrong(value, struct, shown, schema, go_type="string")
    try:
        return microtime_text(value)
    except InvalidTime as problem:
        raise WrongType(str(problem)) from None


def _int_or_string(schema: Schema, value: Any, shown: str, struct: str) -> int | str:
    if isinstance(value, str):
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    what = gojson.type_name(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        what = f"number {number_text(value)}"
    raise WrongType(
        f"json: cannot unmarshal {what} into {_place(struct, shown)} of type int32",
        f"json: cannot unmarshal {what} into Go value of type int32",
    )


SPECIAL: dict[str, Callable[..., Any]] = {
    "bytes": _bytes,
    "quantity": _quantity,
    "time": _time,
    "microtime": _microtime,
    "int-or-string": _int_or_string,
}


def wrong(value: Any, struct: str, shown: str, schema: Schema, *, go_type: str = "") -> WrongType:
    what = gojson.type_name(value)
    if isinstance(value, float) and schema.type in INTEGER_LIMITS:
        what = f"number {number_text(value)}"
    go_type = go_type or _go_type(struct, shown, schema)
    return WrongType(f"json: cannot unmarshal {what} into {_place(struct, shown)} of type {go_type}")


def _go_type(struct: str, shown: str, schema: Schema) -> str:
    """The Go type of a field, or of the items or entries of the field."""
    named = GO_TYPES.get(f"{struct}.{shown.rpartition('.')[2]}")
    if named is None:
        return schema.go_type
    if schema.type in ("list", "map"):
        return named
    if schema.type == "object":  # an item of a named type of lists
        return schema.go_type
    return named.partition("]")[2] if named.startswith(("[]", "map[")) else named


def _place(struct: str, shown: str) -> str:
    return f"Go struct field {struct}.{shown}"
