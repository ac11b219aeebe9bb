"""The levels of findings, and how an ini file or an option sets them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Level = Literal["error", "warn", "off"]

#: The name that sets the level of all detectors.
ALL = "all"


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
