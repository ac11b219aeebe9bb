"""Integers as Go's `strconv` parses them."""

import pytest

from fakekube.apiserver.wire.integers import parse_int, parse_uint

SYNTAX, RANGE = "invalid syntax", "value out of range"


@pytest.mark.parametrize(
    ("text", "signed", "unsigned"),
    [
        ("0", 0, 0),
        ("7", 7, 7),
        ("007", 7, 7),
        ("-7", -7, SYNTAX),
        ("+7", 7, SYNTAX),
        ("-0", 0, SYNTAX),
        ("9223372036854775807", 2**63 - 1, 2**63 - 1),
        ("9223372036854775808", RANGE, 2**63),
        ("-9223372036854775808", -(2**63), SYNTAX),
        ("-9223372036854775809", RANGE, SYNTAX),
        ("18446744073709551615", RANGE, 2**64 - 1),
        ("18446744073709551616", RANGE, RANGE),
        ("0" * 200 + "1", 1, 1),
        ("1" * 101, RANGE, RANGE),
        ("1" * 5000, RANGE, RANGE),
        ("", SYNTAX, SYNTAX),
        ("-", SYNTAX, SYNTAX),
        ("+-1", SYNTAX, SYNTAX),
        (" 1", SYNTAX, SYNTAX),
        ("1_0", SYNTAX, SYNTAX),
        ("0x1", SYNTAX, SYNTAX),
        ("1.0", SYNTAX, SYNTAX),
        ("١", SYNTAX, SYNTAX),
        ("²", SYNTAX, SYNTAX),
    ],
)
def test_an_integer(text, signed, unsigned):
    for parse, expected in ((parse_int, signed), (parse_uint, unsigned)):
        if isinstance(expected, int):
            assert parse(text) == expected
        else:
            with pytest.raises(ValueError, match=f"^{expected}$"):
                parse(text)
