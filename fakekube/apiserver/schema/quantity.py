"""Resource quantities such as `500m` and `1Gi`: their values and canonical form (apimachinery `api/resource`)."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import lru_cache

BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_PATTERN = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?\d+)", re.ASCII)

#: The limits of the precision, and of values with a binary suffix: nanos and int64.
_LIMIT = Decimal(2**63 - 1)
_NANO = Decimal("1e-9")


class InvalidQuantity(Exception):
    """An invalid quantity; the message is the real server's."""

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message or "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )


def _parse(text: str) -> tuple[Decimal, str]:
    """The value, and the format of the suffix: `binary`, `decimal` or `exponent`."""
    match = _PATTERN.fullmatch(text)
    if not match:
        raise InvalidQuantity(_problem_of(text))
    sign, digits, suffix = match.groups()
    with localcontext() as context:
        context.prec = 60
        value = Decimal(digits)
        if suffix in BINARY:
            value, family = value * BINARY[suffix], "binary"
        elif suffix in DECIMAL:
            value, family = value * Decimal(10) ** DECIMAL[suffix], "decimal"
        else:
            exponent = int(suffix[1:])
            if abs(exponent) > 100:
                raise InvalidQuantity("unable to parse quantity's suffix")
            value, family = value * Decimal(10) ** exponent, "exponent"
        value = value.quantize(_NANO, rounding=ROUND_CEILING) if value.as_tuple().exponent < -9 else value  # type: ignore[operator]
        value = min(value, _LIMIT) if family == "binary" else value
    return (-value if sign == "-" else value), family


_SHAPE = re.compile(r"[+-]?(?P<digits>[0-9]*(\.[0-9]*)?)(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_SUFFIX = re.compile(r"Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?\d+")


def _problem_of(text: str) -> str:
    """The error of an invalid quantity; "" if the text does not match the regular expression."""
    match = _SHAPE.fullmatch(text)
    if not text or match is None:
        return ""
    if not _SUFFIX.fullmatch(match["suffix"]):
        return "unable to parse quantity's suffix"
    return "unable to parse numeric part of quantity"


def value_of(text: str | int | float) -> Decimal:
    """The number of a quantity. Raises InvalidQuantity."""
    return _parse(str(text))[0]


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The canonical form: without a fraction, with the largest possible suffix. Raises InvalidQuantity."""
    return _written(*_parse(text))


@lru_cache(maxsize=4096)
def as_read(text: str) -> str:
    """The form in which a quantity of a client is stored: canonical, unless `ParseQuantity` takes its text for
    canonical, such as `+1`. Raises InvalidQuantity."""
    value, family = _parse(text)
    return text if value != 0 and _passes_as_canonical(text) else _written(value, family)


@lru_cache(maxsize=4096)
def is_whole(text: str) -> bool:
    """Whether a quantity is a whole number for Go, whose thousandths may overflow (`MilliValue() % 1000`)."""
    whole, fraction, suffix = _digits_of(text)
    number = int(whole + fraction)
    if suffix not in BINARY and len(whole + fraction) <= _DIGITS:
        places = _exponent_of(suffix) - len(fraction) + 3
        if -6 <= places < 0:
            return -(-number // int(10**-places)) % 1000 == 0
        if places >= 0:
            thousandths = number * 10**places
            # Go returns what is left of the overflow of these powers of ten, and 0 for others
            vanishes = thousandths >= 2**63 and places not in (1, 2, 3, 6, 9)
            return vanishes or as_int64(thousandths) % 1000 == 0
    with localcontext() as context:
        context.prec = 200
        return as_int64(int((_parse(text)[0] * 1000).to_integral_value(rounding=ROUND_CEILING))) % 1000 == 0


def as_int64(number: int) -> int:
    """The number as an int64 has it after an overflow."""
    return (number + 2**63) % 2**64 - 2**63


#: The number of digits that fit into an int64 (`maxInt64Factors`).
_DIGITS = 18


def _digits_of(text: str) -> tuple[str, str, str]:
    """The digits of a quantity before and after the point, and its suffix."""
    match = _PATTERN.fullmatch(text)
    assert match is not None, "the text is a quantity"
    _, digits, suffix = match.groups()
    whole, _, fraction = digits.lstrip("0").partition(".")
    return whole or "0", fraction, suffix


def _exponent_of(suffix: str) -> int:
    """The power of ten of a suffix that is not binary."""
    return DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])


def _passes_as_canonical(text: str) -> bool:
    """Whether `ParseQuantity` keeps the text: a signed or binary number by its digits only."""
    whole, fraction, suffix = _digits_of(text)
    shifted = whole + fraction
    if not _fits(whole, fraction, suffix):
        return False
    if suffix in BINARY:
        return int(shifted) & 7 != 0  # Go compares a number that it has not yet set with zero bits: the digits
    scale = _exponent_of(suffix) - len(fraction)
    return scale % 3 == 0 and not shifted.endswith("000") and not shifted.startswith("0")


def _fits(whole: str, fraction: str, suffix: str) -> bool:
    """Whether Go holds a quantity as an int64 and a scale, and not as a decimal number of any length."""
    if suffix in BINARY:
        power = BINARY[suffix].bit_length() - 1
        return not fraction and 15 - len(whole) - int(power * 3 / 10) - 1 >= 0
    return len(whole + fraction) <= _DIGITS and _exponent_of(suffix) - len(fraction) >= -9


def parts_of(text: str) -> tuple[int, int, bool]:
    """A quantity as Go holds it: digits, a power of ten, and whether it is an int64 with a scale (`int64Amount`), not a
    decimal number (`infDecAmount`). Raises InvalidQuantity."""
    value, _ = _parse(text)
    whole, fraction, suffix = _digits_of(text)
    sign = -1 if text.startswith("-") else 1
    if _fits(whole, fraction, suffix):
        if suffix in BINARY:
            return sign * int(whole) * BINARY[suffix], 0, True
        return sign * int(whole + fraction), _exponent_of(suffix) - len(fraction), True
    if abs(value) == _LIMIT and suffix in BINARY:
        return int(value), 0, False
    with localcontext() as context:
        context.prec = 200
        return int(value.scaleb(9)), -9, False


@lru_cache(maxsize=4096)
def rounded_up(text: str) -> str:
    """The quantity rounded up to thousandths (`Quantity.RoundUp`); the same text if it is not more precise."""
    value, family = _parse(text)
    with localcontext() as context:
        context.prec = 60
        thousandths = value * 1000
        if thousandths == thousandths.to_integral_value():
            return text
        whole = thousandths.to_integral_value(rounding=ROUND_CEILING if value > 0 else ROUND_FLOOR) / 1000
    return _written(whole, family)


def _written(value: Decimal, family: str) -> str:
    if value == 0:
        return "0"
    if family == "binary":
        if abs(value) < 1024 or value != value.to_integral_value():
            return _decimal(value)
        return _binary(int(value))
    return _exponent(value) if family == "exponent" else _decimal(value)


def _binary(value: int) -> str:
    suffix = ""
    for name in BINARY:
        if value % 1024:
            break
        value //= 1024
        suffix = name
    return f"{value}{suffix}"


def _powers(value: Decimal) -> tuple[int, int]:
    """The value as an integer and the largest possible power of 1000 (as an exponent of ten)."""
    exponent = 0
    with localcontext() as context:
        context.prec = 60
        while value != value.to_integral_value() and exponent > -9:
            value, exponent = value * 1000, exponent - 3
        number = int(value.to_integral_value(rounding=ROUND_CEILING))
        while number % 1000 == 0 and exponent < 18:
            number, exponent = number // 1000, exponent + 3
    return number, exponent


def _decimal(value: Decimal) -> str:
    number, exponent = _powers(value)
    suffix = next(name for name, power in DECIMAL.items() if power == exponent)
    return f"{number}{suffix}"


def _exponent(value: Decimal) -> str:
    number, exponent = _powers(value)
    return f"{number}e{exponent}" if exponent else str(number)
