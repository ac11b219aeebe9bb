"""Conditions in the status of workloads (`SetCondition`, `RemoveCondition` of each controller)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Condition = Mapping[str, Any]


def new_condition(kind: str, status: str, reason: str, message: str, now: str) -> dict[str, Any]:
    """A condition that has changed now."""
    return {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}


def with_condition(conditions: Sequence[Condition], condition: Condition) -> Sequence[Condition]:
    """The conditions with `condition` at the end; unchanged if one has its type, status and reason already."""
    for present in conditions:
        if present["type"] == condition["type"]:
            if present["status"] == condition["status"] and present.get("reason") == condition.get("reason"):
                return conditions
            if present["status"] == condition["status"]:
                condition = {**condition, "lastTransitionTime": present.get("lastTransitionTime")}
    return [*without_condition(conditions, condition["type"]), condition]


def without_condition(conditions: Sequence[Condition], kind: str) -> Sequence[Condition]:
    """The conditions without that of a type."""
    return [one for one in conditions if one["type"] != kind]
