"""The levels of detectors: their defaults, and what a marker, an ini file or an option sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

Level = Literal["error", "warn", "off"]

#: The default level of each detector. An `error` is a defect in every cluster; a `warn` may be intended.
DEFAULTS: Mapping[str, Level] = {
    "reconcile-error": "error",
    "retried-error": "warn",
    "hot-loop": "error",
    "timestamp-loop": "error",
    "noop-write": "warn",
    "cache-mutation": "error",
    "ignored-status": "error",
    "unguarded-update": "warn",
    "ignored-conflict": "error",
    "unrepeated-conflict": "warn",
    "stuck-finalizer": "error",
    "late-finalizer": "warn",
    "missing-owner": "error",
    "duplicate-child": "error",
    "leaked-child": "warn",
    "leaked-task": "error",
    "failed-task": "error",
    "unawaited-coroutine": "error",
    "leaked-thread": "error",
    "stuck-reconcile": "error",
    "stuck-thread": "error",
    "swallowed-cancellation": "error",
    "blocking-call": "error",
    "blocking-request": "warn",
    "missing-permission": "warn",
    "follower-write": "error",
    "unelected-write": "warn",
    "unused-fault": "error",
    "poll-list": "warn",
    "short-requeue": "warn",
    "resync-write": "warn",
    "plain-watch": "off",
    "writes-at-rest": "warn",
}

#: The name that sets the level of all detectors.
ALL = "all"


def levels_of(chosen: Mapping[str, str]) -> dict[str, Level]:
    """The level of each detector. `all` sets every one that is not named itself. Raises TypeError, ValueError."""
    if not isinstance(chosen, Mapping):
        raise TypeError(f"detect={chosen!r}: pass a mapping, like {{'noop-write': 'off'}}")
    for name, level in chosen.items():
        if name != ALL:
            check_name("detect", name)
        if level not in get_args(Level):
            raise ValueError(f"detect={{{name!r}: {level!r}}}: the level is 'error', 'warn' or 'off'")
    levels = dict(DEFAULTS)
    if ALL in chosen:
        levels = dict.fromkeys(DEFAULTS, _level(chosen[ALL]))
    return {**levels, **{name: _level(level) for name, level in chosen.items() if name != ALL}}


def parse_levels(items: Iterable[str]) -> dict[str, str]:
    """The levels of texts like `noop-write=off`, as an ini file or an option has them. Raises ValueError."""
    found: dict[str, str] = {}
    for item in items:
        for text in item.replace(",", " ").split():
            name, equals, level = text.partition("=")
            if not equals:
                raise ValueError(f"fakekube_detect: {text!r} must be NAME=LEVEL, like 'noop-write=off'")
            found[name] = level
    return found


def check_name(caller: str, name: object) -> None:
    """Raises ValueError for the name of a detector that does not exist."""
    if name not in DEFAULTS:
        raise ValueError(f"{caller}: there is no detector {name!r} (detectors: {', '.join(DEFAULTS)})")


def _level(text: str) -> Level:
    return {"error": "error", "warn": "warn"}.get(text, "off")  # type: ignore[return-value]
