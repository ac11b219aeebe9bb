"""Equality of API objects that ignores how absence is written (apimachinery: `equality.Semantic`)."""

from __future__ import annotations

from typing import Any


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal where null, an empty map and an empty list are as good as absent."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys() | other.keys()
        return all(is_equal(one.get(name), other.get(name)) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other) or (_is_absent(one) and _is_absent(other))


def _is_absent(value: Any) -> bool:
    return value is None or value == {} or value == []
