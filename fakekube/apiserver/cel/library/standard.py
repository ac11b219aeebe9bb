"""The standard functions and operators of CEL (`cel-go/common/stdlib`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.cel.values import (
    DURATION_LIMIT,
    NO_OVERLOAD,
    TIME_LIMITS,
    CelError,
    Duration,
    MapList,
    Optional,
    SetList,
    Timestamp,
    compare,
    contains,
    equal,
    go_type,
    in_int64,
    in_uint64,
    kind_of,
)
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goregexp import BadPattern, compiled

Binary = Callable[[Any, Any], Any]


# --- arithmetic ------------------------------------------------------------------------------------------------------


def add(a: Any, b: Any) -> Any:
    kinds = kind_of(a), kind_of(b)
    if kinds == ("int", "int"):
        return in_int64(a + b)
    if kinds == ("list", "list"):
        return joined(a, b)
    if kinds[0] == kinds[1] and kinds[0] in ("double", "string", "bytes"):
        return a + b
    if kinds == ("uint", "uint"):
        return in_uint64(int(a) + int(b))
    if isinstance(a, Duration) and isinstance(b, Duration):
        return checked_duration(a.nanos + b.nanos)
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return checked_timestamp(a.nanos + b.nanos, a.offset)
    if isinstance(a, Duration) and isinstance(b, Timestamp):
        return checked_timestamp(a.nanos + b.nanos, b.offset)
    raise CelError(NO_OVERLOAD)


def joined(a: list[Any], b: list[Any]) -> list[Any]:
    """Concatenates lists. Sets are united; lists of type `map` are merged by key."""
    if isinstance(a, SetList):
        return SetList([*a, *(one for i, one in enumerate(b) if not contains(a, one) and not contains(b[:i], one))])
    if isinstance(a, MapList):
        theirs = {a.key_of(one): one for one in b}
        mine = {a.key_of(one) for one in a}
        kept = [theirs.get(a.key_of(one), one) for one in a]
        return MapList([*kept, *(one for one in b if a.key_of(one) not in mine)], a.keys)
    return [*a, *b]


def subtract(a: Any, b: Any) -> Any:
    kinds = kind_of(a), kind_of(b)
    if kinds == ("int", "int"):
        return in_int64(a - b)
    if kinds == ("double", "double"):
        return a - b
    if kinds == ("uint", "uint"):
        return in_uint64(int(a) - int(b))
    if isinstance(a, Timestamp) and isinstance(b, Timestamp):
        return checked_duration(a.nanos - b.nanos)
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return checked_timestamp(a.nanos - b.nanos, a.offset)
    if isinstance(a, Duration) and isinstance(b, Duration):
        return checked_duration(a.nanos - b.nanos)
    raise CelError(NO_OVERLOAD)


def checked_duration(nanos: int) -> Duration:
    """A duration. Raises CelError on overflow."""
    if abs(nanos) > min(DURATION_LIMIT, 2**63 - 1):
        raise CelError("duration overflow")
    return Duration(nanos)


def checked_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    """A timestamp. Raises CelError on overflow."""
    if not TIME_LIMITS[0] <= nanos // 10**9 <= TIME_LIMITS[1]:
        raise CelError("timestamp overflow")
    return Timestamp(nanos, offset)


def multiply(a: Any, b: Any) -> Any:
    kinds = kind_of(a), kind_of(b)
    if kinds == ("int", "int"):
        return in_int64(a * b)
    if kinds == ("double", "double"):
        return a * b
    if kinds == ("uint", "uint"):
        return in_uint64(int(a) * int(b))
    raise CelError(NO_OVERLOAD)


def divide(a: Any, b: Any) -> Any:
    kinds = kind_of(a), kind_of(b)
    if kinds == ("double", "double"):
        if b:
            return a / b
        return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    if kinds not in (("int", "int"), ("uint", "uint")):
        raise CelError(NO_OVERLOAD)
    if not b:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return UInt(quotient) if isinstance(a, UInt) else in_int64(quotient)


def modulo(a: Any, b: Any) -> Any:
    if (kind_of(a), kind_of(b)) not in (("int", "int"), ("uint", "uint")):
        raise CelError(NO_OVERLOAD)
    if not b:
        raise CelError("modulus by zero")
    rest = abs(a) % abs(b) * (-1 if a < 0 else 1)
    return UInt(rest) if isinstance(a, UInt) else rest


def negate(a: Any) -> Any:
    return in_int64(-a) if kind_of(a) == "int" else -a


def not_(a: Any) -> Any:
    if not isinstance(a, bool):
        raise CelError(NO_OVERLOAD)
    return not a


def less(a: Any, b: Any) -> bool:
    return compare(a, b) < 0


def less_equal(a: Any, b: Any) -> bool:
    return compare(a, b) <= 0


def greater(a: Any, b: Any) -> bool:
    return compare(a, b) > 0


def greater_equal(a: Any, b: Any) -> bool:
    return compare(a, b) >= 0


def not_equal(a: Any, b: Any) -> bool:
    return not equal(a, b)


def in_(value: Any, items: Any) -> bool:
    if isinstance(items, list):
        return contains(items, value)
    if isinstance(items, dict):
        return _has_key(items, value)
    raise CelError(NO_OVERLOAD)


def _has_key(items: dict[Any, Any], key: Any) -> bool:
    try:
        return key in items and any(equal(key, one) for one in items if one == key)
    except TypeError:
        return False


def index(items: Any, key: Any) -> Any:
    """An element of a list or map. Raises CelError if it does not exist."""
    check_qualifier(key)
    if isinstance(items, list):
        position = list_index(key)
        if not 0 <= position < len(items):
            raise CelError(f"index out of bounds: {shown(key)}")
        return items[position]
    if isinstance(items, dict):
        if not _has_key(items, key):
            raise CelError(f"no such key: {shown(key)}")
        return items[key]
    if isinstance(items, Optional):
        return Optional(True, index(items.value, key)) if items.present else items
    raise CelError(f"no such key: {shown(key)}")


def check_qualifier(key: Any) -> None:
    """Raises CelError if values of the type of a key cannot be an index or a key."""
    if not isinstance(key, str | int | float):
        raise CelError(f"invalid qualifier type: {go_type(key)}")


def list_index(key: Any) -> int:
    """The position that a key of a dynamic type denotes. Raises CelError."""
    if isinstance(key, bool) or not isinstance(key, int | float):
        raise CelError(f"unsupported index type '{kind_of(key)}' in list")
    if (isinstance(key, float) and not (key.is_integer() and abs(key) < 2**63)) or key >= 2**63:
        raise CelError(f"unsupported index value {shown(key)} in list")
    return int(key)


def shown(value: Any) -> str:
    """A value in an error message."""
    return goprint.general(value) if isinstance(value, float) else goprint.plain(value)


# --- sizes and strings -----------------------------------------------------------------------------------------------


def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise CelError(NO_OVERLOAD)


def matches(text: str, pattern: str) -> bool:
    try:
        return compiled(pattern).search(text) is not None
    except BadPattern as problem:
        raise CelError(str(problem)) from None


# --- declarations ----------------------------------------------------------------------------------------------------


def _binary(function: str, run: Binary, *rows: tuple[str, str]) -> list[Overload]:
    return [overload(function, id, signature, run) for id, signature in rows]


_ORDERED = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_CROSS = (
    ("int", "double"),
    ("int", "uint"),
    ("uint", "double"),
    ("uint", "int"),
    ("double", "int"),
    ("double", "uint"),
)
TYPE_IDS = {"int": "int64", "uint": "uint64"}


def _ordered(function: str, word: str, run: Binary) -> list[Overload]:
    rows = [(f"{word}_{TYPE_IDS.get(one, one)}", f"({one}, {one}) -> bool") for one in _ORDERED]
    rows += [(f"{word}_{TYPE_IDS.get(a, a)}_{TYPE_IDS.get(b, b)}", f"({a}, {b}) -> bool") for a, b in _CROSS]
    return _binary(function, run, *rows)


def _sizes() -> list[Overload]:
    found = []
    for kind, shown_type in (("string", "string"), ("bytes", "bytes"), ("list", "list(A)"), ("map", "map(A, B)")):
        found.append(overload("size", f"size_{kind}", f"({shown_type}) -> int", size))
        found.append(overload("size", f"{kind}_size", f"{shown_type}.() -> int", size))
    return found


def _nothing(*args: Any) -> Any:
    raise CelError(NO_OVERLOAD)


OVERLOADS: list[Overload] = [
    overload("_?_:_", "conditional", "(bool, A, A) -> A", _nothing),
    overload("_&&_", "logical_and", "(bool, bool) -> bool", _nothing),
    overload("_||_", "logical_or", "(bool, bool) -> bool", _nothing),
    overload("!_", "logical_not", "(bool) -> bool", not_),
    overload("@not_strictly_false", "not_strictly_false", "(bool) -> bool", _nothing),
    overload("_==_", "equals", "(A, A) -> bool", equal),
    overload("_!=_", "not_equals", "(A, A) -> bool", not_equal),
    *_binary(
        "_+_", add, ("add_bytes", "(bytes, bytes) -> bytes"), ("add_double", "(double, double) -> double"),
        ("add_duration_duration", "(duration, duration) -> duration"),
        ("add_duration_timestamp", "(duration, timestamp) -> timestamp"),
        ("add_timestamp_duration", "(timestamp, duration) -> timestamp"), ("add_int64", "(int, int) -> int"),
        ("add_list", "(list(A), list(A)) -> list(A)"), ("add_string", "(string, string) -> string"),
        ("add_uint64", "(uint, uint) -> uint"),
    ),
    *_binary(
        "_/_", divide, ("divide_double", "(double, double) -> double"), ("divide_int64", "(int, int) -> int"),
        ("divide_uint64", "(uint, uint) -> uint"),
    ),
    *_binary("_%_", modulo, ("modulo_int64", "(int, int) -> int"), ("modulo_uint64", "(uint, uint) -> uint")),
    *_binary(
        "_*_", multiply, ("multiply_double", "(double, double) -> double"), ("multiply_int64", "(int, int) -> int"),
        ("multiply_uint64", "(uint, uint) -> uint"),
    ),
    overload("-_", "negate_double", "(double) -> double", negate),
    overload("-_", "negate_int64", "(int) -> int", negate),
    *_binary(
        "_-_", subtract, ("subtract_double", "(double, double) -> double"),
        ("subtract_duration_duration", "(duration, duration) -> duration"), ("subtract_int64", "(int, int) -> int"),
        ("subtract_timestamp_duration", "(timestamp, duration) -> timestamp"),
        ("subtract_timestamp_timestamp", "(timestamp, timestamp) -> duration"),
        ("subtract_uint64", "(uint, uint) -> uint"),
    ),
    *_ordered("_<_", "less", less),
    *_ordered("_<=_", "less_equals", less_equal),
    *_ordered("_>_", "greater", greater),
    *_ordered("_>=_", "greater_equals", greater_equal),
    overload("_[_]", "index_list", "(list(A), int) -> A", index),
    overload("_[_]", "index_map", "(map(A, B), A) -> B", index),
    overload("@in", "in_list", "(A, list(A)) -> bool", in_),
    overload("@in", "in_map", "(A, map(A, B)) -> bool", in_),
    *_sizes(),
    overload("type", "type", "(A) -> type(A)", lambda value: Type("type", (), kind_of(value))),
    overload("dyn", "to_dyn", "(A) -> dyn", lambda value: value),
    overload("contains", "contains_string", "string.(string) -> bool", lambda text, part: part in text),
    overload("endsWith", "ends_with_string", "string.(string) -> bool", lambda text, end: text.endswith(end)),
    overload("startsWith", "starts_with_string", "string.(string) -> bool", lambda text, head: text.startswith(head)),
    overload("matches", "matches", "(string, string) -> bool", matches),
    overload("matches", "matches_string", "string.(string) -> bool", matches),
]  # fmt: skip
