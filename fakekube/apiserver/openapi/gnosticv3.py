"""Encodes OpenAPI 3 documents as protobuf, with the messages of gnostic (`openapiv3/OpenAPIv3.proto`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.openapi import gnosticfields as gf
from fakekube.apiserver.openapi.gnosticfields import Encode, Message
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.marshal import delimited


def _message(name: str) -> Encode:
    return lambda number, value: delimited(number, gf.content(_MESSAGES[name], value))


def _or_reference(name: str) -> Encode:
    """A message or a reference to one."""
    whole, reference = _message(name), _message("Reference")

    def encode(number: int, value: Mapping[str, Any]) -> bytes:
        return delimited(number, reference(2, value) if "$ref" in value else whole(1, value))

    return encode


def _additional(number: int, value: Any) -> bytes:
    return delimited(number, gf.integer(2, value) if isinstance(value, bool) else _schema(1, value))


def _items(number: int, value: Any) -> bytes:
    return delimited(number, gf.each(_schema)(1, [value] if isinstance(value, Mapping) else value))


def _default(number: int, value: Any) -> bytes:
    """A number, a boolean or a string; the message is empty for other values."""
    if isinstance(value, bool):
        return delimited(number, gf.integer(2, value))
    if isinstance(value, int | float):
        return delimited(number, gf.double(1, value))
    return delimited(number, gf.string(3, value) if isinstance(value, str) else b"")


def _responses(number: int, value: Mapping[str, Any]) -> bytes:
    found = [
        _response(1, one) if code == "default" else delimited(2, gf.string(1, code) + _response(2, one))
        for code, one in value.items()
    ]
    return delimited(number, b"".join(found))


_schema = _or_reference("Schema")
_response = _or_reference("Response")
_operation = _message("Operation")
_strings = gf.each(gf.string)
_schemas = gf.each(_schema)
_parameters = gf.each(_or_reference("Parameter"))
_content = gf.named(1, _message("MediaType"))

_MESSAGES: Mapping[str, Message] = {
    "Document": (
        {"openapi": (1, gf.string), "info": (2, _message("Info")), "paths": (4, gf.named(1, _message("PathItem"))),
         "components": (5, _message("Components"))},
        9,
    ),
    "Info": ({"title": (1, gf.string), "description": (2, gf.string), "version": (6, gf.string)}, 7),
    "Components": (
        {"schemas": (1, gf.named(1, _schema)),
         "securitySchemes": (7, gf.named(1, _or_reference("SecurityScheme")))},
        10,
    ),
    "SecurityScheme": (
        {"type": (1, gf.string), "description": (2, gf.string), "name": (3, gf.string), "in": (4, gf.string)}, 9,
    ),
    "Reference": ({"$ref": (1, gf.string), "summary": (2, gf.string), "description": (3, gf.string)}, 0),
    "PathItem": (
        {"get": (4, _operation), "put": (5, _operation), "post": (6, _operation), "delete": (7, _operation),
         "options": (8, _operation), "head": (9, _operation), "patch": (10, _operation),
         "parameters": (13, _parameters)},
        14,
    ),
    "Operation": (
        {"tags": (1, _strings), "summary": (2, gf.string), "description": (3, gf.string),
         "operationId": (5, gf.string), "parameters": (6, _parameters),
         "requestBody": (7, _or_reference("RequestBody")), "responses": (8, _responses),
         "deprecated": (10, gf.integer)},
        13,
    ),
    "Parameter": (
        {"name": (1, gf.string), "in": (2, gf.string), "description": (3, gf.string), "required": (4, gf.integer),
         "schema": (10, _schema)},
        14,
    ),
    "RequestBody": ({"description": (1, gf.string), "content": (2, _content), "required": (3, gf.integer)}, 4),
    "Response": ({"description": (1, gf.string), "content": (3, _content)}, 5),
    "ExternalDocs": ({"description": (1, gf.string), "url": (2, gf.string)}, 3),
    "MediaType": ({"schema": (1, _schema)}, 5),
    "Schema": (
        {"nullable": (1, gf.integer), "readOnly": (3, gf.integer), "writeOnly": (4, gf.integer),
         "externalDocs": (6, _message("ExternalDocs")), "example": (7, gf.any),
         "deprecated": (8, gf.integer), "title": (9, gf.string),
         "multipleOf": (10, gf.double), "maximum": (11, gf.double), "exclusiveMaximum": (12, gf.integer),
         "minimum": (13, gf.double), "exclusiveMinimum": (14, gf.integer), "maxLength": (15, gf.integer),
         "minLength": (16, gf.integer), "pattern": (17, gf.string), "maxItems": (18, gf.integer),
         "minItems": (19, gf.integer), "uniqueItems": (20, gf.integer), "maxProperties": (21, gf.integer),
         "minProperties": (22, gf.integer), "required": (23, _strings), "enum": (24, gf.each(gf.any)),
         "type": (25, gf.string), "allOf": (26, _schemas), "oneOf": (27, _schemas), "anyOf": (28, _schemas),
         "not": (29, _message("Schema")), "items": (30, _items), "properties": (31, gf.named(1, _schema)),
         "additionalProperties": (32, _additional), "default": (33, _default), "description": (34, gf.string),
         "format": (35, gf.string)},
        36,
    ),
}  # fmt: skip


def encode(document: Object) -> bytes:
    """Encodes a document."""
    return gf.content(_MESSAGES["Document"], document)
