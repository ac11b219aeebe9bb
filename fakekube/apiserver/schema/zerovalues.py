"""The zero values of types: which fields are encoded without a value, and which empty values are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.omitempty import (
    ALWAYS,
    EMPTY_COUNTS,
    PLAIN,
    PLAIN_STRUCTS,
    POINTER_STRINGS,
    has_plain_times,
)

#: The type of schemas in definitions.
JSON_SCHEMA = "JSONSchemaProps"


def complete(schema: Schema, found: Object) -> None:
    """Adds the zero values of fields that Go always encodes: required fields, and structs that are not pointers."""
    if schema.shown is None:
        schema.shown = tuple(_shown(schema))
    for key, field, constant in schema.shown:
        if key not in found:
            found[key] = constant if field is None else zero_value(field)


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


def zero_value(schema: Schema) -> Any:
    return zero(schema) if schema.type == "object" else ZEROS.get(schema.type)


def zero(schema: Schema) -> Object:
    """The encoding of an empty object of the type."""
    empty: Object = {}
    complete(schema, empty)
    return empty


def shared_zero(schema: Schema) -> Object:
    """As `zero`; one object for all callers, which must not be changed."""
    if schema.empty is None:
        schema.empty = zero(schema)
    return schema.empty


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


def with_empties(schema: Schema, sent: Any, decoded: Any) -> Any:
    """The decoded value with the empty lists and maps that decoding has dropped, which Go keeps until the object is
    stored; the same one if there are none."""
    if type(sent) is list:
        below = schema.items
        if not sent or not decoded or below is None:
            return [] if not sent and not decoded and schema.type == "list" else decoded
        items = [with_empties(below, *pair) for pair in zip(sent, decoded, strict=False)] + decoded[len(sent) :]
        return decoded if all(one is other for one, other in zip(items, decoded, strict=True)) else items
    if type(sent) is not dict or schema.type not in ("object", "map"):
        return decoded
    if schema.type == "map":
        return {} if not sent and not decoded else decoded
    found = {}
    for key in sent.keys() & schema.fields.keys():
        before = decoded.get(key) if decoded else None
        after = with_empties(schema.fields[key], sent[key], before)
        if after is not before:
            found[key] = after
    return {**(decoded or {}), **found} if found else decoded


def is_nil(schema: Schema, key: str, field: Schema) -> bool:
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


def is_kept(schema: Schema, key: str, field: Schema, value: Any) -> bool:
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
