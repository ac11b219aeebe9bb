"""Limits of schemas on both sides, for the quick predicate and for the errors of the exact validation."""

from typing import Any

import pytest

from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.validationresult import field_errors

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
LIST = {"type": "array", "items": WHOLE}
MAP = {"type": "object", "additionalProperties": WHOLE}
EITHER = {"x-kubernetes-int-or-string": True}

#: A schema, a value that it accepts, and one that it does not.
LIMITS: list[Any] = [
    ({**TEXT, "minLength": 2}, "ab", "a"),
    ({**TEXT, "maxLength": 2}, "äb", "äbc"),
    ({**TEXT, "minLength": 2, "maxLength": 2}, "ab", "abc"),
    ({**TEXT, "maxLength": 0}, "", "a"),
    ({**TEXT, "pattern": "^a$"}, "a", "b"),
    ({**TEXT, "enum": ["a"]}, "a", "b"),
    ({**TEXT, "format": "ipv4"}, "1.2.3.4", "1.2.3"),
    ({**TEXT, "format": "ipv4", "maxLength": 7}, "1.2.3.4", "1.2.3.44"),
    (TEXT, "", 1),
    ({**WHOLE, "minimum": 2}, 2, 1),
    ({**WHOLE, "maximum": 2}, 2, 3),
    ({**WHOLE, "minimum": 2, "exclusiveMinimum": True}, 3, 2),
    ({**WHOLE, "maximum": 2, "exclusiveMaximum": True}, 1, 2),
    ({**WHOLE, "minimum": -2, "maximum": 2}, -2, -3),
    ({**WHOLE, "multipleOf": 3}, -3, -4),
    ({**WHOLE, "multipleOf": 1}, 7, "7"),
    ({**WHOLE, "enum": [1]}, 1, 2),
    ({**WHOLE, "format": "int32"}, 2**31 - 1, 2**31),
    ({**WHOLE, "format": "int32"}, -(2**31), -(2**31) - 1),
    (WHOLE, 2**63 - 1, 1.5),
    ({**NUMBER, "multipleOf": 1}, 2.0**53 - 1, 2.0**53),  # `IsFloat64AJSONInteger` of go-openapi `swag/conv`
    ({**NUMBER, "multipleOf": 0.5}, 2.0**51, 2.0**52),
    ({**NUMBER, "multipleOf": 1.5}, 0.0, 1e-12),
    ({**NUMBER, "multipleOf": 1.5}, 3 + 1e-10, 3 + 1e-8),
    ({**NUMBER, "multipleOf": 3}, 3e9 + 1, 3e8 + 1),
    ({**NUMBER, "format": "float"}, 3.4028235e38, 3.4028236e38),  # what `ParseFloat` rounds to a float32
    ({**NUMBER, "format": "float"}, -3.4028235e38, -(2.0**128 - 2.0**103)),
    (WHOLE, -(2**63), True),
    ({**NUMBER, "minimum": 1.5}, 1.6, 1.4),
    ({**NUMBER, "maximum": 1.5}, 1.4, 1.75),
    ({**NUMBER, "minimum": 1.5, "exclusiveMinimum": True}, 1.6, 1.5),
    ({**NUMBER, "maximum": 1.5, "exclusiveMaximum": True}, 1.4, 1.5),
    ({**NUMBER, "multipleOf": 0.1}, 0.7, 0.75),
    ({**NUMBER, "multipleOf": 2.5}, 7.5, 7.6),
    ({**NUMBER, "multipleOf": 0.01}, 0.02, 0.005),
    (NUMBER, 1, "1"),
    (NUMBER, -1.5, True),
    ({"type": "boolean"}, True, 1),
    ({"type": "boolean", "enum": [True]}, True, False),
    ({**LIST, "minItems": 1}, [1], []),
    ({**LIST, "maxItems": 1}, [1], [1, 2]),
    ({**LIST, "maxItems": 0}, [], [1]),
    (LIST, [1, 2], [1, "2"]),
    (LIST, [], {}),
    ({**MAP, "minProperties": 1}, {"a": 1}, {}),
    ({**MAP, "maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
    ({**MAP, "maxProperties": 0}, {}, {"a": 1}),
    (MAP, {"a": 1}, {"a": "1"}),
    ({"type": "object", "required": ["a"], "properties": {"a": WHOLE}}, {"a": 1}, {}),
    ({"type": "object", "properties": {"a": WHOLE}}, {}, {"a": "1"}),
    (EITHER, 2**31, 1.5),
    (EITHER, "80%", None),
    ({**TEXT, "nullable": True}, None, 1),
    ({**WHOLE, "nullable": True}, None, "1"),
    ({**WHOLE, "allOf": [{"minimum": 2}, {"maximum": 3}]}, 3, 4),
    ({**WHOLE, "allOf": [{"minimum": 2}, {"maximum": 3}]}, 2, 1),
    ({**WHOLE, "anyOf": [{"minimum": 5}, {"maximum": 3}]}, 5, 4),
    ({**WHOLE, "anyOf": [{"minimum": 5}, {"maximum": 3}]}, 3, 4),
    ({**WHOLE, "oneOf": [{"minimum": 3}, {"maximum": 5}]}, 6, 4),
    ({**WHOLE, "not": {"minimum": 3}}, 2, 3),
]


def validator(schema: Any) -> SchemaValidator:
    return SchemaValidator({"type": "object", "properties": {"f": schema}})


@pytest.mark.parametrize(("schema", "good", "bad"), LIMITS)
def test_what_a_schema_accepts(schema: Any, good: Any, bad: Any) -> None:
    values = validator(schema)
    assert field_errors(values.check({"f": good}).problems) == []
    assert values.accepts({"f": good}), "it needs no second pass"
    assert values.is_valid({"f": good})
    assert not values.accepts({"f": bad})
    assert not values.is_valid({"f": bad})
    assert field_errors(values.check({"f": bad}).problems) != []


@pytest.mark.parametrize(
    "schema", [{**NUMBER, "minimum": 1.5}, {**NUMBER, "maximum": 1.5}, {**NUMBER, "minimum": 1.5, "maximum": 1.5}]
)
def test_a_bound_that_is_no_whole_number_belongs_to_the_range(schema: Any) -> None:
    assert validator(schema).is_valid({"f": 1.5})
