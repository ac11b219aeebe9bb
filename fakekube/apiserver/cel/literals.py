"""The values of CEL literals (`cel-go/parser/unescape.go`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.tree import UInt


class InvalidLiteral(Exception):
    """A literal with an invalid value; the message is the one of cel-go."""


def _int(text: str) -> int:
    value = int(text, 16 if "0x" in text else 10)
    if not -(2**63) <= value < 2**63:
        raise InvalidLiteral("invalid int literal")
    return value


def _uint(text: str) -> UInt:
    value = int(text[:-1], 16 if text.startswith("0x") else 10)
    if value >= 2**64:
        raise InvalidLiteral("invalid uint literal")
    return UInt(value)


def _double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise InvalidLiteral("invalid double literal")
    return value


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ONE_ESCAPE = re.compile(r"\\([0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def _body(text: str) -> tuple[str, bool]:
    """The text between the quotes, and whether it is a raw string."""
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _string(text: str) -> str:
    body, raw = _body(text)

    def resolve(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xX" or (code[0] in "uU" and len(code) > 1):
            number = int(code[1:], 16)
        elif len(code) == 3:  # an octal number
            number = int(code, 8)
        else:
            return _ESCAPES.get(code, code)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise InvalidLiteral("invalid unicode code point")
        return chr(number)

    return body if raw else _ONE_ESCAPE.sub(resolve, body)


def _bytes(text: str) -> bytes:
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    made = bytearray()
    at = 0
    for match in _ONE_ESCAPE.finditer(body):
        made += body[at : match.start()].encode()
        at, code = match.end(), match[1]
        if code[0] in "xX":
            made.append(int(code[1:], 16))
        elif len(code) == 3:  # an octal number
            made.append(int(code, 8))
        elif code[0] in "uU" and len(code) > 1:
            raise InvalidLiteral("unable to unescape string")
        else:
            made += _ESCAPES.get(code, code).encode()
    return bytes(made + body[at:].encode())


LITERALS: dict[str, Callable[[str], Any]] = {
    "NUM_INT": _int,
    "NUM_UINT": _uint,
    "NUM_FLOAT": _double,
    "STRING": _string,
    "BYTES": _bytes,
    "true": lambda text: True,
    "false": lambda text: False,
    "null": lambda text: None,
}
