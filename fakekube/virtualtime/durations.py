"""Durations: seconds, a timedelta or Go's notation ("1h30m"), as integer microseconds."""

import re
import sys
from datetime import datetime, timedelta
from math import isfinite
from typing import TypedDict, Unpack

Duration = float | timedelta | str

SECOND = 1_000_000


class TimeUnits(TypedDict, total=False):
    """The keyword arguments of `datetime.timedelta`."""

    weeks: float
    days: float
    hours: float
    minutes: float
    seconds: float
    milliseconds: float
    microseconds: float


#: From the epoch of clocks to the end of the year 9999, in which times end.
_LONGEST = (datetime.max - datetime(2026, 1, 1)) // timedelta(microseconds=1)

#: The units of Go's time.ParseDuration in microseconds, as flags and custom resources use them.
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 1000, "us": 1, "µs": 1}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs)")


def microseconds(duration: Duration = 0, **units: Unpack[TimeUnits]) -> int:
    """The duration in microseconds; `units` are added to it.

    Raises ValueError for a negative or malformed duration, TypeError for an unknown unit or a value of another type.
    """
    if unknown := sorted(units.keys() - TimeUnits.__annotations__.keys()):
        raise TypeError(
            f"unknown unit of time: {', '.join(unknown)} (accepted: {', '.join(TimeUnits.__annotations__)})"
        )
    try:
        length = _plain(duration) + (timedelta(**units) // timedelta(microseconds=1) if units else 0)
    except OverflowError:
        length = sys.maxsize
    if length < 0:
        raise ValueError(f"negative duration: {duration!r} {units or ''}".rstrip())
    if length > _LONGEST:
        raise ValueError(
            f"duration out of range: {duration!r} {units or ''}".rstrip() + " (times end with the year 9999)"
        )
    return length


def _plain(duration: Duration) -> int:
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if isinstance(duration, str):
        return _parse(duration)
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f'a duration is a number of seconds, a timedelta or text like "1h30m", not {duration!r}')
    if not isfinite(duration):
        raise ValueError(f"not a duration: {duration!r} (it must be finite)")
    return round(duration * SECOND)


def _parse(text: str) -> int:
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise ValueError(f'not a duration: {text!r} (write it as "1h30m", "90s" or "250ms")')
    return round(sum(float(number) * _UNITS[unit] for number, unit in parts))
