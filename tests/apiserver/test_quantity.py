"""Quantities: their values, canonical forms and errors (resource.Quantity of apimachinery)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.schema import quantity
from fakekube.apiserver.schema.quantity import InvalidQuantity, canonical, value_of

CANONICAL = [
    ("0", "0"), ("0Gi", "0"), ("-0", "0"), ("0.000", "0"), ("1", "1"), ("+1", "1"), ("-1", "-1"), ("007", "7"),
    # decimal: no fraction, and the largest suffix
    ("0.5", "500m"), (".5", "500m"), ("5.", "5"), ("1000m", "1"), ("1500m", "1500m"), ("1000", "1k"), ("1001", "1001"),
    ("1000k", "1M"), ("1000000000000000000000", "1000E"), ("1u", "1u"), ("1000n", "1u"), ("0.001k", "1"), ("1.5G", "1500M"),
    # at most nine digits behind the point, rounded away from zero
    ("0.000000001", "1n"), ("0.0000000001", "1n"), ("0.1n", "1n"), ("1.0000000001", "1000000001n"), ("-0.1n", "-1n"),
    ("1.1n", "2n"), ("0.999999999", "999999999n"), ("0.9999999991", "1"),
    # binary, from 1,024 on
    ("1024Ki", "1Mi"), ("100Ki", "100Ki"), ("1.5Gi", "1536Mi"), ("1.5Ki", "1536"), ("0.5Ki", "512"), ("1Ei", "1Ei"),
    ("1025Mi", "1025Mi"), ("1023.5Ki", "1048064"), ("0.0001Ki", "102400u"), ("8Ei", "9223372036854775807"), ("-1024Ki", "-1Mi"),
    # with an exponent
    ("1e3", "1e3"), ("1E3", "1e3"), ("12e2", "1200"), ("12000e0", "12e3"), ("1e-3", "1e-3"), ("1e-10", "1e-9"),
    ("1e21", "1000e18"), ("1e0", "1"), ("1e+3", "1e3"), ("1.5e3", "1500"), ("1e1", "10"),
    ("1E", "1E"), ("2E", "2E"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CANONICAL)
def test_the_canonical_form(text, expected):
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1500m", "1.5"), ("2Ki", "2048"), ("2k", "2000"), (3, "3"), (0.5, "0.5"), ("-1Mi", "-1048576"), ("1e-2", "0.01"),
        ("1Ti", str(1024**4)), ("1Pi", str(1024**5)), ("1T", str(10**12)), ("1P", str(10**15)), ("1E", str(10**18)),
        ("1e100", str(10**100)), ("5n", "5e-9"), ("5u", "5e-6"),
    ],
)  # fmt: skip
def test_the_value(text, value):
    assert value_of(text) == Decimal(value)


SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX, NUMBER = "unable to parse quantity's suffix", "unable to parse numeric part of quantity"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", SHAPE), ("a", SHAPE), ("1 Gi", SHAPE), ("1Gi ", SHAPE), ("1.2.3", SHAPE), ("1x", SHAPE), ("\u0661", SHAPE),
        ("1Kii", SUFFIX), ("1K", SUFFIX), ("1mm", SUFFIX), ("1Gi1", SUFFIX), ("1e", SUFFIX), ("1e101", SUFFIX), ("1e-101", SUFFIX),
        (".", NUMBER), ("Gi", NUMBER), ("+", NUMBER), ("-.m", NUMBER),
    ],
)  # fmt: skip
def test_what_is_no_quantity(text, problem):
    with pytest.raises(InvalidQuantity) as raised:
        canonical(text)
    assert str(raised.value) == problem


@given(st.integers(-(2**62), 2**62), st.sampled_from(["", "m", "u", "n", "k", "M", "Ki", "Mi", "e3", "e-3"]))
def test_a_canonical_form_has_the_same_value_and_no_smaller_suffix(number, suffix):
    shown = canonical(f"{number}{suffix}")
    if suffix not in ("Ki", "Mi"):  # larger ones are cut to 64 bits
        assert value_of(shown) == value_of(f"{number}{suffix}")
    assert canonical(shown) == shown


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("+1", "+1"), ("007", "007"), ("5.", "5."), ("1E3", "1E3"), ("1.234", "1.234"), ("1.5", "1500m"),
        ("1000m", "1"), ("1500m", "1500m"), ("12e2", "1200"), ("1025Ki", "1025Ki"), ("+9Ki", "+9Ki"), ("1024Ki", "1Mi"),
        ("+0", "0"), ("100e3", "100e3"),
        # 15 digits less those of the suffix, and the last three bits are not 0
        ("+99999999999Ki", "+99999999999Ki"), ("+100000000001Ki", "100000000001Ki"), ("+12345679Mi", "+12345679Mi"),
        ("+123456789Mi", "123456789Mi"), ("+12345Gi", "+12345Gi"), ("+123457Gi", "123457Gi"), ("+11Ti", "+11Ti"),
        ("+101Ti", "101Ti"), ("+8Ki", "8Ki"), ("+1Ei", "1Ei"), ("+1.5Ki", "1536"), ("+9.0Ki", "9Ki"),
        # 18 digits, and a scale of a multiple of three that is at least -9
        ("+123456789012345678", "+123456789012345678"), ("+1234567890123456789", "1234567890123456789"),
        ("1.234m", "1.234m"), ("1.234u", "1.234u"), ("1.234n", "2n"), ("+1000", "1k"), ("+100", "+100"),
        ("0.5", "500m"), ("0.123", "123m"), ("+3e2", "300"), ("+3e6", "+3e6"), ("+3e-3", "+3e-3"),
    ],
)  # fmt: skip
def test_the_text_of_a_client_is_kept_if_go_takes_it_for_canonical(text: str, stored: str) -> None:
    assert quantity.as_read(text) == stored


@pytest.mark.parametrize(
    ("text", "rounded"), [("0.1m", "1m"), ("1e-9", "1e-3"), ("100u", "1m"), ("-1500u", "-2m"), ("1500m", "1500m")]
)
def test_quantities_are_rounded_up_to_thousandths(text: str, rounded: str) -> None:
    assert quantity.rounded_up(text) == rounded
