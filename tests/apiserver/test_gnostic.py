"""The numbers of the fields in OpenAPI documents in protobuf (gnostic's `OpenAPIv2.proto` and `OpenAPIv3.proto`)."""

import struct

import pytest

from fakekube.apiserver.openapi import gnostic, gnosticv3
from tests.protofields import fields

#: Message -> a document with a value of it, and the numbers of the fields that lead to it.
PLACES_2 = {
    "Document": (lambda value: value, ()),
    "Info": (lambda value: {"info": value}, (2,)),
    "ApiKeySecurity": (lambda value: {"securityDefinitions": {"n": value}}, (13, 1, 2, 2)),
    "PathItem": (lambda value: {"paths": {"n": value}}, (8, 2, 2)),
    "Operation": (lambda value: {"paths": {"n": {"get": value}}}, (8, 2, 2, 2)),
    "Response": (lambda value: {"paths": {"n": {"get": {"responses": {"n": value}}}}}, (8, 2, 2, 2, 9, 1, 2, 1)),
    "BodyParameter": (lambda value: {"parameters": {"n": {**value, "in": "body"}}}, (10, 1, 2, 1)),
    "HeaderParameter": (lambda value: {"parameters": {"n": {**value, "in": "header"}}}, (10, 1, 2, 2, 1)),
    "QueryParameter": (lambda value: {"parameters": {"n": {**value, "in": "query"}}}, (10, 1, 2, 2, 3)),
    "PathParameter": (lambda value: {"parameters": {"n": {**value, "in": "path"}}}, (10, 1, 2, 2, 4)),
    "JsonReference": (lambda value: {"paths": {"n": {"parameters": [value]}}}, (8, 2, 2, 9, 2)),
    "Schema": (lambda value: {"definitions": {"n": value}}, (9, 1, 2)),
    "ExternalDocs": (lambda value: {"definitions": {"n": {"externalDocs": value}}}, (9, 1, 2, 29)),
}
PLACES_3 = {
    "Document": (lambda value: value, ()),
    "Info": (lambda value: {"info": value}, (2,)),
    "Components": (lambda value: {"components": value}, (5,)),
    "SecurityScheme": (lambda value: {"components": {"securitySchemes": {"n": value}}}, (5, 7, 1, 2, 1)),
    "PathItem": (lambda value: {"paths": {"n": value}}, (4, 1, 2)),
    "Operation": (lambda value: {"paths": {"n": {"get": value}}}, (4, 1, 2, 4)),
    "Parameter": (lambda value: {"paths": {"n": {"parameters": [value]}}}, (4, 1, 2, 13, 1)),
    "RequestBody": (lambda value: {"paths": {"n": {"put": {"requestBody": value}}}}, (4, 1, 2, 5, 7, 1)),
    "Response": (lambda value: {"paths": {"n": {"get": {"responses": {"200": value}}}}}, (4, 1, 2, 4, 8, 2, 2, 1)),
    "DefaultResponse": (lambda value: {"paths": {"n": {"get": {"responses": {"default": value}}}}}, (4, 1, 2, 4, 8, 1, 1)),
    "MediaType": (
        lambda value: {"paths": {"n": {"put": {"requestBody": {"content": {"n": value}}}}}}, (4, 1, 2, 5, 7, 1, 2, 1, 2),
    ),
    "Schema": (lambda value: {"components": {"schemas": {"n": value}}}, (5, 1, 1, 2, 1)),
    "Reference": (lambda value: {"components": {"schemas": {"n": value}}}, (5, 1, 1, 2, 2)),
    "ExternalDocs": (lambda value: {"components": {"schemas": {"n": {"externalDocs": value}}}}, (5, 1, 1, 2, 1, 6)),
}  # fmt: skip

#: The numbers of the fields of each message; `x-a` is an extension.
NUMBERS_2 = {
    "Document": "swagger=1 info=2 paths=8 definitions=9 parameters=10 security=12 securityDefinitions=13 x-a=16",
    "Info": "title=1 version=2 x-a=7",
    "ApiKeySecurity": "type=1 name=2 in=3 description=4 x-a=5",
    "PathItem": "get=2 put=3 post=4 delete=5 options=6 head=7 patch=8 parameters=9 x-a=10",
    "Operation": "tags=1 description=3 operationId=5 produces=6 consumes=7 parameters=8 responses=9 schemes=10 x-a=13",
    "Response": "description=1 schema=2 x-a=5",
    "BodyParameter": "description=1 name=2 in=3 required=4 schema=5 x-a=6",
    "QueryParameter": "required=1 in=2 description=3 name=4 type=6 format=7 uniqueItems=20 x-a=23",
    "HeaderParameter": "required=1 in=2 description=3 name=4 type=5 format=6 uniqueItems=19 x-a=22",
    "PathParameter": "required=1 in=2 description=3 name=4 type=5 format=6 uniqueItems=19 x-a=22",
    "JsonReference": "$ref=1",
    "Schema": "$ref=1 format=2 title=3 description=4 default=5 multipleOf=6 maximum=7 exclusiveMaximum=8 minimum=9 "
    "exclusiveMinimum=10 maxLength=11 minLength=12 pattern=13 maxItems=14 minItems=15 uniqueItems=16 maxProperties=17 "
    "minProperties=18 required=19 enum=20 additionalProperties=21 type=22 items=23 allOf=24 properties=25 "
    "externalDocs=29 example=30 x-a=31",
    "ExternalDocs": "description=1 url=2 x-a=3",
}
NUMBERS_3 = {
    "Document": "openapi=1 info=2 paths=4 components=5 x-a=9",
    "Info": "title=1 description=2 version=6 x-a=7",
    "Components": "schemas=1 securitySchemes=7 x-a=10",
    "SecurityScheme": "type=1 description=2 name=3 in=4 x-a=9",
    "PathItem": "get=4 put=5 post=6 delete=7 options=8 head=9 patch=10 parameters=13 x-a=14",
    "Operation": "tags=1 summary=2 description=3 operationId=5 parameters=6 requestBody=7 responses=8 deprecated=10 x-a=13",
    "Parameter": "name=1 in=2 description=3 required=4 schema=10 x-a=14",
    "RequestBody": "description=1 content=2 required=3 x-a=4",
    "Response": "description=1 content=3 x-a=5",
    "DefaultResponse": "description=1 content=3 x-a=5",
    "MediaType": "schema=1 x-a=5",
    "Schema": "nullable=1 readOnly=3 writeOnly=4 externalDocs=6 example=7 deprecated=8 title=9 multipleOf=10 maximum=11 "
    "exclusiveMaximum=12 minimum=13 exclusiveMinimum=14 maxLength=15 minLength=16 pattern=17 maxItems=18 minItems=19 "
    "uniqueItems=20 maxProperties=21 minProperties=22 required=23 enum=24 type=25 allOf=26 oneOf=27 anyOf=28 not=29 "
    "items=30 properties=31 additionalProperties=32 default=33 description=34 format=35 x-a=36",
    "Reference": "$ref=1 summary=2 description=3",
    "ExternalDocs": "description=1 url=2 x-a=3",
}

TRUE = "required uniqueItems exclusiveMaximum exclusiveMinimum nullable readOnly writeOnly deprecated"
COUNT = "maxLength minLength maxItems minItems maxProperties minProperties"
NUMBER = "multipleOf maximum minimum"
STRINGS = "tags produces consumes schemes"
MAPS = "info paths definitions securityDefinitions get put post delete options head patch responses schema properties"
MAPS += " externalDocs components schemas securitySchemes requestBody content not items additionalProperties"


def value_of(message, name):
    """A value of a field, and the bytes or the number that encode it."""
    if name in STRINGS.split() or (name == "required" and message == "Schema"):
        return ["t"], b"t"
    if name in TRUE.split():
        return True, 1
    if name in COUNT.split():
        return 3, 3
    if name in NUMBER.split():
        return 1.5, struct.pack("<d", 1.5)
    if name == "parameters" and message == "Document":
        return {}, b""
    if name in MAPS.split():
        return {}, None
    if name in ("allOf", "oneOf", "anyOf", "security"):
        return [{}], None
    if name == "parameters":
        return [{"in": "body"}], None
    if name == "enum":
        return ["t"], None
    if name in ("x-a", "default", "example") or (name == "type" and message == "Schema"):
        return "t", None
    return "t", None if name == "in" and message.endswith("Parameter") else b"t"


def found_at(data, path):
    for number in path:
        data = dict(fields(data))[number]
    return dict(fields(data))


CASES = [
    (encode, place, message, *entry.split("="))
    for encode, places, numbers in ((gnostic.encode, PLACES_2, NUMBERS_2), (gnosticv3.encode, PLACES_3, NUMBERS_3))
    for message, place in places.items()
    for entry in numbers[message].split()
]


@pytest.mark.parametrize(
    ("encode", "place", "message", "name", "number"),
    [pytest.param(*case, id=f"{case[0].__module__.rpartition('.')[2]}-{case[2]}-{case[3]}") for case in CASES],
)
def test_the_number_of_a_field(encode, place, message, name, number):
    document, path = place
    value, encoded = value_of(message, name)
    reference = {"$ref": "t"} if message == "Reference" else {}
    found = found_at(encode(document({**reference, name: value})), path)
    expected = found_at(encode(document(reference)), path) if message != "JsonReference" and path else {}
    assert found.keys() == {*expected, int(number)}
    if encoded is not None:
        assert found[int(number)] == encoded


@pytest.mark.parametrize("encode", [gnostic.encode, gnosticv3.encode])
def test_fields_that_a_message_does_not_have_are_omitted(encode):
    assert encode({"unknown": "t"}) == b""
    assert encode({"info": {"unknown": "t"}}) == encode({"info": {}})


#: A keyword of a schema, its value, and the path of numbers to what encodes it, below the schema in version 2 and 3.
INSIDE = [
    ("default", {"a": 1}, (5, 2), None, b'{"a":1}'),
    ("default", "t", None, (33, 3), b"t"),
    ("default", "t", (5, 2), None, b'"t"'),
    ("default", True, None, (33, 2), 1),
    ("default", 1.5, None, (33, 1), struct.pack("<d", 1.5)),
    ("example", [1], (30, 2), (7, 2), b"[1]"),
    ("enum", ["t"], (20, 2), (24, 2), b'"t"'),
    ("additionalProperties", True, (21, 2), (32, 2), 1),
    ("additionalProperties", {"title": "t"}, (21, 1, 3), (32, 1, 1, 9), b"t"),
    ("items", {"title": "t"}, (23, 1, 3), (30, 1, 1, 9), b"t"),
    ("items", [{"title": "t"}], (23, 1, 3), (30, 1, 1, 9), b"t"),
    ("type", "t", (22, 1), (25,), b"t"),
    ("type", ["t"], (22, 1), None, b"t"),
    ("allOf", [{"title": "t"}], (24, 3), (26, 1, 9), b"t"),
    ("allOf", [{"$ref": "t"}], (24, 1), (26, 2, 1), b"t"),
    ("not", {"title": "t"}, None, (29, 9), b"t"),
    ("properties", {"n": {"title": "t"}}, (25, 1, 2, 3), (31, 1, 2, 1, 9), b"t"),
    ("properties", {"t": {}}, (25, 1, 1), (31, 1, 1), b"t"),
    ("x-a", "t", (31, 2, 2), (36, 2, 2), b'"t"'),
    ("x-t", 1, (31, 1), (36, 1), b"x-t"),
]


@pytest.mark.parametrize(("name", "value", "old", "new", "encoded"), INSIDE)
def test_the_encoding_of_a_keyword(name, value, old, new, encoded):
    for encode, place, path in ((gnostic.encode, PLACES_2["Schema"], old), (gnosticv3.encode, PLACES_3["Schema"], new)):
        if path is not None:
            assert found_at(encode(place[0]({name: value})), (*place[1], *path[:-1]))[path[-1]] == encoded
