"""The type conversions of CEL, and the accessors of timestamps and durations (`cel-go/common/stdlib`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.library.standard import TYPE_IDS, checked_duration, checked_timestamp
from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.values import CelError, Duration, Timestamp, duration, in_int64, in_uint64, timestamp
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote


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
        return checked_timestamp(value * 10**9)
    found = timestamp(value)
    if found is None:
        why = f'cannot parse {go_quote(value)} as "2006"' if not re.match(r"\d{4}", value) else "bad time"
        raise CelError(f'parsing time {go_quote(value)} as "2006-01-02T15:04:05Z07:00": {why}')
    return found


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, int):
        return checked_duration(value)
    found = duration(value)
    if found is None:
        raise CelError(f"time: invalid duration {go_quote(value)}")
    return found


# --- times ------------------------------------------------------------------------------------------------------------


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
            from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # imported on use, as few expressions need it

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
