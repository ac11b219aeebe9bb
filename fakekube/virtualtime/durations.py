"""Lengths of time: seconds, a timedelta, or Kubernetes' own words ("1h30m"), as integer microseconds."""

import re
from datetime import timedelta
from math import isfinite

Duration = float | timedelta | str

SECOND = 1_000_000

#: The units that are arguments, as timedelta's.
UNITS = frozenset({"weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds"})

#: The units of Go's time.ParseDuration, in microseconds (operators' flags and CRDs speak it).
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 1000, "us": 1, "µs": 1}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs)")


def microseconds(duration: Duration = 0, **units: float) -> int:
    """The length in microseconds; `units` are those of timedelta (hours=, minutes=, ...).

    Raises ValueError for a negative or unreadable one: virtual time does not run backwards. TypeError for what is none.
    """
    if unknown := sorted(units.keys() - UNITS):
        raise TypeError(f"no unit of time: {', '.join(unknown)} (there are {', '.join(sorted(UNITS))})")
    length = _plain(duration) + (timedelta(**units) // timedelta(microseconds=1) if units else 0)
    if length < 0:
        raise ValueError(f"time does not run backwards: {duration!r} {units or ''}".rstrip())
    return length


def _plain(duration: Duration) -> int:
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if isinstance(duration, str):
        return _go(duration)
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f'a duration is seconds, a timedelta or "1h30m", not {duration!r}')
    if not isfinite(duration):
        raise ValueError(f"not a duration: {duration!r}")
    return round(duration * SECOND)


def _go(text: str) -> int:
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise ValueError(f'not a duration: {text!r} (write it as "1h30m", "90s", "250ms")')
    return round(sum(float(number) * _UNITS[unit] for number, unit in parts))
