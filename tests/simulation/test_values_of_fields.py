"""Which values a generated workload gives a field: what the schema says, what is near, and what the test uses."""

import pytest

from fakekube.simulation.workloads import ABSENT, _fits, _is_within, _values

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
LETTERS = {"type": "string", "enum": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    ("schema", "now", "used", "values"),
    [
        pytest.param(TEXT, "x", (), [], id="a text has none"),
        pytest.param(TEXT, "x", ("y", "x", "y"), ["y", "x"], id="but those of the test"),
        pytest.param({**TEXT, "default": "d"}, "x", ("y",), ["y", "d"], id="and its default"),
        pytest.param({"default": "d"}, "x", (), ["d"], id="of any type"),
        pytest.param(LETTERS, "a", ("z",), ["a", "b", "c", "d", "z"], id="one of several"),
        pytest.param({"type": "boolean"}, True, (), [True, False], id="a boolean"),
        pytest.param({"type": "boolean", "default": False}, True, (), [False, True], id="a boolean with a default"),
        pytest.param(INTEGER, 7, (9,), [9, 6, 8, 0, 1, 2, 3], id="a number"),
        pytest.param(INTEGER, ABSENT, (), [0, 1, 2, 3], id="a number that is not set"),
        pytest.param({"type": "number"}, 1.5, (), [0.5, 2.5, 0, 1, 2, 3], id="a fraction"),
        pytest.param({**INTEGER, "minimum": 5, "maximum": 7}, 7, (), [6, 5], id="a number within bounds"),
        pytest.param({**INTEGER, "enum": [1, 8]}, 1, (), [1, 8], id="one of several numbers"),
        pytest.param({"type": "array", "items": LETTERS}, ["a"], (), [["a", "b"], ["a", "c"], []], id="a list"),
        pytest.param(
            {"type": "array", "items": LETTERS}, ["b", "a"], (), [["b", "a", "c"], ["b", "a", "d"], ["a"], ["b"]],
            id="a list of two",
        ),
        pytest.param({"type": "array"}, ["x", "y"], (), [["y"], ["x"]], id="a list of what is not known"),
        pytest.param(
            {"type": "array", "items": LETTERS, "minItems": 1, "maxItems": 1}, ["a"], (), [], id="a list of one item"
        ),
        pytest.param({"type": "array", "enum": [["a"]]}, ["a"], (), [["a"]], id="one of several lists"),
        pytest.param({"type": "array", "items": LETTERS}, ABSENT, (["a"],), [["a"]], id="a list that is not set"),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER}, {"a": 1, "b": 5}, (),
            [{"b": 5}, {"a": 1}, {"a": 1, "b": 5, "generated": 1}, {"a": 1, "b": 5, "generated": 5}],
            id="a map, with the values that it has",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER}, {}, (), [{"generated": 0}, {"generated": 1}],
            id="an empty map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 1}, {"a": 1}, (),
            [], id="a map of one entry",
        ),
        pytest.param({"type": "object", "additionalProperties": True}, {"a": 1}, (), [], id="a map of anything"),
        pytest.param({"type": "object", "additionalProperties": INTEGER}, ABSENT, (), [], id="a map that is not set"),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": INTEGER, "b": TEXT, "c": LETTERS}}, ABSENT, (),
            [{"a": 0, "c": "a"}], id="an object that is not set",
        ),
        pytest.param(
            {"type": "object", "required": ["b"], "properties": {"a": INTEGER, "b": TEXT}}, ABSENT, (), [],
            id="an object whose required field has no values",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": INTEGER}}, {"a": 5}, (), [], id="the fields of an object that is set"
        ),
    ],
)  # fmt: skip
def test_values(schema, now, used, values):
    assert _values(schema, now, used) == values


@pytest.mark.parametrize(
    ("schema", "value", "is_within"),
    [
        ({}, 0, True),
        ({}, -1, False),  # without a minimum: what is negative seldom has a meaning
        ({}, 10**9, True),
        ({"minimum": -2}, -2, True),
        ({"minimum": -2}, -3, False),
        ({"minimum": 2, "exclusiveMinimum": True}, 2, False),
        ({"minimum": 2, "exclusiveMinimum": True}, 3, True),
        ({"maximum": 2}, 2, True),
        ({"maximum": 2}, 3, False),
        ({"maximum": 2, "exclusiveMaximum": True}, 2, False),
        ({"maximum": 2, "exclusiveMaximum": True}, 1, True),
        ({"multipleOf": 3}, 6, True),
        ({"multipleOf": 3}, 7, False),
        ({"multipleOf": 3, "maximum": 5}, 6, False),
    ],
)
def test_the_bounds_of_a_number(schema, value, is_within):
    assert _is_within(value, schema) is is_within


@pytest.mark.parametrize(
    ("schema", "sizes"),
    [
        ({}, {0, 1, 2, 3}),
        ({"minItems": 1}, {1, 2, 3}),
        ({"maxItems": 2}, {0, 1, 2}),
        ({"minItems": 2, "maxItems": 2}, {2}),
        ({"minProperties": 1, "maxProperties": 1}, {0, 1, 2, 3}),
    ],
)
def test_the_bounds_of_a_list(schema, sizes):
    assert {size for size in range(4) if _fits(list(range(size)), schema, "Items")} == sizes
