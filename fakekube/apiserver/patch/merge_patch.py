"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any


def apply(document: Any, patch: Any) -> Any:
    """Merges `patch` into `document`: null deletes a member, maps are merged, other values are replaced.

    The fields of merged maps are in the order in which Go encodes a map.
    """
    if not isinstance(patch, dict):
        return _without_nulls_in_maps(patch)
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply(merged.get(key), value)
    return {key: merged[key] for key in sorted(merged)}


def _without_nulls_in_maps(value: Any) -> Any:
    """A new value without the nulls in its maps; nulls in lists are kept."""
    if isinstance(value, dict):
        return {k: _without_nulls_in_maps(v) for k, v in sorted(value.items()) if v is not None}
    if isinstance(value, list):
        return [_without_nulls_in_maps(v) for v in value]
    return value
