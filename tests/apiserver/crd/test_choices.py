"""Enums of any type, and quick validation, which must accept nothing that full validation rejects."""

import itertools

import pytest

from fakekube.apiserver.crd.schemavalidator import SchemaValidator

VALUES = [None, True, False, 0, 1, 1.0, 2.5, -3, 2**63, 10**30, "", "a", "1", "2026-01-01", [], [1], {}, {"a": 1}]

TYPES = [
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"x-kubernetes-int-or-string": True},
]
LIMITS = [
    {},
    {"minimum": 1},
    {"maximum": 1},
    {"minimum": 0.5, "exclusiveMinimum": True},
    {"multipleOf": 2},
    {"maxLength": 1},
    {"pattern": "^a"},
]
FORMATS = [{}, {"format": "date"}, {"format": "int32"}, {"format": "float"}, {"format": "unknown"}]
MORE = [{}, {"nullable": True}, {"enum": [1, "a"]}]


#: Bounds of numbers, also ones that integers or a format do not have.
BOUNDS = [0, 1, -1, 2.5, -2.5, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1]


@pytest.mark.parametrize("bound", BOUNDS)
def test_quick_validation_of_numbers_near_a_bound(bound):
    """It accepts nothing that full validation rejects, and is not needlessly slow for what is far from the bound."""
    near = [
        bound - 1,
        bound,
        bound + 1,
        float(bound),
        bound + 0.5,
        bound - 0.5,
        int(bound),
        int(bound) + 1,
        int(bound) - 1,
    ]
    for kind, form, limit, exclusive in itertools.product(
        ("integer", "number"), ("", "int32", "int64", "double"), ("minimum", "maximum"), (False, True)
    ):
        schema = {
            "type": kind,
            limit: bound,
            f"exclusive{limit.title()}": exclusive,
            **({"format": form} if form else {}),
        }
        values = SchemaValidator(schema)
        for value in near:
            assert values.accepts(value) <= (not values.check(value).problems), (schema, value)
        if abs(bound) < 100:
            far = 1000 if limit == "minimum" else -1000
            assert values.accepts(far) is (not values.check(far).problems), schema


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_quick_validation_accepts_nothing_that_full_validation_rejects(kind):
    for limit, form, more in itertools.product(LIMITS, FORMATS, MORE):
        values = SchemaValidator({**kind, **limit, **form, **more})
        for value in VALUES:
            problems = values.check(value).problems
            assert values.accepts(value) <= (not problems), (
                limit,
                form,
                more,
                value,
                [one.message for one in problems],
            )


@pytest.mark.parametrize(
    ("kind", "choices", "accepted"),
    [
        pytest.param("integer", [0, 1], [0, 1], id="integer"),
        pytest.param("number", [1, 2.5], [1, 1.0, 2.5], id="number"),
        pytest.param("string", ["a", "1"], ["a", "1"], id="string"),
        pytest.param("boolean", [True], [True], id="boolean"),
    ],
)
def test_a_value_is_one_of_the_choices_of_its_type(kind, choices, accepted):
    values = SchemaValidator({"type": kind, "enum": choices})
    found = [value for value in VALUES if not values.check(value).problems]
    expected = [value for value in VALUES if any(type(value) is type(one) and value == one for one in accepted)]
    assert [repr(value) for value in found if not (kind == "integer" and isinstance(value, float))] == [
        repr(value) for value in expected
    ]


JUNCTORS = [
    {"not": {"enum": [1, "a"]}},
    {"not": {"minimum": 1}},
    {"anyOf": [{"minimum": 2}, {"maxLength": 0}]},
    {"oneOf": [{"minimum": 0}, {"minimum": 1}]},
    {"oneOf": [{"maxLength": 1}, {"pattern": "a"}]},
    {"allOf": [{"minimum": 0}, {"maximum": 1}, {"pattern": "^$"}]},
    {"allOf": [{"anyOf": [{"minimum": 2}]}, {"not": {"maximum": 0}}]},
    {"anyOf": [{"minimum": 2}], "not": {"maximum": 2}, "oneOf": [{"maximum": 5}]},
]
SHAPES = [
    *TYPES,
    {"type": "array", "items": {"type": "integer"}},
    {"type": "array", "items": {"type": "string"}, "minItems": 1},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "maxProperties": 0},
]


@pytest.mark.parametrize("junctor", JUNCTORS, ids=str)
def test_quick_validation_of_junctors_accepts_nothing_that_full_validation_rejects(junctor):
    accepted = rejected = 0
    for shape in SHAPES:
        whole = {**shape, **junctor}
        for schema, wrap in (
            (whole, lambda value: value),
            ({"type": "object", "properties": {"a": whole}}, lambda value: {"a": value}),
            ({"type": "array", "items": whole}, lambda value: [value]),
        ):
            values = SchemaValidator(schema)
            for value in map(wrap, VALUES):
                valid = not values.check(value).problems
                assert values.accepts(value) <= valid, (schema, value)
                accepted, rejected = accepted + valid, rejected + (not valid)
    assert min(accepted, rejected) > 0


#: Schemas whose valid values quick validation recognizes, which large lists need: only others are validated in full.
PLAIN = [
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "maxLength": 0},
    {"type": "string", "pattern": "^a+$"},
    {"type": "string", "enum": ["a", "1"]},
    {"type": "string", "nullable": True},
    {"type": "boolean"},
    {"type": "boolean", "enum": [True]},
    {"type": "integer", "minimum": 0, "maximum": 1},
    {"type": "integer", "minimum": -3, "exclusiveMinimum": True},
    {"type": "integer", "maximum": 1, "exclusiveMaximum": True},
    {"type": "integer", "format": "int32"},
    {"type": "number"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "maxProperties": 1},
    {"type": "object", "maxProperties": 0},
    {"type": "string", "anyOf": [{"type": "string", "maxLength": 0}, {"type": "string", "pattern": "^a"}]},
    {"type": "string", "allOf": [{"type": "string", "maxLength": 1}, {"type": "string", "pattern": "^a"}]},
]
MORE_VALUES = [
    *VALUES, "aa", "aaa", "b", 2, -1, -2, -4, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, [1, 2], [1, 2, 3], ["a"], [None],
    {"a": 1, "b": 2}, {"a": 1, "b": "x"}, {"a": "x"}, {"b": 1}, {"a": 1, "b": 2, "c": 3}, {"a": None},
]  # fmt: skip


@pytest.mark.parametrize("schema", PLAIN, ids=str)
def test_quick_validation_of_plain_schemas_accepts_what_full_validation_accepts(schema):
    values = SchemaValidator(schema)
    # a whole float is an integer, which is not recognized
    usual = [one for one in MORE_VALUES if not (isinstance(one, float) and schema["type"] == "integer")]
    valid = [value for value in usual if not values.check(value).problems]
    assert [value for value in usual if values.accepts(value)] == valid
    assert valid
