"""The writes of the scheduler: bindings, conditions, Events and the deletion of victims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Client
from fakekube.controllers.broadcasts import SeriesRecorder
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.scheduler.clusterview import PodInfo
from fakekube.controllers.scheduler.preemption import PREEMPTION
from fakekube.controllers.workload.podstate import condition, timestamp

Pod = Mapping[str, Any]

USER = "system:kube-scheduler"
USER_AGENT = "kube-scheduler/v1.36.2 (linux/amd64) kubernetes/fakekube/scheduler"

#: The name of the scheduler in pods, and of the controller in its Events.
SCHEDULER = "default-scheduler"

#: Characters of the note of an Event (`truncateMessage`).
_LONGEST_NOTE = 1024


def victim_condition() -> dict[str, Any]:
    """The condition of a pod that makes room for one of a higher priority."""
    message = f"{SCHEDULER}: preempting to accommodate a higher priority pod"
    return {"type": "DisruptionTarget", "status": "True", "reason": PREEMPTION, "message": message}


class SchedulerWrites:
    """Writes as the user of kube-scheduler."""

    client: Client

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.client = context.client("", user=USER, user_agent=USER_AGENT)
        self._recorder = SeriesRecorder(context, self.client, SCHEDULER)

    async def bind(self, info: PodInfo, node: str) -> bool:
        """Bind a pod; returns False if it does not exist any longer. Raises ApiError."""
        meta = {"name": info.name, "namespace": info.namespace, "uid": info.uid}
        target = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": {"kind": "Node", "name": node}}
        try:
            await self.client.create_subresource(target, "binding", binding)
        except ApiError as error:
            if error.reason == "NotFound":
                return False
            self._event(info, "Warning", "FailedScheduling", "Scheduling", f"binding rejected: {error.message}")
            raise
        text = f"Successfully assigned {info.namespace}/{info.name} to {node}"
        self._event(info, "Normal", "Scheduled", "Binding", text)
        return True

    async def evict(self, victim: PodInfo, preemptor: PodInfo, node: str) -> None:
        """Delete a pod that has to make room for another."""
        if victim.is_terminating:
            return
        pod = victim.pod
        try:
            await self._patch_status(pod, victim_condition(), None)
            await self.client.delete(pod)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return
        text = f"Preempted by pod {preemptor.uid} on node {node}"
        self._recorder.eventf(pod, preemptor.pod, "Normal", "Preempted", "Preempting", text)

    async def clear_nomination(self, info: PodInfo) -> None:
        """Remove the nominated node of a pod, if its status has one (clearNominatedNodeName)."""
        if not (info.pod.get("status") or {}).get("nominatedNodeName"):
            return
        meta = info.pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Pod", "metadata": {k: meta[k] for k in ("name", "namespace")}}
        patch = {"metadata": {"uid": meta["uid"]}, "status": {"nominatedNodeName": None}}
        try:
            await self.client.patch(target, patch, type="strategic", subresource="status")
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def reject(self, info: PodInfo, text: str, nominated: str | None) -> None:
        """Record why a pod fits nowhere; set PodScheduled to False and the nominated node, if that changes anything.

        `nominated` "": there is none any longer, None: it stays. Source: `handleSchedulingFailure`, `updatePod`.
        """
        self._event(info, "Warning", "FailedScheduling", "Scheduling", text[:_LONGEST_NOTE])
        pod, present = info.pod, condition(info.pod, "PodScheduled") or {}
        before = (pod.get("status") or {}).get("nominatedNodeName") or ""
        same = nominated is None or nominated == before
        if present.get("status") == "False" and present.get("message") == text and same:
            return
        rejected = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
        try:
            await self._patch_status(pod, rejected, None if same else nominated)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _patch_status(self, pod: Pod, changed: dict[str, Any], nominated: str | None) -> None:
        meta, old = pod["metadata"], condition(pod, changed["type"]) or {}
        now = timestamp(self._context.now())
        same = old.get("status") == changed["status"]
        changed["lastTransitionTime"] = old.get("lastTransitionTime") if same else now
        changed["lastProbeTime"] = None
        if meta.get("generation"):
            changed["observedGeneration"] = meta["generation"]
        present = (pod.get("status") or {}).get("conditions") or ()
        types = [one["type"] for one in present]
        order = [{"type": one} for one in (types if changed["type"] in types else [*types, changed["type"]])]
        status: dict[str, Any] = {"$setElementOrder/conditions": order, "conditions": [changed]}
        if nominated is not None:
            status["nominatedNodeName"] = nominated or None
        target = {"apiVersion": "v1", "kind": "Pod", "metadata": {k: meta[k] for k in ("name", "namespace")}}
        patch = {"metadata": {"uid": meta["uid"]}, "status": status}
        await self.client.patch(target, patch, type="strategic", subresource="status")

    def _event(self, info: PodInfo, kind: str, reason: str, action: str, note: str) -> None:
        self._recorder.eventf(info.pod, None, kind, reason, action, note)
