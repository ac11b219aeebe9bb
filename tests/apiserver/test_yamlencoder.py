"""YAML answers, in the style of go-yaml."""

import pytest

from fakekube.apiserver.wire import yamlencoder
from fakekube.apiserver.wire.goyaml import Document


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"), ("y", '"y"'), ("no", '"no"'), ("1", '"1"'), ("1.5", '"1.5"'), ("0x1f", '"0x1f"'), ("", '""'),
        ("~", '"~"'), ("null", '"null"'), ("2020-01-01", '"2020-01-01"'), ("2020-13-01", "2020-13-01"), ("2024-02-29", '"2024-02-29"'),
        ("2023-02-29", "2023-02-29"), ("2020-04-31", "2020-04-31"), ("2020-00-10", "2020-00-10"),
        ("2024-01-02T03:04:05Z", '"2024-01-02T03:04:05Z"'), ("12:30:45", '"12:30:45"'), ("a: b", "'a: b'"),
        ("#x", "'#x'"), ("- a", "'- a'"), ("<<", "<<"), ("=", "="), (":x", ":x"), ("a\nb", "|-\n  a\n  b"),
        ("tab\tx", '"tab\\tx"'), ("é", "é"), (1, "1"), (1.5, "1.5"), (1234567.5, "1.2345675e+06"), (1e-05, "1e-05"),
        (1e22, "1e+22"), (True, "true"), (None, "null"), ({}, "{}"), ([], "[]"),
    ],
)  # fmt: skip
def test_how_a_value_is_written(value, text):
    encoded = yamlencoder.encode({"k": value})
    assert encoded.decode() == f"k: {text}\n"
    assert Document(encoded).value() == {"k": value}


def test_equal_values_are_no_aliases():
    shared = {"a": {}}
    assert yamlencoder.encode([shared, shared]) == b"- a: {}\n- a: {}\n"


@pytest.mark.parametrize(
    "ordered",
    [
        ["1", "02", "10", "A", "a-b", "a.b", "a9", "a10", "ab", "b"],
        ["_", "A", "a"],
        ["a_", "a{", "aB", "ab"],
        ["a", "a1", "a01", "a2", "a10", "a100"],
        ["x1y", "x1z", "x01y", "x2"],
        ["1a", "1b", "2", "10"],
        ["a1", "a10", "a11"],
        ["é1", "é2", "é10"],
        ["", "-", "a"],
    ],
)
def test_the_order_of_keys(ordered):
    for keys in (ordered, ordered[::-1]):
        assert yamlencoder._sorted(keys) == ordered


def test_long_text_is_folded():
    encoded = yamlencoder.encode({"k": "longer " * 20})
    assert max(map(len, encoded.decode().splitlines())) < 90
    assert Document(encoded).value() == {"k": "longer " * 20}
