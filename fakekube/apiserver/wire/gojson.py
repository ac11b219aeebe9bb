"""JSON as Go's `encoding/json` writes it, and the words of its errors."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import orjson

#: Characters that Go's JSON escapes so that it can be embedded in HTML.
_HTML = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def escaped(text: str) -> str:
    """JSON with the signs of HTML and the line separators escaped, as Go's `json.Marshal` does."""
    return text.translate(_HTML)


class Pairs(list[tuple[str, Any]]):
    """The fields of an object in the order of the document, repeated ones included."""


class WholeFloat(int):
    """A whole number of a body that Go holds as a float64 until the object is stored: `1.0`."""


def is_number(value: Any) -> bool:
    """Whether a decoded value is a number; booleans, which Python counts among the integers, are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def sorted_members(value: Any) -> Any:
    """A map with its keys in order, as Go encodes it; other values unchanged."""
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def go_json(value: Any) -> str:
    """JSON as Go's `json.Marshal` writes a map: keys sorted, floats without a fraction as integers."""
    return json.dumps(_whole(value), separators=(",", ":"), ensure_ascii=False, sort_keys=True).translate(_HTML)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))  # its shortest digits, not its exact value
    return value


def go_json_ordered(value: Any) -> str:
    """JSON as Go's `json.Marshal` writes a struct: keys in the order of `value`."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_HTML)


def fields_kept(obj: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """The fields of a stored object that another object has as the same JSON."""
    return {key: stored[key] for key, value in obj.items() if key in stored and is_same(value, stored[key])}


def is_same(value: Any, other: Any) -> bool:
    """Whether two values are the same JSON, with the fields of maps in any order.

    1, 1.0 and true differ, and so do 1 and `WholeFloat(1)`.
    """
    if value is other:
        return True
    kind = type(value)
    if kind is not type(other) or value != other:
        return False
    # what is equal can still differ in the types of numbers
    return (kind is not dict and kind is not list) or _comparable(value) == _comparable(other)


def _comparable(value: Any) -> Any:
    """What is equal for the same JSON only: JSON with sorted fields, in which each `WholeFloat` is a float."""
    try:
        return orjson.dumps(value, default=float, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:  # integers beyond 64 bits, surrogates
        return _with_types(value)


def _with_types(value: Any) -> Any:
    """The value with the type of each scalar."""
    if isinstance(value, dict):
        return {key: _with_types(one) for key, one in value.items()}
    return [_with_types(one) for one in value] if isinstance(value, list) else (type(value), value)


# --- numbers ---------------------------------------------------------------------------------------------------------

#: Text, or a number that Go writes without its exponent: in orjson's output.
_EXPONENT = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9.]+e\+(?:1[0-9]|20)(?![0-9])')

#: Looked for as a number: one byte is found far faster than two, and than a text of one.
_PLUS = ord("+")


def encode(value: Any, *, sorted_keys: bool = False) -> bytes:
    """JSON with the numbers as Go writes them: with an exponent from 1e21 on. `sorted_keys`: as Go writes maps."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sorted_keys else None)
    return _EXPONENT.sub(_without_exponent, text) if _PLUS in text and b"e+" in text else text


def _without_exponent(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return found if found[:1] == b'"' else format(Decimal(found.decode()), "f").encode()


def with_go_numbers(value: Any) -> Any:
    """The value with its numbers as a Go map has them when it is read from storage: int64 if they are whole and fit,
    else float64. Returns `value` itself if nothing changes."""
    return _with_numbers(value, int)


def with_body_numbers(value: Any) -> Any:
    """The value with its numbers as a Go map has them when it is read from a JSON body: whole floats stay floats."""
    return _with_numbers(value, WholeFloat)


_NO_NUMBERS = frozenset({str, bool, type(None)})


def _with_numbers(value: Any, whole: type[int]) -> Any:
    kind = type(value)
    if kind is dict:
        changed = {}
        for key, one in value.items():  # a comprehension calls a function for each map before Python 3.12
            if type(one) not in _NO_NUMBERS and (new := _with_numbers(one, whole)) is not one:
                changed[key] = new
        return {**value, **changed} if changed else value
    if kind is list:
        made: list[Any] | None = None
        for i, one in enumerate(value):
            if type(one) not in _NO_NUMBERS and (new := _with_numbers(one, whole)) is not one:
                made = made if made is not None else list(value)
                made[i] = new
        return value if made is None else made
    if (
        kind is float and value.is_integer() and -(2.0**63) < value < 2.0**63
    ):  # Go writes -2**63 as -9223372036854776000
        return whole(value)
    if kind is int and not -(2**63) <= value < 2**63:
        return float(value)
    return int(value) if kind is WholeFloat else value


# --- syntax errors ---------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SPACE = " \t\r\n"
_END = "unexpected end of JSON input"


class _Problem(Exception):
    pass


class _Scanner:
    """Scans the text and stops at the first character that Go does not accept."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def scan(self) -> None:
        self.value()
        self.space()
        if self.at < len(self.text):
            self.wrong("after top-level value")

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def peek(self) -> str:
        self.space()
        if self.at >= len(self.text):
            raise _Problem(_END)
        return self.text[self.at]

    def wrong(self, where: str) -> None:
        if self.at >= len(self.text):
            raise _Problem(_END)
        raise _Problem(f"invalid character {quote_char(self.text[self.at])} {where}")

    def value(self) -> None:
        char = self.peek()
        if char == "{":
            self.object()
        elif char == "[":
            self.array()
        elif char == '"':
            self.string()
        elif char in "-0123456789":
            self.number()
        elif char in "tfn":
            self.literal({"t": "true", "f": "false", "n": "null"}[char])
        else:
            self.wrong("looking for beginning of value")

    def object(self) -> None:
        self.at += 1
        if self.peek() == "}":
            self.at += 1
            return
        while True:
            if self.peek() != '"':
                self.wrong("looking for beginning of object key string")
            self.string()
            if self.peek() != ":":
                self.wrong("after object key")
            self.at += 1
            self.value()
            if self.peek() == "}":
                self.at += 1
                return
            if self.peek() != ",":
                self.wrong("after object key:value pair")
            self.at += 1

    def array(self) -> None:
        self.at += 1
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            self.value()
            if self.peek() == "]":
                self.at += 1
                return
            if self.peek() != ",":
                self.wrong("after array element")
            self.at += 1

    def string(self) -> None:
        self.at += 1
        while True:
            if self.at >= len(self.text):
                raise _Problem(_END)
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char < " ":
                self.wrong("in string literal")
            self.at += 1
            if char == "\\":
                self.escape()

    def escape(self) -> None:
        if self.at >= len(self.text) or self.text[self.at] not in 'bfnrt\\/"u':
            self.wrong("in string escape code")
        if self.text[self.at] == "u":
            for _ in range(4):
                self.at += 1
                if self.at >= len(self.text) or self.text[self.at] not in "0123456789abcdefABCDEF":
                    self.wrong("in \\u hexadecimal character escape")
        self.at += 1

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if not match:
            self.at += 1
            self.wrong("in numeric literal")
            return
        self.at = match.end()
        rest = self.text[self.at : self.at + 1]
        if rest and rest in ".eE":
            self.at += 1
            if rest != "." and self.text[self.at : self.at + 1] in ("+", "-"):
                self.at += 1
            self.wrong("after decimal point in numeric literal" if rest == "." else "in exponent of numeric literal")

    def literal(self, word: str) -> None:
        for i, expected in enumerate(word):
            if self.at >= len(self.text):
                raise _Problem(_END)
            if self.text[self.at] != expected:
                self.wrong(f"in literal {word} (expecting {quote_char(expected)})" if i else "")
            self.at += 1


#: Characters that Go writes in another form between single quotes.
_QUOTED = {
    "'": "\\'",
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote_char(char: str) -> str:
    """A byte, as a character in single quotes, with Go's escapes (`quoteChar`)."""
    escape = "\\x{:02x}" if char < "\x80" else "\\u{:04x}"
    return f"'{_QUOTED.get(char) or (char if char.isprintable() else escape.format(ord(char)))}'"


def syntax_problem(data: bytes) -> str | None:
    """Go's message for the first syntax error; None if the data are valid JSON. Go reports a byte as a character."""
    try:
        _Scanner(data.decode("latin-1")).scan()
    except _Problem as problem:
        return str(problem)
    except RecursionError:
        return "exceeded max depth"
    return None


def type_name(value: object) -> str:
    """The name of a JSON value's type in Go's `cannot unmarshal ... into`."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def not_an_object(value: object) -> str:
    """The error of Kubernetes' decoder for a JSON value that is not an object (`serializer/json.SimpleMetaFactory`)."""
    return (
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {type_name(value)} into Go value of type "
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    )
