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
