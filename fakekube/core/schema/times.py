"""Timestamps as the API takes and shows them (apimachinery `meta/v1.Time`, `MicroTime`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fakekube.core.status import go_quote

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_MICRO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})(Z|[+-]\d\d:\d\d)")

LAYOUT = '"2006-01-02T15:04:05Z07:00"'
MICRO_LAYOUT = '"2006-01-02T15:04:05.000000Z07:00"'


class InvalidTime(Exception):
    """A text that is no time; the message is Go's."""


def time_text(text: str) -> str:
    """A time in whole seconds, UTC. Raises InvalidTime."""
    match = _RFC3339.fullmatch(text)
    try:
        if not match:
            raise ValueError
        at = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[4].replace('Z', '+00:00')}")
    except ValueError:
        raise InvalidTime(_problem(text, LAYOUT)) from None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def microtime_text(text: str) -> str:
    """A time with exactly six decimals, UTC. Raises InvalidTime."""
    match = _MICRO.fullmatch(text)
    try:
        if not match:
            raise ValueError
        at = datetime.fromisoformat(f"{match[1]}{match[2].replace('Z', '+00:00')}")
    except ValueError:
        raise InvalidTime(_problem(text, MICRO_LAYOUT)) from None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _problem(text: str, layout: str) -> str:
    """`time.ParseError`: what was left when the layout could not go on."""
    rest, element = text, "2006"
    for pattern, name in (
        (r"\d{4}", "2006"), (r"-", "-"), (r"\d\d", "01"), (r"-", "-"), (r"\d\d", "02"), (r"T", "T"), (r"\d\d", "15"),
        (r":", ":"), (r"\d\d", "04"), (r":", ":"), (r"\d\d", "05"), (r"\.\d{6}", ".000000"),
        (r"Z|[+-]\d\d:\d\d", "Z07:00"),
    ):  # fmt: skip
        if name == ".000000" and layout == LAYOUT:
            continue
        match = re.match(pattern, rest)
        element = name
        if not match:
            break
        rest = rest[match.end() :]
    else:
        return f"parsing time {go_quote(text)}: extra text: {go_quote(rest)}"
    return f"parsing time {go_quote(text)} as {layout}: cannot parse {go_quote(rest)} as {go_quote(element)}"
