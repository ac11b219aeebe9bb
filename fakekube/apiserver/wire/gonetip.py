"""Why Go's `net/netip` rejects a text as an address or a prefix."""

from __future__ import annotations

import re

from fakekube.apiserver.wire.goprint import go_quote

_HEX = re.compile(r"[0-9a-fA-F]*", re.ASCII)


class BadAddress(Exception):
    """A text that is no address; the message is that of `netip`."""


def check_address(text: str) -> None:
    """Raises BadAddress if a text is no address (`netip.ParseAddr`)."""
    first = next((char for char in text if char in ".:%"), "")
    if first == ".":
        _check_fields(text, text)
    elif first == ":":
        _check_groups(text)
    else:
        raise _bad(text, "missing IPv6 address" if first else "unable to parse IP")


def check_prefix(text: str) -> None:
    """Raises BadAddress if a text is no prefix (`netip.ParsePrefix`)."""
    why = f"netip.ParsePrefix({go_quote(text)}): "
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise BadAddress(f"{why}no '/'")
    try:
        check_address(address)
    except BadAddress as problem:
        raise BadAddress(f"{why}{problem}") from None
    if "%" in address:
        raise BadAddress(f"{why}IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"0|[1-9][0-9]*", bits, re.ASCII):
        raise BadAddress(f"{why}bad bits after slash: {go_quote(bits)}")
    if int(bits[:9]) > (128 if ":" in address else 32):
        raise BadAddress(f"{why}prefix length out of range")


def _bad(text: str, why: str, at: str = "") -> BadAddress:
    where = f" (at {go_quote(at)})" if at else ""
    return BadAddress(f"ParseAddr({go_quote(text)}): {why}{where}")


def _check_fields(text: str, fields: str) -> None:
    """The four fields of an IPv4 address, which may be the end of an IPv6 address (`parseIPv4Fields`)."""
    value, digits, dots = 0, 0, 0
    for i, char in enumerate(fields):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _bad(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _bad(text, "IPv4 field has value >255")
        elif char != ".":
            raise _bad(text, "unexpected character", fields[i:])
        elif i in (0, len(fields) - 1) or fields[i - 1] == ".":
            raise _bad(text, "IPv4 field must have at least one digit", fields[i:])
        elif dots == 3:
            raise _bad(text, "IPv4 address too long")
        else:
            value, digits, dots = 0, 0, dots + 1
    if dots < 3:
        raise _bad(text, "IPv4 address too short")


def _check_groups(text: str) -> None:
    """The groups of an IPv6 address (`parseIPv6`)."""
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _bad(text, "zone must be a non-empty string")
    short = rest.startswith("::")
    rest = rest[2:] if short else rest
    size = 0
    while rest and size < 16:
        group = _group(text, rest)
        after = rest[len(group) :]
        if after.startswith("."):
            _check_embedded(text, rest, size, short=short)
            rest, size = "", size + 4
            break
        size, rest = size + 2, after
        if not rest:
            break
        if rest[0] != ":":
            raise _bad(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _bad(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if short:
                raise _bad(text, "multiple :: in address", rest)
            short, rest = True, rest[1:]
    if rest:
        raise _bad(text, "trailing garbage after address", rest)
    if size < 16 and not short:
        raise _bad(text, "address string too short")
    if size >= 16 and short:
        raise _bad(text, "the :: must expand to at least one field of zeros")


def _group(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    assert match is not None
    if len(match[0]) > 4:
        raise _bad(text, "each group must have 4 or less digits", rest)
    if not match[0]:
        raise _bad(text, "each colon-separated field must have at least one digit", rest)
    return match[0]


def _check_embedded(text: str, rest: str, size: int, *, short: bool) -> None:
    if not short and size != 12:
        raise _bad(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if size + 4 > 16:
        raise _bad(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_fields(text, rest)
