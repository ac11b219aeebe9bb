"""CEL's own functions and operators (`cel-go/common/stdlib`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
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
    duration,
    equal,
    in_int64,
    in_uint64,
    kind_of,
    timestamp,
)
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote
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
        return _duration(a.nanos + b.nanos)
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return _moment(a.nanos + b.nanos)
    if isinstance(a, Duration) and isinstance(b, Timestamp):
        return _moment(a.nanos + b.nanos)
    raise CelError(NO_OVERLOAD)


def joined(a: list[Any], b: list[Any]) -> list[Any]:
    """Of sets the union; of lists of type `map` the left one with the right one's items put in by key."""
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
        return _duration(a.nanos - b.nanos)
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return _moment(a.nanos - b.nanos)
    if isinstance(a, Duration) and isinstance(b, Duration):
        return _duration(a.nanos - b.nanos)
    raise CelError(NO_OVERLOAD)


def _duration(nanos: int) -> Duration:
    if abs(nanos) > min(DURATION_LIMIT, 2**63 - 1):
        raise CelError("duration overflow")
    return Duration(nanos)


def _moment(nanos: int) -> Timestamp:
    if not TIME_LIMITS[0] <= nanos // 10**9 <= TIME_LIMITS[1]:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


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
    kind = kind_of(a)
    if kind == "int":
        return in_int64(-a)
    if kind == "double":
        return -a
    raise CelError(NO_OVERLOAD)


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
    """An element. Raises CelError where there is none."""
    if isinstance(items, list):
        position = int(key) if isinstance(key, float) and key.is_integer() else key
        if not isinstance(position, int) or isinstance(position, bool):
            raise CelError(f"unsupported index type '{kind_of(key)}' in list")
        if not 0 <= position < len(items):
            raise CelError(f"index out of bounds: {position}")
        return items[position]
    if isinstance(items, dict):
        if not _has_key(items, key):
            raise CelError(f"no such key: {shown(key)}")
        return items[key]
    if isinstance(items, Optional):
        return Optional(True, index(items.value, key)) if items.present else items
    raise CelError(NO_OVERLOAD)


def shown(value: Any) -> str:
    """A value in an error message."""
    return goprint.plain(value)


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


# --- conversions -----------------------------------------------------------------------------------------------------


def to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            raise CelError(f"strconv.ParseInt: parsing {go_quote(value)}: invalid syntax")
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise CelError(f"strconv.ParseInt: parsing {go_quote(value)}: value out of range")
        return number
    if isinstance(value, float):
        if math.isnan(value) or not -(2**63) < value < 2**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, Timestamp):
        return value.nanos // 10**9
    if isinstance(value, Duration):
        return value.nanos
    return in_int64(int(value))


def to_uint(value: Any) -> UInt:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+", value):
            raise CelError(f"strconv.ParseUint: parsing {go_quote(value)}: invalid syntax")
        return in_uint64(int(value))
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        raise CelError("unsigned integer overflow")
    return in_uint64(int(value))


def to_double(value: Any) -> float:
    if isinstance(value, str):
        try:
            if "_" in value or value != value.strip():
                raise ValueError
            return float(value)
        except ValueError:
            raise CelError(f"strconv.ParseFloat: parsing {go_quote(value)}: invalid syntax") from None
    return float(value)


def to_string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (
            goprint.number(value) if math.isfinite(value) else {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
        )
    return str(value)


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "true", "TRUE", "True", "T"):
        return True
    if value in ("0", "f", "false", "FALSE", "False", "F"):
        return False
    raise CelError(f"strconv.ParseBool: parsing {go_quote(value)}: invalid syntax")


def to_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int):
        return _moment(value * 10**9)
    found = timestamp(value)
    if found is None:
        why = f'cannot parse {go_quote(value)} as "2006"' if not re.match(r"\d{4}", value) else "bad time"
        raise CelError(f'parsing time {go_quote(value)} as "2006-01-02T15:04:05Z07:00": {why}')
    return found


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, int):
        return _duration(value)
    found = duration(value)
    if found is None:
        raise CelError(f"time: invalid duration {go_quote(value)}")
    return found


# --- times -----------------------------------------------------------------------------------------------------------


def _offset(zone: str) -> int:
    match = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", zone)
    if match:
        seconds = int(match[2]) * 3600 + int(match[3]) * 60
        return -seconds if match[1] == "-" else seconds
    if zone in ("", "UTC", "Local"):
        return 0
    raise CelError(f"unknown time zone {zone}")


def _calendar(read: Callable[[datetime], int]) -> tuple[Callable[[Timestamp], int], Callable[[Timestamp, str], int]]:
    def plain(at: Timestamp) -> int:
        return read(at.at())

    def zoned(at: Timestamp, zone: str) -> int:
        if not re.match(r"[+-]?\d\d:\d\d$", zone) and zone not in ("", "UTC", "Local"):
            from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

            try:
                return read(at.at().astimezone(ZoneInfo(zone)))
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise CelError(f"unknown time zone {zone}") from None
        return read(at.at(_offset(zone)))

    return plain, zoned


_CALENDAR: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_OF_DURATION = {
    "getHours": 3600 * 10**9,
    "getMinutes": 60 * 10**9,
    "getSeconds": 10**9,
    "getMilliseconds": 10**6,
}


def _times() -> list[Overload]:
    found: list[Overload] = []
    for name, read in _CALENDAR.items():
        plain, zoned = _calendar(read)
        id = f"timestamp_to_{name[3:].lower()}"
        found.append(overload(name, id, "timestamp.() -> int", plain))
        found.append(overload(name, f"{id}_with_tz", "timestamp.(string) -> int", zoned))
    found.append(
        overload("getMilliseconds", "timestamp_to_ms", "timestamp.() -> int", lambda at: at.nanos // 10**6 % 1000)
    )
    for name, unit in _OF_DURATION.items():
        found.append(overload(name, f"duration_to_{name[3:].lower()}", "duration.() -> int", _whole(unit, name)))
    return found


def _whole(unit: int, name: str) -> Callable[[Duration], int]:
    def whole(span: Duration) -> int:
        count = abs(span.nanos) // unit
        return count if span.nanos >= 0 else -count

    return whole


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
_IDS = {"int": "int64", "uint": "uint64"}


def _ordered(function: str, word: str, run: Binary) -> list[Overload]:
    rows = [(f"{word}_{_IDS.get(one, one)}", f"({one}, {one}) -> bool") for one in _ORDERED]
    rows += [(f"{word}_{_IDS.get(a, a)}_{_IDS.get(b, b)}", f"({a}, {b}) -> bool") for a, b in _CROSS]
    return _binary(function, run, *rows)


def _conversions() -> list[Overload]:
    table: tuple[tuple[str, Callable[[Any], Any], str], ...] = (
        ("int", to_int, "int double duration string timestamp uint"),
        ("uint", to_uint, "uint double int string"),
        ("double", to_double, "double int string uint"),
        ("bool", to_bool, "bool string"),
        ("string", to_string, "string bool bytes double duration int timestamp uint"),
        ("bytes", to_bytes, "bytes string"),
        ("timestamp", to_timestamp, "timestamp int string"),
        ("duration", to_duration, "duration int string"),
    )
    found = []
    for target, run, sources in table:
        for source in sources.split():
            id = f"{_IDS.get(source, source)}_to_{_IDS.get(target, target)}"
            found.append(overload(target, id, f"({source}) -> {target}", run))
    return found


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
    *_conversions(),
    overload("type", "type", "(A) -> type(A)", lambda value: Type("type", (), kind_of(value))),
    overload("dyn", "to_dyn", "(A) -> dyn", lambda value: value),
    overload("contains", "contains_string", "string.(string) -> bool", lambda text, part: part in text),
    overload("endsWith", "ends_with_string", "string.(string) -> bool", lambda text, end: text.endswith(end)),
    overload("startsWith", "starts_with_string", "string.(string) -> bool", lambda text, head: text.startswith(head)),
    overload("matches", "matches", "(string, string) -> bool", matches),
    overload("matches", "matches_string", "string.(string) -> bool", matches),
    *_times(),
]  # fmt: skip
