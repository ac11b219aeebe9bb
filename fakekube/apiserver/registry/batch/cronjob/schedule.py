"""Schedules of CronJobs: what is wrong with one (`robfig/cron` v3, `ParseStandard`), and names of time zones."""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass, field
from functools import lru_cache

from fakekube.apiserver.wire.goprint import go_quote


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: i for i, name in enumerate(names.split(), first)}


MONTHS = _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)
DAYS = _numbered("sun mon tue wed thu fri sat", 0)


@dataclass(frozen=True, slots=True)
class Bounds:
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)


FIELDS = (Bounds(0, 59), Bounds(0, 23), Bounds(1, 31), Bounds(1, 12, MONTHS), Bounds(0, 6, DAYS))

DESCRIPTORS = frozenset(
    f"@{when}" for when in ("yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly")
)
EVERY = "@every "

MAX_INT64 = 2**63 - 1


class BadSchedule(Exception):
    """The text is not a valid schedule; the message is the API server's."""


def problem_of(schedule: str) -> str:
    """Returns the problem of a schedule; "" if it is valid."""
    try:
        _parse(schedule)
    except BadSchedule as problem:
        return str(problem)
    return ""


def _parse(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, _, schedule = schedule.partition("=")[2].partition(" ")
        wrong = zone_problem(zone)
        if wrong:
            raise BadSchedule(f"provided bad location {zone}: {wrong}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    parts = schedule.split()
    if len(parts) != len(FIELDS):
        found = f"found {len(parts)}: [{' '.join(parts)}]"
        raise BadSchedule(f"expected exactly {len(FIELDS)} fields, {found}")
    for part, bounds in zip(parts, FIELDS, strict=True):
        for one in filter(None, part.split(",")):
            _check_range(one, bounds)


def _check_descriptor(text: str) -> None:
    if text in DESCRIPTORS:
        return
    if not text.startswith(EVERY):
        raise BadSchedule(f"unrecognized descriptor: {text}")
    wrong = duration_problem(text.removeprefix(EVERY))
    if wrong:
        raise BadSchedule(f"failed to parse duration {text}: {wrong}")


def _check_range(text: str, bounds: Bounds) -> None:
    """Checks a range: `*`, `5`, `1-5`, each maybe with `/STEP`."""
    what, *steps = text.split("/")
    low, *highs = what.split("-")
    if low in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = _number(low, bounds.names)
        if len(highs) > 1:
            raise BadSchedule(f"too many hyphens: {text}")
        end = _number(highs[0], bounds.names) if highs else start
    step = 1
    if len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    if steps:
        step = _number(steps[0], {})
        end = end if highs else bounds.high
    _check_bounds(text, start, end, step, bounds)


def _check_bounds(text: str, start: int, end: int, step: int, bounds: Bounds) -> None:
    if start < bounds.low:
        raise BadSchedule(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise BadSchedule(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if not step:
        raise BadSchedule(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    failed = f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}:"
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        raise BadSchedule(f"{failed} invalid syntax")
    if int(text) > MAX_INT64 or int(text) < -MAX_INT64 - 1:
        raise BadSchedule(f"{failed} value out of range")
    if int(text) < 0:
        raise BadSchedule(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


_element = re.compile(r"(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<unit>[^0-9.]*)")
UNITS = frozenset(("ns", "us", "µs", "μs", "ms", "s", "m", "h"))


def duration_problem(text: str) -> str:
    """Returns the problem of a duration (`time.ParseDuration`); "" if it is valid."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return ""
    shown = go_quote(text)
    if not rest:
        return f"time: invalid duration {shown}"
    while rest:
        match = _element.match(rest)
        if match is None:
            return f"time: invalid duration {shown}"
        if not match["unit"]:
            return f"time: missing unit in duration {shown}"
        if match["unit"] not in UNITS:
            return f"time: unknown unit {go_quote(match['unit'])} in duration {shown}"
        rest = rest[match.end() :]
    return ""


@lru_cache(maxsize=1024)
def zone_problem(name: str) -> str:
    """Returns the problem of the name of a time zone (`time.LoadLocation`); "" if it is valid."""
    if name in ("", "UTC", "Local"):
        return ""
    if ".." in name or name[0] in "/\\":
        return "time: invalid location name"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {name}"
    return ""
