"""JSON values as Go's `fmt` and `strconv` print them, for the error messages of the real server."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.wire.gojson import WholeFloat, go_json

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"} | {
    "\f": "\\f",
    "\v": "\\v",
}


def go_quote(text: str) -> str:
    """A text in double quotes, with Go's escapes (`strconv.Quote`)."""
    out = ['"']
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        elif ord(char) <= 0xFFFF:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(f"\\U{ord(char):08x}")
    out.append('"')
    return "".join(out)


class Literal:
    """A value with its literal in Go, which field errors showed before 1.34 (`%#v`)."""

    def __init__(self, literal: str, value: Any) -> None:
        self.literal: str = literal
        self.value: Any = value


def labels_literal(labels: dict[str, str] | None) -> Literal:
    if not labels:
        return Literal("map[string]string(nil)" if labels is None else "map[string]string{}", labels)
    return Literal(_before(labels) or "", labels)


def untyped_literal(value: Any) -> Any:
    """A map or a list of a custom resource with its literal; other values as they are."""
    return Literal(_untyped(value), value) if isinstance(value, dict | list) else value


def _untyped(value: Any) -> str:
    if isinstance(value, dict):
        members = ", ".join(f"{go_quote(key)}:{_untyped(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_untyped, value)) + "}"
    return "interface {}(nil)" if value is None else quoted(value)


def naming(field: str, why: str) -> str:
    """What a field must be: before 1.34 the text named the field once more."""
    return why if since(34) else f"{field} {why}"


def selector_literal(selector: dict[str, Any]) -> str:
    """A LabelSelector as field errors showed it before 1.34 (`%#v`)."""
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    shown = labels_literal(labels).literal
    wanted = "(nil)" if expressions is None else "{" + ", ".join(map(_requirement, expressions)) + "}"
    return f"v1.LabelSelector{{MatchLabels:{shown}, MatchExpressions:[]v1.LabelSelectorRequirement{wanted}}}"


def _requirement(given: dict[str, Any]) -> str:
    key, operator = (go_quote(given.get(field) or "") for field in ("key", "operator"))
    values = "[]string(nil)" if given.get("values") is None else _before(given["values"])
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"


def _before(value: Any) -> str | None:
    """Lists, maps and times as field errors show them before 1.34 (`%#v`); None: as later versions do."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "[]string{" + ", ".join(map(go_quote, value)) + "}"
    if isinstance(value, dict) and value and all(isinstance(one, str) for one in value.values()):
        pairs = (f"{go_quote(key)}:{go_quote(value[key])}" for key in sorted(value))
        return "map[string]string{" + ", ".join(pairs) + "}"
    return None


def quoted(value: Any) -> str:
    """A value in a field error: strings are quoted, booleans and numbers are not."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, Literal):
        return quoted(value.value) if since(34) else value.literal
    if value is None:
        return "null" if since(34) else '"null"'
    if not since(34) and (text := _before(value)) is not None:
        return text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return go_json(value)
    return general(value) if isinstance(value, float | WholeFloat) else str(value)


def plain(value: Any) -> str:
    """%v: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{plain(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(plain(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, WholeFloat):
        return general(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return general(float(value))  # as Go decodes it
    return number(value) if isinstance(value, float) else str(value)


def syntax(value: Any) -> str:
    """%#v: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(key)}:{syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(syntax(item) for item in value)}}}"
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, bytes):
        return f"[]uint8{{{', '.join(f'0x{one:x}' for one in value)}}}"
    return plain(value)


def type_of(value: Any) -> str:
    """%T."""
    if value is None:
        return "<nil>"
    return TYPES[type(value)]


TYPES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    WholeFloat: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def number(value: float) -> str:
    """%v of a float64. Whole numbers that an int64 holds are printed as integers, as Go decodes them from JSON."""
    if math.isfinite(value) and value == int(value) and abs(value) < 2**63:
        return f"{value:.0f}"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return general(value)


def general(value: float) -> str:
    """%g of a float64: the shortest representation, with an exponent below -4 and from 6 on: `1e+06`."""
    if not math.isfinite(value):
        return number(value)
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent - 1
    shown = "".join(map(str, digits))
    if value and not -4 <= point < 6:
        text = f"{shown[0]}{'.' if shown[1:] else ''}{shown[1:]}e{point:+03d}"
    else:
        text = f"{Decimal((0, digits, exponent)):f}"
    return f"-{text}" if sign else text
