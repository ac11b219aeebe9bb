"""The type conversions of CEL, and the accessors of timestamps and durations (`cel-go/common/stdlib`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.library.standard import TYPE_IDS, checked_timestamp
from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.values import (
    NO_OVERLOAD,
    CelError,
    Duration,
    Timestamp,
    duration,
    in_int64,
    in_uint64,
    kind_of,
    timestamp,
)
from fakekube.apiserver.wire import goprint

_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?)|nan", re.IGNORECASE)


def _failed(value: Any, target: str) -> CelError:
    return CelError(f"type conversion error from '{kind_of(value)}' to '{target}'")


def _of_null(target: str) -> CelError:
    return CelError(f"{NO_OVERLOAD}: {target}(null_type)")


def to_int(value: Any) -> int:
    if value is None:
        raise _of_null("int")
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,4000}", value) else 2**63
        if not -(2**63) <= number < 2**63:
            raise _failed(value, "int")
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
        number = int(value) if re.fullmatch(r"[0-9]{1,4000}", value) else 2**64
        if number >= 2**64:
            raise _failed(value, "uint")
        return UInt(number)
    if isinstance(value, float) and not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return in_uint64(int(value))


def to_double(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if _HEX_FLOAT.fullmatch(value):
        found = float.fromhex(value)
    elif _FLOAT.fullmatch(value):
        found = float(value)
    else:
        raise _failed(value, "double")
    if math.isinf(found) and "inf" not in value.lower():
        raise _failed(value, "double")
    return found


def to_string(value: Any) -> str:
    if value is None:
        raise _of_null("string")
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    return goprint.general(value) if isinstance(value, float) else str(value)


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "true", "TRUE", "True", "T"):
        return True
    if value in ("0", "f", "false", "FALSE", "False", "F"):
        return False
    raise _failed(value, "bool")


def to_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int):
        return checked_timestamp(value * 10**9)
    found = timestamp(value) if isinstance(value, str) else None
    if found is None:
        raise _failed(value, "google.protobuf.Timestamp")
    return found


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    found = duration(value) if isinstance(value, str) else None
    if found is None:
        raise _failed(value, "google.protobuf.Duration")
    return found


# --- times ------------------------------------------------------------------------------------------------------------


def _offset(zone: str) -> int:
    """The seconds of an offset such as `-08:30`. Raises CelError."""
    parts = zone.split(":", 1)
    for part in parts:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", part):
            raise CelError(f"strconv.Atoi: parsing {goprint.go_quote(part)}: invalid syntax")
    hours, minutes = int(parts[0]), int(parts[1])
    return 60 * (hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes)


def _local(at: Timestamp, zone: str) -> datetime:
    """The date and time in a named zone or at an offset (`inTimeZone`). Raises CelError."""
    if ":" in zone:
        return at.at(_offset(zone))
    if zone[:1] in ("/", "\\") or ".." in zone:
        raise CelError("time: invalid location name")
    if zone in ("", "UTC", "Local"):
        return at.at()
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # imported on use, as few expressions need it

    try:
        return at.at().astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {zone}") from None


def _calendar(read: Callable[[datetime], int]) -> tuple[Callable[[Timestamp], int], Callable[[Timestamp, str], int]]:
    return lambda at: read(at.at()), lambda at, zone: read(_local(at, zone))


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
            id = f"{TYPE_IDS.get(source, source)}_to_{TYPE_IDS.get(target, target)}"
            found.append(overload(target, id, f"({source}) -> {target}", run))
    return found


OVERLOADS: list[Overload] = [*_conversions(), *_times()]
