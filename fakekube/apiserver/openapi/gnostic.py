"""Encodes the OpenAPI 2 document as protobuf, with the messages of gnostic (`openapiv2/OpenAPIv2.proto`).

Go clients request only this encoding. Keywords that the server's documents do not contain are omitted from the schemas
of custom kinds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from fakekube.apiserver.resource import Object

Encode = Callable[[int, Any], bytes]
"""Encodes a value as the field with a number."""


# --- the wire


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _string(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _integer(number: int, value: float | bool) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    """A value as YAML; JSON is valid YAML."""
    return _bytes(number, _bytes(2, orjson.dumps(value)))


def _each(encode: Encode) -> Encode:
    return lambda number, values: b"".join(encode(number, value) for value in values)


# --- messages


def _message(name: str) -> Encode:
    return lambda number, value: _bytes(number, _encoded(name, value))


def _encoded(name: str, value: Mapping[str, Any]) -> bytes:
    fields, extension = _MESSAGES[name]
    return b"".join(_parts(fields, extension, value))


def _parts(fields: Mapping[str, tuple[int, Encode]], extension: int, value: Mapping[str, Any]) -> Iterator[bytes]:
    for key, item in value.items():
        if key in fields:
            number, encode = fields[key]
            yield encode(number, item)
        elif key.startswith("x-") and extension:
            yield _bytes(extension, _string(1, key) + _any(2, item))


def _named(field: int, encode: Encode) -> Encode:
    """A map as a message with pairs of name and value."""

    def pairs(number: int, value: Mapping[str, Any]) -> bytes:
        return _bytes(number, b"".join(_bytes(field, _string(1, key) + encode(2, item)) for key, item in value.items()))

    return pairs


def _alternative(field: int, encode: Encode) -> Encode:
    """A message in a oneof."""
    return lambda number, value: _bytes(number, encode(field, value))


def _additional(number: int, value: Any) -> bytes:
    return _bytes(number, _integer(2, value) if isinstance(value, bool) else _schema(1, value))


def _types(number: int, value: Any) -> bytes:
    return _bytes(number, _each(_string)(1, [value] if isinstance(value, str) else value))


def _items(number: int, value: Any) -> bytes:
    return _bytes(number, _each(_schema)(1, [value] if isinstance(value, Mapping) else value))


#: Location of a parameter -> its message, and the field number among the parameters without a body.
_PARAMETERS = {"header": ("HeaderParameter", 1), "query": ("QueryParameter", 3), "path": ("PathParameter", 4)}


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        found = _message("BodyParameter")(1, value)
    else:
        name, field = _PARAMETERS[value["in"]]
        found = _bytes(2, _message(name)(field, value))
    return _bytes(number, _bytes(1, found))


_schema = _message("Schema")
_operation = _message("Operation")
_strings = _each(_string)
_parameters = _each(_parameter)

#: Message -> its fields by JSON name, and the field number of extensions.
_MESSAGES: Mapping[str, tuple[Mapping[str, tuple[int, Encode]], int]] = {
    "Document": (
        {"swagger": (1, _string), "info": (2, _message("Info")),
         "paths": (8, _named(2, _message("PathItem"))), "definitions": (9, _named(1, _schema))},
        16,
    ),
    "Info": ({"title": (1, _string), "version": (2, _string)}, 7),
    "PathItem": (
        {"get": (2, _operation), "put": (3, _operation), "post": (4, _operation), "delete": (5, _operation),
         "options": (6, _operation), "head": (7, _operation), "patch": (8, _operation), "parameters": (9, _parameters)},
        10,
    ),
    "Operation": (
        {"tags": (1, _strings), "description": (3, _string), "operationId": (5, _string), "produces": (6, _strings),
         "consumes": (7, _strings), "parameters": (8, _parameters),
         "responses": (9, _named(1, _alternative(1, _message("Response")))), "schemes": (10, _strings)},
        13,
    ),
    "Response": ({"description": (1, _string), "schema": (2, _alternative(1, _schema))}, 5),
    "BodyParameter": (
        {"description": (1, _string), "name": (2, _string), "in": (3, _string), "required": (4, _integer),
         "schema": (5, _schema)},
        6,
    ),
    "QueryParameter": (
        {"required": (1, _integer), "in": (2, _string), "description": (3, _string), "name": (4, _string),
         "type": (6, _string), "format": (7, _string), "uniqueItems": (20, _integer)},
        23,
    ),
    **{
        name: (
            {"required": (1, _integer), "in": (2, _string), "description": (3, _string), "name": (4, _string),
             "type": (5, _string), "format": (6, _string), "uniqueItems": (19, _integer)},
            22,
        )
        for name in ("HeaderParameter", "PathParameter")
    },
    "Schema": (
        {"$ref": (1, _string), "format": (2, _string), "title": (3, _string), "description": (4, _string),
         "default": (5, _any), "multipleOf": (6, _double), "maximum": (7, _double), "exclusiveMaximum": (8, _integer),
         "minimum": (9, _double), "exclusiveMinimum": (10, _integer), "maxLength": (11, _integer),
         "minLength": (12, _integer), "pattern": (13, _string), "maxItems": (14, _integer), "minItems": (15, _integer),
         "uniqueItems": (16, _integer), "maxProperties": (17, _integer), "minProperties": (18, _integer),
         "required": (19, _strings), "enum": (20, _each(_any)), "additionalProperties": (21, _additional),
         "type": (22, _types), "items": (23, _items), "allOf": (24, _each(_schema)),
         "properties": (25, _named(1, _schema)), "example": (30, _any)},
        31,
    ),
}  # fmt: skip


def encode(document: Object) -> bytes:
    """Encodes a document."""
    return _encoded("Document", document)
