"""Changing the status of a pod by a patch of what is new (`pkg/util/pod`: PatchPodStatus, UpdatePodCondition)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client
from fakekube.controllers.workload.podstate import Pod, condition


async def patch_pod_status(
    client: Client, pod: Pod, *, condition: Mapping[str, Any] | None = None, **fields: Any
) -> None:
    """Set fields and one condition in the status of a pod, if they differ. Raises ApiError.

    The patch has the uid of the pod, so that a later pod of its name is not changed.
    """
    status = pod.get("status") or {}
    changed = {name: value for name, value in fields.items() if status.get(name) != value}
    if condition is not None and not _has(pod, condition):
        changed["conditions"] = [dict(condition)]
    if changed:
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changed}
        await client.patch(pod, patch, type="strategic", subresource="status")


def _has(pod: Pod, wanted: Mapping[str, Any]) -> bool:
    present = condition(pod, wanted["type"])
    names = ("status", "reason", "message")
    return present is not None and all(present.get(name) == wanted.get(name) for name in names)


def disruption_target(pod: Pod, reason: str, message: str, now: str) -> Mapping[str, Any]:
    """The condition of a pod that is deleted by a disruption; the time of a transition is kept if there is none."""
    present = condition(pod, "DisruptionTarget")
    if present is not None and present["status"] == "True":
        now = present.get("lastTransitionTime") or now
    found = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
        "observedGeneration": pod["metadata"].get("generation"),
    }
    return {name: value for name, value in found.items() if value is not None}
