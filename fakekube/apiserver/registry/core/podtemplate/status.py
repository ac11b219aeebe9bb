"""The status of kinds that keep pods running: counts (kubernetes `pkg/apis/apps/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]

MORE_THAN_ALL = "cannot be greater than status.replicas"

MORE_THAN_READY = "cannot be greater than readyReplicas"

#: The counts of a ReplicaSet and of a ReplicationController.
REPLICA_COUNTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def status_validator(
    *counts: str, at_most_all: Sequence[str] = (), more_than_ready: str = ""
) -> Callable[[Object, Object], list[FieldError]]:
    """Validates the counts of a status: none is negative, some are at most `replicas`, and of collisions there are
    never fewer than before. `more_than_ready` is the error for more available pods than ready ones."""

    def validate(new: Field, old: Field) -> None:
        status = new["status"]
        status.non_negative_members(*counts)
        total = status["replicas"].number
        for name in at_most_all:
            if status[name].number > total:
                status[name].invalid(MORE_THAN_ALL, status[name].number)
        available = status["availableReplicas"]
        if more_than_ready and available.number > status["readyReplicas"].number:
            available.invalid(more_than_ready, available.number)
        collisions, before = status["collisionCount"], old["status"]["collisionCount"].value
        if before is not None and (collisions.value is None or collisions.value < before):
            collisions.invalid("cannot be decremented", collisions.number)

    return update_validator(validate)


replica_status_validator = partial(
    status_validator,
    "replicas",
    *REPLICA_COUNTS,
    "observedGeneration",
    "terminatingReplicas",
    at_most_all=REPLICA_COUNTS,
    more_than_ready=MORE_THAN_READY,
)


def with_labels_of_template(obj: Object, old: Object) -> Object:
    """An object without labels has those of its template when it is read, also if a status write removes its labels."""
    labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if not labels or obj["metadata"].get("labels"):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "labels": dict(labels)}}
