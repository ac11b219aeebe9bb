"""JSON values in the forms of Go's `fmt`."""

import math

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.wire import goprint

VALUE = {"b": [1, None, True], "a": {"c": "x y", "d": 1.5}}


@pytest.mark.parametrize(
    ("value", "plain", "syntax", "type_name"),
    [
        (None, "<nil>", "interface {}(nil)", "<nil>"),
        (True, "true", "true", "bool"),
        (False, "false", "false", "bool"),
        (3, "3", "3", "int64"),
        (1.5, "1.5", "1.5", "float64"),
        ("a\n", "a\n", '"a\\n"', "string"),
        ([1, "a"], "[1 a]", '[]interface {}{1, "a"}', "[]interface {}"),
        (
            VALUE,
            "map[a:map[c:x y d:1.5] b:[1 <nil> true]]",
            'map[string]interface {}{"a":map[string]interface {}{"c":"x y", "d":1.5}, '
            '"b":[]interface {}{1, interface {}(nil), true}}',
            "map[string]interface {}",
        ),
    ],
)
def test_how_a_value_is_printed(value, plain, syntax, type_name):
    assert (goprint.plain(value), goprint.syntax(value), goprint.type_of(value)) == (plain, syntax, type_name)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (0.1, "0.1"), (1e18, "1000000000000000000"), (1e20, "1e+20"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (2.0**62, "4611686018427387904"), (2.0**63, "9.223372036854776e+18"), (-(2.0**63), "-9.223372036854776e+18"), (-3.0, "-3"), (0.0, "0"), (1234567.5, "1.2345675e+06"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"), (-2.5e30, "-2.5e+30")],
)  # fmt: skip
def test_how_a_number_is_printed(value, text):
    assert goprint.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0001, "0.0001"), (0.00012, "0.00012"), (0.00001, "1e-05"), (0.000099, "9.9e-05"), (999999.0, "999999"), (1000000.0, "1e+06"),
        (999999.5, "999999.5"), (1.0, "1"), (0.0, "0"), (-0.5, "-0.5"), (12.0, "12"), (math.inf, "+Inf"),
    ],
)  # fmt: skip
def test_the_shortest_form_of_a_number(value, text):
    assert goprint.general(value) == text


@pytest.mark.parametrize(
    ("value", "now", "before"),
    [
        (["b", "a"], '["b","a"]', '[]string{"b", "a"}'),
        ({"b": "1", "a": "2"}, '{"a":"2","b":"1"}', 'map[string]string{"a":"2", "b":"1"}'),
        ({"b": 1}, '{"b":1}', '{"b":1}'),
        ([1], "[1]", "[1]"),
        ({}, "{}", "{}"),
        (None, "null", '"null"'),
        (True, "true", "true"),
        ("x", '"x"', '"x"'),
        (3, "3", "3"),
    ],
)
def test_how_a_field_error_shows_a_value(value, now, before):
    assert goprint.quoted(value) == now
    token = features.use(features.features_of("1.33"))
    try:
        assert goprint.quoted(value) == before
    finally:
        features.leave(token)
