"""Reads the fields of an object that field selectors can name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def string_at(*path: str) -> Callable[[Object], str]:
    """Returns a function that reads the string at a path; it returns an empty string if there is none."""

    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    return read
