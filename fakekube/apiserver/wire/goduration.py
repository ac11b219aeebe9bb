"""Durations as Go writes them, such as `1h30m` (`time.ParseDuration`)."""

from __future__ import annotations

import re

from fakekube.apiserver.wire.goprint import go_quote

_UNITS = {
    "ns": 10**-9,
    "us": 10**-6,
    "µs": 10**-6,
    "μs": 10**-6,
    "ms": 10**-3,
    "s": 1,
    "m": 60,
    "h": 3600,
}

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")

#: The largest duration in seconds: 64 bits of nanoseconds.
_LONGEST = 2**63 / 10**9


def parse_duration(text: str) -> float:
    """The seconds of a duration. Raises ValueError with Go's message."""
    invalid = ValueError(f"time: invalid duration {go_quote(text)}")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    if not rest:
        raise invalid
    seconds = 0.0
    while rest:
        part = _PART.match(rest)
        assert part is not None, "every part of the pattern is optional"
        whole, fraction, unit = part.groups()
        if not whole and not fraction:
            raise invalid
        if not unit:
            raise ValueError(f"time: missing unit in duration {go_quote(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
        seconds += float(f"{whole or 0}.{fraction or 0}") * _UNITS[unit]
        if seconds > _LONGEST:
            raise invalid
        rest = rest[part.end() :]
    return -seconds if text.startswith("-") else seconds
