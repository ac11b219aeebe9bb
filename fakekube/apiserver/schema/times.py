"""Parses and formats timestamps (apimachinery `meta/v1.Time`, `MicroTime`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

#: A fraction of a second is accepted although the layout has none.
_RFC3339 = re.compile(r"(\d{4})(-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO = re.compile(r"(\d{4})(-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})(Z|[+-]\d\d:\d\d)")

LAYOUT = '"2006-01-02T15:04:05Z07:00"'
MICRO_LAYOUT = '"2006-01-02T15:04:05.000000Z07:00"'

#: The Gregorian calendar repeats after 400 years. Dates are shifted because Python's years are limited to 1 to 9999.
_CYCLE = 400

#: Go's zero time, which means that no time is set.
_ZERO = datetime(1 + _CYCLE, 1, 1, tzinfo=UTC)


class InvalidTime(Exception):
    """An invalid time; the message is Go's."""


@lru_cache(maxsize=4096)  # a patch decodes the times of the stored object again
def time_text(text: str) -> str | None:
    """A time in whole seconds, UTC; None for the zero time. Raises InvalidTime."""
    return _text(text, _RFC3339, LAYOUT, "%m-%dT%H:%M:%S")


@lru_cache(maxsize=4096)
def microtime_text(text: str) -> str | None:
    """A time with exactly six decimals, UTC; None for the zero time. Raises InvalidTime."""
    return _text(text, _MICRO, MICRO_LAYOUT, "%m-%dT%H:%M:%S.%f")


def _text(text: str, pattern: re.Pattern[str], layout: str, shown: str) -> str | None:
    match = pattern.fullmatch(text)
    if not match:
        raise InvalidTime(_problem(text, layout))
    year, rest, zone = match.groups()
    shift = _CYCLE if int(year) < 5000 else -_CYCLE
    try:
        at = datetime.fromisoformat(f"{int(year) + shift:04}{rest}{zone.replace('Z', '+00:00')}").astimezone(UTC)
    except ValueError:
        raise InvalidTime(_problem(text, layout)) from None
    return None if at == _ZERO and shift > 0 else f"{at.year - shift:04}-{at.strftime(shown)}Z"


_FREE = ("", (0, 0))

#: The parts of a time in order: pattern, layout element, and the name and range of those with a limit of their own.
_PARTS: tuple[tuple[str, str, str, tuple[int, int]], ...] = (
    (r"\d{4}", "2006", *_FREE),
    (r"-", "-", *_FREE),
    (r"\d\d", "01", "month", (1, 12)),
    (r"-", "-", *_FREE),
    (r"\d\d", "02", *_FREE),
    (r"T", "T", *_FREE),
    (r"\d\d", "15", "hour", (0, 23)),
    (r":", ":", *_FREE),
    (r"\d\d", "04", "minute", (0, 59)),
    (r":", ":", *_FREE),
    (r"\d\d", "05", "second", (0, 59)),
    (r"[.,]\d{6}", ".000000", *_FREE),
    (r"Z|[+-]\d\d:\d\d", "Z07:00", *_FREE),
)


def _problem(text: str, layout: str) -> str:
    """The message of Go's `time.ParseError`: the text that does not match the layout, or the part out of range."""
    rest = text
    for pattern, element, word, (least, most) in _PARTS:
        if element == ".000000" and layout == LAYOUT:
            rest = re.sub(r"^[.,]\d+", "", rest)
            continue
        match = re.match(pattern, rest)
        if not match:
            return f"parsing time {_quote(text)} as {layout}: cannot parse {_quote(rest)} as {_quote(element)}"
        rest = rest[match.end() :]
        if word and not least <= int(match[0]) <= most:
            return f"parsing time {_quote(text)}: {word} out of range"
    if rest:
        return f"parsing time {_quote(text)}: extra text: {_quote(rest)}"
    return f"parsing time {_quote(text)}: day out of range"


def _quote(text: str) -> str:
    """A text in double quotes; control characters and all but ASCII as bytes (Go's `time.quote`)."""
    shown = []
    for char in text:
        if char < " " or char >= "\x80":
            shown += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass")]
        else:
            shown.append(f"\\{char}" if char in '"\\' else char)
    return f'"{"".join(shown)}"'
