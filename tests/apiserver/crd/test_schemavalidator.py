"""Validation of values against a schema: all errors in the real server's order."""

from typing import Any

import pytest

from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.validationresult import field_errors

TEXT = {"type": "string"}

#: A schema of the field `f`, a value, and its errors.
WRONG: list[Any] = [
    ({'type': 'integer'}, 'a', [('f', 'Invalid value: "string": f in body must be of type integer: "string"')]),
    ({'type': 'integer'}, 1.5, [('f', 'Invalid value: "number": f in body must be of type integer: "number"'), ('<nil>', 'Invalid value: "": Checked value must be of type integer (default format) in f')]),
    ({'type': 'integer'}, None, [('f', 'Invalid value: "null": f in body must be of type integer: "null"')]),
    (TEXT, 1, [('f', 'Invalid value: "integer": f in body must be of type string: "integer"')]),
    ({'type': 'boolean'}, 'true', [('f', 'Invalid value: "string": f in body must be of type boolean: "string"')]),
    ({'type': 'array', 'items': TEXT}, {}, [('f', 'Invalid value: "object": f in body must be of type array: "object"')]),
    ({'type': 'object'}, [], [('f', 'Invalid value: "array": f in body must be of type object: "array"')]),
    ({'type': 'number'}, '1', [('f', 'Invalid value: "string": f in body must be of type number: "string"')]),
    ({'x-kubernetes-int-or-string': True}, True, [('f', 'Invalid value: "boolean": f in body must be of type integer,string: "boolean"')]),
    ({'x-kubernetes-int-or-string': True}, 1.5, [('f', 'Invalid value: "number": f in body must be of type integer,string: "number"')]),
    ({'type': 'string', 'minLength': 2}, 'a', [('f', 'Invalid value: "a": f in body should be at least 2 chars long')]),
    ({'type': 'string', 'maxLength': 2}, 'äöü', [('f', 'Too long: may not be more than 2 bytes')]),
    ({'type': 'string', 'pattern': '^a+$'}, 'b', [('f', 'Invalid value: "b": f in body should match \'^a+$\'')]),
    ({'type': 'string', 'enum': ['a', 'b']}, 'c', [('f', 'Unsupported value: "c": supported values: "a", "b"')]),
    ({'type': 'integer', 'enum': [1, 2]}, 3, [('f', 'Unsupported value: 3: supported values: "1", "2"')]),
    ({'type': 'integer', 'minimum': 2}, 1, [('f', 'Invalid value: 1: f in body should be greater than or equal to 2')]),
    ({'type': 'integer', 'minimum': 2, 'exclusiveMinimum': True}, 2, [('f', 'Invalid value: 2: f in body should be greater than 2')]),
    ({'type': 'number', 'maximum': 1.5}, 2, [('f', 'Invalid value: 2: f in body should be less than or equal to 1')]),
    ({'type': 'integer', 'maximum': 3, 'exclusiveMaximum': True}, 3, [('f', 'Invalid value: 3: f in body should be less than 3')]),
    ({'type': 'integer', 'multipleOf': 3}, 4, [('f', 'Invalid value: 4: f in body should be a multiple of 3')]),
    ({'type': 'number', 'multipleOf': 0.5}, 0.3, [('f', 'Invalid value: 0.3: f in body should be a multiple of 0.5')]),
    ({'type': 'array', 'items': TEXT, 'minItems': 1}, [], [('f', 'Invalid value: 0: f in body should have at least 1 items')]),
    ({'type': 'array', 'items': TEXT, 'maxItems': 1}, ['a', 'b'], [('f', 'Too many: 2: must have at most 1 item')]),
    ({'type': 'array', 'items': TEXT}, ['a', 1, None], [('f[1]', 'Invalid value: "integer": f[1] in body must be of type string: "integer"'), ('f[2]', 'Invalid value: "null": f[2] in body must be of type string: "null"')]),
    ({'type': 'object', 'required': ['a', 'b']}, {}, [('f.a', 'Required value'), ('f.b', 'Required value')]),
    ({'type': 'object', 'minProperties': 1}, {}, [('f', 'Invalid value: 0: f in body should have at least 1 properties')]),
    ({'type': 'object', 'maxProperties': 1}, {'a': 1, 'b': 2}, [('f', 'Too many: 2: must have at most 1 item')]),
    ({'type': 'object', 'additionalProperties': TEXT}, {'a': 1, 'b': 'x'}, [('f.a', 'Invalid value: "integer": f.a in body must be of type string: "integer"')]),
    ({'type': 'object', 'additionalProperties': False}, {'a': 1}, [('f', 'Invalid value: "a": f.a in body is a forbidden property')]),
    ({'type': 'integer', 'format': 'int32'}, 2147483648, [('<nil>', 'Invalid value: "": Checked value must be of type integer with format int32 in f')]),
    ({'type': 'integer', 'format': 'int64'}, 9223372036854775808, [('<nil>', 'Invalid value: "": Checked value must be of type integer with format int64 in f')]),
    ({'type': 'string', 'format': 'date'}, '2026-13-01', [('f', 'Invalid value: "2026-13-01": f in body must be of type date: "2026-13-01"')]),
    ({'type': 'string', 'format': 'date-time'}, 'x', [('f', 'Invalid value: "x": f in body must be of type date-time: "x"')]),
    ({'type': 'string', 'format': 'duration'}, 'x', [('f', 'Invalid value: "x": f in body must be of type duration: "x"')]),
    ({'type': 'string', 'format': 'ipv4'}, '1.2.3', [('f', 'Invalid value: "1.2.3": f in body must be of type ipv4: "1.2.3"')]),
    ({'type': 'string', 'format': 'ipv6'}, '::g', [('f', 'Invalid value: "::g": f in body must be of type ipv6: "::g"')]),
    ({'type': 'string', 'format': 'cidr'}, '10.0.0.0', [('f', 'Invalid value: "10.0.0.0": f in body must be of type cidr: "10.0.0.0"')]),
    ({'type': 'string', 'format': 'mac'}, 'x', [('f', 'Invalid value: "x": f in body must be of type mac: "x"')]),
    ({'type': 'string', 'format': 'uuid'}, 'x', [('f', 'Invalid value: "x": f in body must be of type uuid: "x"')]),
    ({'type': 'string', 'format': 'byte'}, '*', [('f', 'Invalid value: "*": f in body must be of type byte: "*"')]),
    ({'type': 'string', 'format': 'email'}, 'x', [('f', 'Invalid value: "x": f in body must be of type email: "x"')]),
    ({'type': 'string', 'format': 'hostname'}, '-', [('f', 'Invalid value: "-": f in body must be of type hostname: "-"')]),
    ({'type': 'string', 'format': 'uri'}, 'a b', [('f', 'Invalid value: "a b": f in body must be of type uri: "a b"')]),
    ({'type': 'integer', 'oneOf': [{'minimum': 5}, {'maximum': 1}]}, 3, [('<nil>', 'Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid'), ('f', 'Invalid value: 3: f in body should be greater than or equal to 5')]),
    ({'type': 'integer', 'anyOf': [{'minimum': 5}, {'maximum': 1}]}, 3, [('<nil>', 'Invalid value: "": "f" must validate at least one schema (anyOf)'), ('f', 'Invalid value: 3: f in body should be greater than or equal to 5')]),
    ({'type': 'integer', 'oneOf': [{'minimum': 1}, {'minimum': 2}]}, 3, [('<nil>', 'Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives')]),
    ({'type': 'integer', 'oneOf': [{'minimum': 5}]}, 3, [('<nil>', 'Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid'), ('f', 'Invalid value: 3: f in body should be greater than or equal to 5')]),
    ({'type': 'integer', 'allOf': [{'minimum': 5}, {'maximum': 1}]}, 3, [('f', 'Invalid value: 3: f in body should be greater than or equal to 5'), ('f', 'Invalid value: 3: f in body should be less than or equal to 1'), ('<nil>', 'Invalid value: "": "f" must validate all the schemas (allOf). None validated')]),
    ({'type': 'integer', 'not': {'minimum': 1}}, 3, [('<nil>', 'Invalid value: "": "f" must not validate the schema (not)')]),
]  # fmt: skip

RIGHT: list[Any] = [
    ({"type": "integer"}, 3.0),
    ({"type": "number"}, 3),
    ({"type": "integer", "nullable": True}, None),
    ({"type": "string", "nullable": True, "not": {"minLength": 0}}, None),
    ({"x-kubernetes-int-or-string": True}, "80%"),
    ({"x-kubernetes-int-or-string": True}, 80),
    ({"type": "string", "format": "unknown"}, "x"),
    ({"type": "string", "format": "date-time"}, "2026-01-02T03:04:05.5+02:00"),
    ({"type": "string", "format": "duration"}, "1h30m"),
    ({"type": "string", "format": "byte"}, "aGk="),
    ({"type": "string", "format": "uri"}, "https://example.com/x?y=1"),
    ({"type": "string", "format": "cidr"}, "10.0.0.0/8"),
    ({"type": "string", "format": "ipv6"}, "::1"),
    ({"type": "number", "multipleOf": 0.1}, 0.3),
    ({"type": "string", "maxLength": 3}, "äöü"),
    ({"x-kubernetes-preserve-unknown-fields": True}, [1, {"a": None}]),
    ({"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 3}]}, 3),
]  # fmt: skip


def errors_of(schema: Any, value: Any) -> list[tuple[str, str]]:
    found = SchemaValidator({"type": "object", "properties": {"f": schema}}).check({"f": value})
    return [(one.field, one.message) for one in field_errors(found.problems)]


@pytest.mark.parametrize(("schema", "value", "errors"), WRONG)
def test_the_errors_of_an_invalid_value(schema: Any, value: Any, errors: list[tuple[str, str]]) -> None:
    assert errors_of(schema, value) == errors


@pytest.mark.parametrize(("schema", "value"), RIGHT)
def test_valid_values(schema: Any, value: Any) -> None:
    assert errors_of(schema, value) == []


def test_all_errors_are_reported() -> None:
    schema = {
        "type": "object",
        "required": ["z"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string", "maxLength": 1}}},
    }
    found = field_errors(SchemaValidator(schema).check({"a": "x", "b": ["ab", "c", "de"]}).problems)
    assert sorted(one.field for one in found) == ["a", "b[0]", "b[2]", "z"]


@pytest.mark.parametrize("kind", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("choices", "value", "best"),
    [
        # the alternative that passes most checks is the one that is reported; of equal ones the first
        ([{"minimum": 5}, {"maximum": 1}], 3, "greater than or equal to 5"),
        ([{"maximum": 1}, {"minimum": 5}], 3, "less than or equal to 1"),
        ([{"type": "string"}, {"type": "integer", "minimum": 5}], 3, "greater than or equal to 5"),
        ([{"type": "integer", "minimum": 5}, {"type": "string"}], 3, "greater than or equal to 5"),
        ([{"minimum": 5}, {"type": "integer", "maximum": 1}], 3, "less than or equal to 1"),
        ([{"type": "integer", "maximum": 1}, {"minimum": 5}], 3, "less than or equal to 1"),
    ],
)
def test_the_best_alternative_is_reported(kind: str, choices: Any, value: Any, best: str) -> None:
    """`validate.schemaPropsValidator`: the result with the most matches."""
    (_, first), *others = errors_of({"x-kubernetes-preserve-unknown-fields": True, kind: choices}, value)
    assert kind in first
    assert [text.partition("should be ")[2] for _, text in others] == [best]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "minLength": 2}, "ab", "a"),
        ({"type": "string", "maxLength": 2}, "ab", "abc"),
        ({"type": "array", "items": TEXT, "minItems": 2}, ["a", "b"], ["a"]),
        ({"type": "array", "items": TEXT, "maxItems": 2}, ["a", "b"], ["a", "b", "c"]),
        ({"type": "object", "additionalProperties": TEXT, "minProperties": 2}, {"a": "", "b": ""}, {"a": ""}),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 1}, {"a": ""}, {"a": "", "b": ""}),
        ({"type": "integer", "minimum": 2}, 2, 1),
        ({"type": "integer", "maximum": 2}, 2, 3),
        ({"type": "integer", "minimum": 2, "exclusiveMinimum": True}, 3, 2),
        ({"type": "integer", "maximum": 2, "exclusiveMaximum": True}, 1, 2),
        ({"type": "integer", "multipleOf": 3}, 6, 7),
        ({"type": "number", "multipleOf": 0.01}, 4.35, 4.355),
        ({"type": "number", "multipleOf": 0.5}, 2.5, 2.75),
        ({"type": "number", "multipleOf": 1.5}, 4.5, 4.0),
        ({"type": "number", "multipleOf": 1.0}, 2.0, 2.5),
        ({"type": "integer", "format": "int32"}, 2**31 - 1, 2**31),
        ({"type": "integer", "format": "int32"}, -(2**31), -(2**31) - 1),
        ({"type": "integer"}, 2**63 - 1, 2**63),
        ({"type": "integer"}, 2.0**53 - 1, 2.0**53),
        ({"type": "integer"}, 1 - 2.0**53, -(2.0**53)),
        ({"type": "integer"}, -(2**63), -(2**63) - 1),
        ({"type": "integer", "enum": [1, 2]}, 2, 3),
        ({"type": "string", "enum": ["a"]}, "a", "A"),
    ],
)
def test_the_last_valid_value(schema: Any, good: Any, bad: Any) -> None:
    assert errors_of(schema, good) == []
    assert errors_of(schema, bad) != []


#: How much each validator that applies to a value counts: once that it applies, and once for what it has found, if it
#: counts that. Every value counts its combinations, what all types have in common, and itself.
POINTS = {"every value": 4, "type": 2, "wrong type": 1, "text": 1, "format": 1, "number": 2, "list": 2, "fields": 1}
NUMBER = ["every value", "type", "number"]


@pytest.mark.parametrize(
    ("schema", "value", "parts"),
    [
        ({}, True, ["every value"]),
        ({"type": "boolean"}, True, ["every value", "type"]),
        ({"enum": [1]}, 2, ["every value", "number"]),
        (TEXT, "a", ["every value", "type", "text"]),
        ({"type": "string", "format": "date"}, "2026-01-01", ["every value", "type", "text", "format"]),
        ({"type": "string", "format": "date"}, "x", ["every value", "type", "text", "format"]),
        ({"type": "integer"}, 3, NUMBER),
        ({"type": "integer"}, "x", ["every value", "wrong type", "text"]),
        ({"type": "array"}, [], ["every value", "type", "list"]),
        ({"type": "array", "items": {"type": "integer"}}, [3, 4], ["every value", "type", "list", *NUMBER, *NUMBER]),
        ({"type": "object"}, {"a": 1}, ["every value", "type", "fields"]),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 3}, ["every value", "type", "fields", *NUMBER]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 3}, ["every value", "type", "fields", *NUMBER]),
        ({"allOf": [{"type": "integer"}, {"type": "integer"}]}, 3, ["every value", "number", *NUMBER, *NUMBER]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 3, ["every value", "number", *NUMBER]),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 3, ["every value", "number", *NUMBER]),
        ({"not": {"type": "integer"}}, 3, ["every value", "number"]),
    ],
)  # fmt: skip
def test_the_checks_of_a_value_count_for_the_rank_of_an_alternative(schema: Any, value: Any, parts: list[str]) -> None:
    """`Result.Inc`, by which the best alternative is found."""
    assert SchemaValidator(schema).check(value).matches == sum(POINTS[part] for part in parts)


@pytest.mark.parametrize(("schema", "matches"), [({}, 1), (TEXT, 0), ({"type": "string", "nullable": True}, 1)])
def test_null_counts_if_it_is_allowed(schema: Any, matches: int) -> None:
    assert SchemaValidator(schema).check(None).matches == matches
