"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.wire.status import field_invalid

Object = dict[str, Any]

MORE_THAN_ALL = "cannot be greater than status.replicas"


MORE_THAN_READY = "cannot be greater than readyReplicas"


#: Kind -> the numbers that are not negative, in order; those that are at most `replicas`; and what is said of more
#: available ones than ready.
COUNTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "Deployment": (
        ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
         "unavailableReplicas", "collisionCount"),
        ("updatedReplicas", "readyReplicas", "availableReplicas"),
        MORE_THAN_READY,
    ),
    "ReplicaSet": (
        ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
        ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        MORE_THAN_READY,
    ),
    "StatefulSet": (
        ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
         "collisionCount"),
        ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        "cannot be greater than status.readyReplicas",
    ),
    "DaemonSet": (
        ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
         "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
        (),
        "",
    ),
}  # fmt: skip


def status_validator(kind: str) -> Callable[[Object, Object], Errors]:
    """Of the counts in a status; of collisions there are never fewer than before."""
    counts, at_most_all, more_than_ready = COUNTS[kind]
    counts_collisions = "collisionCount" in counts

    def validate_status_update(new: Object, old: Object) -> Errors:
        errors: Errors = []
        status: Object = new.get("status") or {}
        for field in counts:
            check_nonnegative(status.get(field), f"status.{field}", errors)
        total = status.get("replicas") or 0
        for field in at_most_all:
            if (status.get(field) or 0) > total:
                errors.append(field_invalid(f"status.{field}", status.get(field) or 0, MORE_THAN_ALL))
        available = status.get("availableReplicas") or 0
        if more_than_ready and available > (status.get("readyReplicas") or 0):
            errors.append(field_invalid("status.availableReplicas", available, more_than_ready))
        if counts_collisions:
            _check_collisions(status, old.get("status") or {}, errors)
        return errors

    return validate_status_update


def _check_collisions(after: Object, before: Object, errors: Errors) -> None:
    new, old = after.get("collisionCount"), before.get("collisionCount")
    if old is not None and (new is None or new < old):
        errors.append(field_invalid("status.collisionCount", new or 0, "cannot be decremented"))
