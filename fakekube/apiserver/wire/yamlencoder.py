"""Encodes JSON values as YAML, as `sigs.k8s.io/yaml` does with its fork of go-yaml v2 (`encode.go`, `sorter.go`).

PyYAML's emitter is used with nodes of plain text: the style of each scalar is decided here.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import yaml

from fakekube.apiserver.wire.goprint import general
from fakekube.apiserver.wire.goyaml import is_text

_BASE = getattr(yaml, "CBaseDumper", yaml.BaseDumper)
_TEXT = "tag:yaml.org,2002:str"

_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))"
    r"|(?: [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?))?"
)


def encode(value: Any) -> bytes:
    """A JSON value as a YAML document with sorted keys."""
    text: bytes = yaml.serialize(_node(value), Dumper=_BASE, allow_unicode=True, encoding="utf-8")
    return text


def _node(value: Any) -> yaml.Node:
    if isinstance(value, dict):
        pairs = [(_text(key), _node(value[key])) for key in _sorted(value)]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
    if isinstance(value, list | tuple):
        return yaml.SequenceNode("tag:yaml.org,2002:seq", [_node(item) for item in value], flow_style=False)
    if isinstance(value, str):
        return _text(value)
    if value is None:
        plain = "null"
    elif isinstance(value, bool):
        plain = "true" if value else "false"
    elif isinstance(value, float) and (value != int(value) or abs(value) >= 2**64):
        plain = general(value)
    else:
        plain = str(int(Decimal(repr(value))))
    return yaml.ScalarNode(_TEXT, plain)


def _text(text: str) -> yaml.ScalarNode:
    if "\n" in text:
        return yaml.ScalarNode(_TEXT, text, style="|")
    return yaml.ScalarNode(_TEXT, text, style=None if _reads_as_text(text) else '"')


def _reads_as_text(text: str) -> bool:
    """Whether the plain scalar is a string for every YAML parser."""
    if not is_text(text):
        return text == "<<"
    if not ("0" <= text[0] <= "9" or text[0] in "+-"):
        return True
    return not _BASE_60.fullmatch(text) and not _is_time(text)


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if not found:
        return False
    try:
        date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


# --- the order of keys -----------------------------------------------------------------------------------------------


def _sorted(keys: Any) -> list[str]:
    """The keys in go-yaml's order: numbers within them by value, letters after other characters."""
    found = list(keys)
    if all(key.isalpha() for key in found):
        return sorted(found)
    return sorted(found, key=cmp_to_key(_compare))


def _compare(a: str, b: str) -> int:
    if a == b:
        return 0
    for i, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return -1 if _is_less(a, b, i) else 1
    return -1 if len(a) < len(b) else 1


def _is_less(a: str, b: str, at: int) -> bool:
    """Whether `a` is before `b`, which differ first at a position."""
    one, other = a[at], b[at]
    if one.isalpha() and other.isalpha():
        return one < other
    if one.isalpha() or other.isalpha():
        return other.isalpha()
    within = "0" in (one, other) and bool(re.search(r"[1-9][0-9]*$", a[:at]))
    first, second = _digits(a, at), _digits(b, at)
    values = (int(("1" if within else "") + first or "0"), int(("1" if within else "") + second or "0"))
    if values[0] != values[1]:
        return values[0] < values[1]
    if len(first) != len(second):
        return len(first) < len(second)
    return one < other


def _digits(text: str, at: int) -> str:
    found = re.match(r"[0-9]*", text[at:])
    return found[0] if found else ""
