"""What a Job's spec and conditions say (`pkg/controller/job`, `pkg/controller/job/util`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.objectfinalizers import has_finalizer
from fakekube.controllers.workload.podstate import Pod, phase

#: The finalizer of a pod that its Job has not counted yet.
TRACKING = "batch.kubernetes.io/job-tracking"

#: The value of spec.managedBy of the Jobs that this controller reconciles.
CONTROLLER_NAME = "kubernetes.io/job-controller"

Object = Mapping[str, Any]
Condition = Mapping[str, Any]


def is_indexed(job: Object) -> bool:
    """Whether each pod has a completion index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def has_limit_per_index(job: Object) -> bool:
    """Whether failures are counted by index."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def is_suspended(job: Object) -> bool:
    """Whether the Job shall have no pods."""
    return bool(job["spec"].get("suspend"))


def replaces_only_failed(job: Object) -> bool:
    """Whether a pod that is being deleted is replaced only when it has ended."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def is_managed_elsewhere(job: Object) -> bool:
    """Whether another controller manages the Job."""
    return (job["spec"].get("managedBy") or CONTROLLER_NAME) != CONTROLLER_NAME


def is_tracked(pod: Pod) -> bool:
    """Whether the pod has the finalizer of pods that are not counted."""
    return has_finalizer(pod, TRACKING)


def has_failed(pod: Pod, job: Object) -> bool:
    """Whether the pod counts as failed: one that is being deleted does, unless only failed pods are replaced."""
    if phase(pod) == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return bool(pod["metadata"].get("deletionTimestamp")) and phase(pod) != "Succeeded"


# --- conditions


def job_condition(kind: str, reason: str, message: str, now: str, *, status: str = "True") -> dict[str, Any]:
    """A condition that has changed now."""
    found = {"type": kind, "status": status, "lastProbeTime": now, "lastTransitionTime": now}
    return {**found, **{name: text for name, text in (("reason", reason), ("message", message)) if text}}


def finished_type(job: Object) -> str:
    """The condition by which the Job has ended, "Complete" or "Failed"; "" if it has not."""
    for one in (job.get("status") or {}).get("conditions") or ():
        if one.get("type") in ("Complete", "Failed") and one.get("status") == "True":
            return str(one["type"])
    return ""


def true_condition(status: Object, kind: str) -> Condition | None:
    """The first condition of a type if it is true, else None."""
    for one in status.get("conditions") or ():
        if one.get("type") == kind:
            return one if one.get("status") == "True" else None
    return None


def ensured(conditions: Sequence[Condition], wanted: Condition) -> Sequence[Condition]:
    """The conditions with `wanted` in the place of that of its type; the same sequence if nothing changes.

    A condition that is false is not added. Source: kubernetes, ensureJobConditionStatus.
    """
    for position, present in enumerate(conditions):
        if present.get("type") != wanted["type"]:
            continue
        if all(present.get(name) == wanted.get(name) for name in ("status", "reason", "message")):
            return conditions
        return [*conditions[:position], wanted, *conditions[position + 1 :]]
    return conditions if wanted["status"] == "False" else [*conditions, wanted]
