"""JSON values in the forms of Go's `fmt`."""

import pytest

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
    [(3.0, "3"), (0.1, "0.1"), (1e18, "1000000000000000000"), (1e20, "1e+20"), (1234567.5, "1.2345675e+06"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"), (-2.5e30, "-2.5e+30")],
)  # fmt: skip
def test_how_a_number_is_printed(value, text):
    assert goprint.number(value) == text
