"""The messages of Go for invalid JSON."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.wire import gojson

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", END),
        (" \n", END),
        ("{", END),
        ('{"a"', END),
        ('{"a":', END),
        ('{"a":1', END),
        ('{"a":1,', END),
        ("[", END),
        ("[1", END),
        ("[1,", END),
        ('"a', END),
        ('"\\', END),
        ('"\\u12', END),
        ("tr", END),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ("{'", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a" 1', "invalid character '1' after object key"),
        ('{"a":1 "b"', "invalid character '\"' after object key:value pair"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} {", "invalid character '{' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-", END),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.", END),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e", END),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("fx", "invalid character 'x' in literal false (expecting 'a')"),
        ("nulL", "invalid character 'L' in literal null (expecting 'l')"),
        ('"\n"', "invalid character '\\n' in string literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        ('"a b', END),
        ('"\x1f"', "invalid character '\\x1f' in string literal"),
        ('"\\u', END),
        ('"\\u1234', END),
        ('{"a":[1,{"b":x}]}', "invalid character 'x' looking for beginning of value"),
        ("nul", END),
        ("1e+", END),
        ("1E-x", "invalid character 'x' in exponent of numeric literal"),
        ("--1", "invalid character '-' in numeric literal"),
        ("-01", "invalid character '1' after top-level value"),
        ("[1,2", END),
        ("\x00", "invalid character '\\x00' looking for beginning of value"),
        ("٣", "invalid character 'Ù' looking for beginning of value"),
        ("[" * 20_000, "exceeded max depth"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_first_syntax_error(text, message):
    assert gojson.syntax_problem(text.encode()) == message


@pytest.mark.parametrize("text", ["{}", "[]", '{"a":[1,-0.5e+3,true,false,null,"\\u00e9\\n\\""]}', " 1 ", '""'])
def test_valid_json_has_no_syntax_error(text):
    assert gojson.syntax_problem(text.encode()) is None


def refuse(constant):
    raise ValueError(constant)


@pytest.mark.slow
@given(st.one_of(st.text(), st.text(alphabet='{}[]":,0123456789.eE+-truefalsn\\ \n')))
@example("-")
@example("1.")
def test_go_and_python_agree_on_what_is_json(text):
    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        assert gojson.syntax_problem(text.encode())
    else:
        assert gojson.syntax_problem(text.encode()) is None


@pytest.mark.parametrize(
    ("value", "name"),
    [(True, "bool"), (1, "number"), (1.5, "number"), ("", "string"), ([], "array"), ({}, "object"), (None, "null")],
)
def test_the_name_of_a_json_type(value, name):
    assert gojson.type_name(value) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1.0, "a": [2.5, "<&>"]}, '{"a":[2.5,"\\u003c\\u0026\\u003e"],"b":1}'),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1e20, "-100000000000000000000"),
        (-1e21, "-1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
    ],
)
def test_a_map_as_go_writes_it(value, text):
    assert gojson.go_json(value) == text


def test_a_struct_keeps_its_order():
    assert gojson.go_json_ordered({"b": 1, "a": "<"}) == '{"b":1,"a":"\\u003c"}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e15, b"1000000000000000.0"),
        (1e16, b"10000000000000000"),
        (1.5e20, b"150000000000000000000"),
        (1e21, b"1e+21"),
        (1e200, b"1e+200"),
        ({"a e+10": "1e+16", "b": 1e16}, b'{"a e+10":"1e+16","b":10000000000000000}'),
    ],
)
def test_numbers_have_an_exponent_from_1e21_on(value, text):
    assert gojson.encode(value) == text


@pytest.mark.parametrize(
    ("value", "stored", "whole"),
    [
        (3.0, 3, gojson.WholeFloat),
        (0.5, 0.5, float),
        (2.0**62, 2**62, gojson.WholeFloat),
        (2.0**63, 2.0**63, float),
        (-(2.0**63), -(2.0**63), float),
        (-(2.0**63) - 2048, -(2.0**63) - 2048, float),
        (2**63 - 1, 2**63 - 1, int),
        (2**63, 2.0**63, float),
        (-(2**63), -(2**63), int),
        (-(2**63) - 1, -(2.0**63), float),
        (gojson.WholeFloat(3), 3, int),
    ],
)
def test_the_type_of_a_number(value, stored, whole):
    found = gojson.with_go_numbers({"a": [value]})["a"][0]
    assert (found, type(found)) == (stored, type(stored))
    assert type(gojson.with_body_numbers(value)) is whole


def test_a_value_without_such_numbers_is_returned_itself():
    value = {"a": [1, {"b": "x"}, 0.5]}
    assert gojson.with_go_numbers(value) is value
    changed = gojson.with_go_numbers({"a": [1.0], "b": value})
    assert changed["b"] is value


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        ({"a": [1, "x"], "b": {}}, {"b": {}, "a": [1, "x"]}, True),
        ([{"a": None}], [{"a": None}], True),
        ([1], [1.0], False),
        ([1], [True], False),
        ({"a": 1}, {"a": 2}, False),
        ({}, [], False),
        ([2**64], [2**64], True),
        ([2**64], [2.0**64], False),
        (1000, 10**3 + int("0"), True),
        (1, 1.0, False),
        (1, True, False),
        (None, None, True),
        (gojson.WholeFloat(1), 1, False),
        ({"a": [gojson.WholeFloat(1)]}, {"a": [1]}, False),
        ({"a": [gojson.WholeFloat(1)]}, {"a": [gojson.WholeFloat(1)]}, True),
        ([gojson.WholeFloat(1), 2**64], [1, 2**64], False),
    ],
)
def test_values_that_are_the_same_json(value, other, same):
    assert gojson.is_same(value, other) is same


DOCUMENT = '{"a": [1, -0.5e+3, true, false, null, "\\u00e9\\n\\"", {"b": {}, "c": []}], "d": "x"}'


@pytest.mark.parametrize("end", range(len(DOCUMENT)))
def test_every_beginning_of_a_document_ends_too_early(end):
    assert gojson.syntax_problem(DOCUMENT[:end].encode()) == END


@pytest.mark.parametrize("at", range(len(DOCUMENT) + 1))
def test_the_first_character_that_cannot_follow_is_reported(at):
    """A bell is allowed nowhere in JSON, neither within nor outside of strings."""
    message = gojson.syntax_problem(f"{DOCUMENT[:at]}\a{DOCUMENT[at:]}".encode())
    assert (message or "").startswith("invalid character '\\a' ")


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        *((char, f"\\{letter}") for char, letter in zip("\a\b\f\v'\\", "abfv'\\", strict=True)),
        *((char, char) for char in '"x~é÷'),
        *(("\x00", "\\x00"), ("\x1b", "\\x1b"), ("\x7f", "\\x7f")),
        *(("\x80", "\\u0080"), ("\x9f", "\\u009f"), ("\xa0", "\\u00a0"), ("\xad", "\\u00ad"), ("\xae", "®")),
    ],
)
def test_how_a_byte_is_shown(char, shown):
    """As a character, with the escapes of `strconv.Quote` but for quotes."""
    message = gojson.syntax_problem(b"[" + char.encode("latin-1"))
    place = "looking for beginning of value"
    assert message == (END if char == '"' else f"invalid character '{shown}' {place}")
