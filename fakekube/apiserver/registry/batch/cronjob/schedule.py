"""Schedules of CronJobs (`robfig/cron` v3, `ParseStandard`), and names of time zones."""

from __future__ import annotations

import re
import zoneinfo
from functools import lru_cache

from fakekube.apiserver.wire.goduration import parse_duration
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct, field


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: i for i, name in enumerate(names.split(), first)}


MONTHS = _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)
DAYS = _numbered("sun mon tue wed thu fri sat", 0)


class Bounds(Struct, frozen=True):
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)


FIELDS = (Bounds(0, 59), Bounds(0, 23), Bounds(1, 31), Bounds(1, 12, MONTHS), Bounds(0, 6, DAYS))

DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "

MAX_INT64 = 2**63 - 1


class BadSchedule(Exception):
    """The text is not a valid schedule; the message is the API server's."""


class Values(Struct, frozen=True):
    """The values of a field. `star`: it has a `*` or `?` without a step, which selects any day."""

    chosen: frozenset[int]
    star: bool


#: The values of a field that `@every` does not have.
ANY = Values(frozenset(), True)


class Schedule(Struct, frozen=True):
    """A parsed schedule. `zone` is "" without a time zone of its own, `every` the seconds of `@every`, else 0."""

    zone: str
    every: float = 0.0
    minute: Values = ANY
    hour: Values = ANY
    day: Values = ANY
    month: Values = ANY
    weekday: Values = ANY


def problem_of(schedule: str) -> str:
    """Returns the problem of a schedule; "" if it is valid."""
    try:
        parse_schedule(schedule)
    except BadSchedule as problem:
        return str(problem)
    return ""


def parse_schedule(schedule: str) -> Schedule:
    """Parse a schedule. Raises BadSchedule."""
    zone = ""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, _, schedule = schedule.partition("=")[2].partition(" ")
        wrong = zone_problem(zone)
        if wrong:
            raise BadSchedule(f"provided bad location {zone}: {wrong}")
        schedule = schedule.strip()
    if schedule.startswith(EVERY):
        return Schedule(zone, _every(schedule))
    if schedule.startswith("@"):
        if schedule not in DESCRIPTORS:
            raise BadSchedule(f"unrecognized descriptor: {schedule}")
        schedule = DESCRIPTORS[schedule]
    parts = schedule.split()
    if len(parts) != len(FIELDS):
        found = f"found {len(parts)}: [{' '.join(parts)}]"
        raise BadSchedule(f"expected exactly {len(FIELDS)} fields, {found}")
    return Schedule(zone, 0.0, *map(_values, parts, FIELDS))


def _every(text: str) -> float:
    """The seconds of `@every`: whole ones, at least one."""
    try:
        return max(1.0, float(int(parse_duration(text.removeprefix(EVERY)))))
    except ValueError as wrong:
        raise BadSchedule(f"failed to parse duration {text}: {wrong}") from None


def _values(text: str, bounds: Bounds) -> Values:
    found = [_range(one, bounds) for one in text.split(",") if one]
    return Values(frozenset().union(*(one.chosen for one in found)), any(one.star for one in found))


def _range(text: str, bounds: Bounds) -> Values:
    """The values of a range: `*`, `5`, `1-5`, each maybe with `/STEP`."""
    what, *steps = text.split("/")
    low, *highs = what.split("-")
    star = low in ("*", "?")
    if star:
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
    return Values(frozenset(range(start, end + 1, step)), star and step == 1)


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
