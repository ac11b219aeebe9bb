"""The controller that deletes pods which no kubelet will end (`pkg/controller/podgc`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.nodelifecycle.periodicrequest import PeriodicRequest
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import Pod, condition, is_terminal, phase, timestamp
from fakekube.controllers.workload.podstatuspatch import disruption_target, patch_pod_status

NAME = "pod-garbage-collector-controller"
ACCOUNT = "pod-garbage-collector"

#: Seconds between looks at all pods, and those that the node of a pod may be missing.
PERIOD, QUARANTINE = 20.0, 40.0

#: The number of pods that may have ended (--terminated-pod-gc-threshold).
THRESHOLD = 12_500

#: The taint of a node that is known to be switched off.
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"

#: The request of the look at all pods.
LOOK = Request("", "*")

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the garbage collector of pods."""
    PodGarbageCollector(context).add()


class PodGarbageCollector:
    """Deletes pods of missing nodes, terminating pods without a node, and the oldest of too many that have ended.

    It looks at multiples of PERIOD since the start; unlike kube-controller-manager, only when a pod or a node has
    changed so that there may be something to delete.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._pods = context.kind("v1", "Pod")
        self._nodes = context.kind("v1", "Node")
        self._look = PeriodicRequest(context.clock, LOOK, PERIOD)
        self._ended: set[Request] = set()
        #: When the quarantine of a missing node ends.
        self._missing: dict[str, float] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "Pod", object_events(self._seen, deleted=self._pod_deleted))
        builder.watches("v1", "Node", object_events(updated=self._node_updated, deleted=self._node_deleted))
        builder.watches_raw_source(FuncSource(self._look.begin))
        builder.complete(self.reconcile)

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._ended.discard(Request.of(pod))

    def _node_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if any(one["key"] == OUT_OF_SERVICE for one in new["spec"].get("taints") or ()):
            self._look.enqueue(queue)

    def _node_deleted(self, node: Object, queue: RequestQueue) -> None:
        self._look.enqueue(queue)

    def _seen(self, pod: Pod, queue: RequestQueue) -> None:
        if is_terminal(pod):
            self._ended.add(Request.of(pod))
        node = pod["spec"].get("nodeName")
        deleted = bool(pod["metadata"].get("deletionTimestamp"))
        if deleted or len(self._ended) > THRESHOLD or (node and self._nodes.get("", node) is None):
            self._look.enqueue(queue)

    async def reconcile(self, request: Request) -> Result | None:
        pods = self._pods.list()
        ended = [pod for pod in pods if phase(pod) not in ("Pending", "Running", "Unknown")]
        for pod in sorted(ended, key=_order)[: max(0, len(ended) - THRESHOLD)]:
            await self._delete(pod)
        terminating = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
        for pod in terminating:
            if self._is_out_of_service(pod):
                await self._delete(pod)
        await self._delete_orphans(pods)
        for pod in terminating:
            if not pod["spec"].get("nodeName"):
                await self._delete(pod)
        monotonic = self._context.clock.monotonic()
        waits = [self._look.seconds_until(max(end, monotonic + 1e-6)) for end in self._missing.values()]
        return Result(requeue_after=min(waits)) if waits else None

    def _is_out_of_service(self, pod: Pod) -> bool:
        node = self._nodes.get("", pod["spec"].get("nodeName") or "-")
        if node is None:
            return False
        ready = condition(node, "Ready")
        tainted = any(one["key"] == OUT_OF_SERVICE for one in node["spec"].get("taints") or ())
        return tainted and (ready is None or ready["status"] != "True")

    async def _delete_orphans(self, pods: Sequence[Pod]) -> None:
        """Delete the pods of nodes that have been missing for the whole quarantine (gcOrphaned)."""
        now = self._context.clock.monotonic()
        bound = dict.fromkeys(name for pod in pods if (name := pod["spec"].get("nodeName")))
        for name in [name for name in self._missing if name not in bound]:
            del self._missing[name]
        for name in bound:
            if self._nodes.get("", name) is None:
                self._missing.setdefault(name, now + QUARANTINE)
            else:
                self._missing.pop(name, None)
        for name in [name for name, end in self._missing.items() if end <= now]:
            del self._missing[name]
            if await self._exists(name):
                continue
            time = timestamp(self._context.now())
            for pod in [pod for pod in pods if pod["spec"].get("nodeName") == name]:
                text = "PodGC: node no longer exists"
                await self._delete(pod, disruption_target(pod, "DeletionByPodGC", text, time))

    async def _exists(self, node: str) -> bool:
        try:
            await self._client.get("v1", "Node", node)
        except ApiError as error:
            if error.reason == "NotFound":
                return False
            raise
        return True

    async def _delete(self, pod: Pod, target: Mapping[str, Any] | None = None) -> None:
        """Make a pod Failed, unless it has ended, and delete it at once."""
        try:
            if not is_terminal(pod):
                await patch_pod_status(self._client, pod, condition=target, phase="Failed")
            await self._client.delete(pod, grace_period=0)
        except ApiError as error:
            if error.reason != "NotFound":
                raise


def _order(pod: Pod) -> tuple[bool, str, str]:
    """Evicted pods first, then the older ones."""
    evicted = phase(pod) == "Failed" and pod["status"].get("reason") == "Evicted"
    return not evicted, pod["metadata"].get("creationTimestamp") or "", pod["metadata"]["name"]
