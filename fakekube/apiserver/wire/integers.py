"""Integers in text, as Go's strconv reads them: ASCII digits and a sign, within 64 bits, and its words where they
are not."""

from __future__ import annotations

SYNTAX, RANGE = "invalid syntax", "value out of range"

#: Text with more digits is out of range, however large they are; Python refuses to convert thousands of them.
_MOST_DIGITS = 100


def parse_int(text: str) -> int:
    """A signed integer (`ParseInt`). Raises ValueError: what is wrong."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    value = parse_uint(digits)
    if text.startswith("-"):
        value = -value
    if not -(2**63) <= value < 2**63:
        raise ValueError(RANGE)
    return value


def parse_uint(text: str) -> int:
    """An unsigned integer (`ParseUint`). Raises ValueError: what is wrong."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(SYNTAX)
    digits = text.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS or int(digits) >= 2**64:
        raise ValueError(RANGE)
    return int(digits)
