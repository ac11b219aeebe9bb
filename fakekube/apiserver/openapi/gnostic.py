"""Encodes the OpenAPI 2 document as protobuf, with the messages of gnostic (`openapiv2/OpenAPIv2.proto`).

Go clients request only this encoding. Keywords that the server's documents do not contain are omitted from the schemas
of custom kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.apiserver.openapi import gnosticfields as gf
from fakekube.apiserver.openapi.gnosticfields import Encode, Message
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.marshal import delimited


def _message(name: str) -> Encode:
    return lambda number, value: delimited(number, gf.content(_MESSAGES[name], value))


def _additional(number: int, value: Any) -> bytes:
    return delimited(number, gf.integer(2, value) if isinstance(value, bool) else _schema(1, value))


def _types(number: int, value: Any) -> bytes:
    return delimited(number, gf.each(gf.string)(1, [value] if isinstance(value, str) else value))


def _items(number: int, value: Any) -> bytes:
    return delimited(number, gf.each(_schema)(1, [value] if isinstance(value, Mapping) else value))


#: Location of a parameter -> its message, and the field number among the parameters without a body.
_PARAMETERS = {"header": ("HeaderParameter", 1), "query": ("QueryParameter", 3), "path": ("PathParameter", 4)}


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return delimited(number, _message("BodyParameter")(1, value))
    name, field = _PARAMETERS[value["in"]]
    return delimited(number, delimited(2, _message(name)(field, value)))


def _parameter_or_reference(number: int, value: Mapping[str, Any]) -> bytes:
    return delimited(number, _message("JsonReference")(2, value) if "$ref" in value else _parameter(1, value))


_schema = _message("Schema")
_operation = _message("Operation")
_strings = gf.each(gf.string)
_parameters = gf.each(_parameter_or_reference)

#: Section of a document -> its number, the number of its entries, and the encoding of a value.
_SECTIONS: Mapping[str, tuple[int, int, Encode]] = {
    "paths": (8, 2, _message("PathItem")), "definitions": (9, 1, _schema), "parameters": (10, 1, _parameter)
}  # fmt: skip

_MESSAGES: Mapping[str, Message] = {
    "Document": (
        {"swagger": (1, gf.string), "info": (2, _message("Info")),
         **{section: (number, gf.named(field, encode)) for section, (number, field, encode) in _SECTIONS.items()},
         "security": (12, gf.each(gf.named(1, gf.alternative(1, _strings)))),
         "securityDefinitions": (13, gf.named(1, gf.alternative(2, _message("ApiKeySecurity"))))},
        16,
    ),
    "ApiKeySecurity": (
        {"type": (1, gf.string), "name": (2, gf.string), "in": (3, gf.string), "description": (4, gf.string)}, 5,
    ),
    "ExternalDocs": ({"description": (1, gf.string), "url": (2, gf.string)}, 3),
    "JsonReference": ({"$ref": (1, gf.string)}, 0),
    "Info": ({"title": (1, gf.string), "version": (2, gf.string)}, 7),
    "PathItem": (
        {"get": (2, _operation), "put": (3, _operation), "post": (4, _operation), "delete": (5, _operation),
         "options": (6, _operation), "head": (7, _operation), "patch": (8, _operation), "parameters": (9, _parameters)},
        10,
    ),
    "Operation": (
        {"tags": (1, _strings), "description": (3, gf.string), "operationId": (5, gf.string), "produces": (6, _strings),
         "consumes": (7, _strings), "parameters": (8, _parameters),
         "responses": (9, gf.named(1, gf.alternative(1, _message("Response")))), "schemes": (10, _strings)},
        13,
    ),
    "Response": ({"description": (1, gf.string), "schema": (2, gf.alternative(1, _schema))}, 5),
    "BodyParameter": (
        {"description": (1, gf.string), "name": (2, gf.string), "in": (3, gf.string), "required": (4, gf.integer),
         "schema": (5, _schema)},
        6,
    ),
    "QueryParameter": (
        {"required": (1, gf.integer), "in": (2, gf.string), "description": (3, gf.string), "name": (4, gf.string),
         "type": (6, gf.string), "format": (7, gf.string), "uniqueItems": (20, gf.integer)},
        23,
    ),
    **{
        name: (
            {"required": (1, gf.integer), "in": (2, gf.string), "description": (3, gf.string), "name": (4, gf.string),
             "type": (5, gf.string), "format": (6, gf.string), "uniqueItems": (19, gf.integer)},
            22,
        )
        for name in ("HeaderParameter", "PathParameter")
    },
    "Schema": (
        {"$ref": (1, gf.string), "format": (2, gf.string), "title": (3, gf.string), "description": (4, gf.string),
         "default": (5, gf.any), "multipleOf": (6, gf.double), "maximum": (7, gf.double),
         "exclusiveMaximum": (8, gf.integer), "minimum": (9, gf.double), "exclusiveMinimum": (10, gf.integer),
         "maxLength": (11, gf.integer), "minLength": (12, gf.integer), "pattern": (13, gf.string),
         "maxItems": (14, gf.integer), "minItems": (15, gf.integer), "uniqueItems": (16, gf.integer),
         "maxProperties": (17, gf.integer), "minProperties": (18, gf.integer), "required": (19, _strings),
         "enum": (20, gf.each(gf.any)), "additionalProperties": (21, _additional), "type": (22, _types),
         "items": (23, _items), "allOf": (24, gf.each(_schema)), "properties": (25, gf.named(1, _schema)),
         "externalDocs": (29, _message("ExternalDocs")), "example": (30, gf.any)},
        31,
    ),
}  # fmt: skip


def encode(document: Object) -> bytes:
    """Encodes a document."""
    return gf.content(_MESSAGES["Document"], document)


def encode_entry(section: str, name: str, entry: Object) -> bytes:
    """Encodes one entry of a section, for `assemble`."""
    _, field, encode = _SECTIONS[section]
    return gf.pair(field, encode, name, entry)


def assemble(rest: Object, entries: Mapping[str, Sequence[bytes]]) -> bytes:
    """The document of encoded entries by section; `rest` has its other members."""
    fields, extension = _MESSAGES["Document"]
    joined = {section: (number, delimited) for section, (number, _, _) in _SECTIONS.items()}
    return gf.content(
        ({**fields, **joined}, extension), {**rest, **{one: b"".join(texts) for one, texts in entries.items()}}
    )
