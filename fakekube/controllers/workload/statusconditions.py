"""Conditions of type metav1.Condition in a status (apimachinery: `meta.SetStatusCondition`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Condition = Mapping[str, Any]


def with_status_condition(conditions: Sequence[Condition], wanted: Condition, now: str) -> Sequence[Condition]:
    """The conditions with `wanted` in the place of that of its type; its time changes only with its status."""
    changed = {**wanted, "message": wanted.get("message") or "", "lastTransitionTime": now}
    for position, present in enumerate(conditions):
        if present.get("type") == wanted["type"]:
            if present.get("status") == wanted["status"]:
                changed["lastTransitionTime"] = present.get("lastTransitionTime")
            return [*conditions[:position], changed, *conditions[position + 1 :]]
    return [*conditions, changed]
