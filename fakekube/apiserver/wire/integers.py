"""Parses integers as Go's `strconv` does: ASCII digits with a sign, within 64 bits."""

from __future__ import annotations

SYNTAX, RANGE = "invalid syntax", "value out of range"

#: Longer texts are out of range; they are not converted, as Python refuses to convert thousands of digits.
_MOST_DIGITS = 100


def parse_int(text: str) -> int:
    """A signed integer (`ParseInt`). Raises ValueError with Go's reason."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    value = parse_uint(digits)
    if text.startswith("-"):
        value = -value
    if not -(2**63) <= value < 2**63:
        raise ValueError(RANGE)
    return value


def parse_uint(text: str) -> int:
    """An unsigned integer (`ParseUint`). Raises ValueError with Go's reason."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(SYNTAX)
    digits = text.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS or int(digits) >= 2**64:
        raise ValueError(RANGE)
    return int(digits)
