"""The controller that deletes pods from nodes with taints NoExecute (`pkg/controller/tainteviction`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import NODE_INDEX, ControllerContext, node_index
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.nodefit import tolerates, untolerated_taint
from fakekube.controllers.workload.podstate import timestamp
from fakekube.controllers.workload.podstatuspatch import disruption_target, patch_pod_status
from fakekube.struct import Struct

NAME = "taint-eviction-controller"
ACCOUNT = "node-controller"

#: How many pods are worked on at the same time (UpdateWorkerSize).
WORKERS = 8

#: The attempts to delete a pod, 10 ms apart.
RETRIES = 5

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of evictions by taint."""
    TaintEvictionController(context).add()


class _Eviction(Struct, frozen=True):
    """A planned deletion: when it was planned and when it is due, in seconds."""

    planned: float
    due: float


class TaintEvictionController:
    """Deletes pods that do not tolerate a taint NoExecute of their node, or only for a time that is over."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(NAME)
        self._nodes = context.kind("v1", "Node")
        context.index("v1", "Pod", NODE_INDEX, node_index)
        self._pods = context.kind("v1", "Pod")
        self._evictions: dict[Request, _Eviction] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches(
            "v1", "Pod", object_events(created=self._pod_created, updated=self._pod_updated, deleted=self._pod_deleted)
        )
        builder.watches("v1", "Node", object_events(created=self._node_created, updated=self._node_updated))
        builder.complete(self.reconcile)

    # --- events

    def _pod_created(self, pod: Object, queue: RequestQueue) -> None:
        if pod["spec"].get("nodeName"):
            queue.add(Request.of(pod))

    def _pod_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        names = ("nodeName", "tolerations")
        if any(old["spec"].get(name) != new["spec"].get(name) for name in names):
            queue.add(Request.of(new))

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        if Request.of(pod) in self._evictions:
            queue.add(Request.of(pod))

    def _node_created(self, node: Object, queue: RequestQueue) -> None:
        if no_execute(node):
            self._enqueue_pods(node, queue)

    def _node_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if no_execute(old) != no_execute(new):
            self._enqueue_pods(new, queue)

    def _enqueue_pods(self, node: Object, queue: RequestQueue) -> None:
        for pod in self._pods.by_index(NODE_INDEX, node["metadata"]["name"]):
            queue.add(Request.of(pod))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        pod = self._pods.get(request.namespace, request.name)
        if pod is None:
            self._cancel(request)
            return None
        node = self._nodes.get("", pod["spec"].get("nodeName") or "-")
        taints = no_execute(node) if node is not None else ()
        if not taints:
            self._cancel(request)
            return None
        now = self._context.clock.monotonic()
        tolerated = toleration_time(taints, pod["spec"].get("tolerations") or ())
        if tolerated is None:
            self._cancel(request)
            return None
        planned = self._evictions.get(request)
        if tolerated > 0:
            eviction = self._planned(request, planned, now, tolerated)
            if eviction.due > now:
                return Result(requeue_after=eviction.due - now)
        if untolerated_taint(taints, pod["spec"].get("tolerations") or (), ("NoExecute",)) is not None:
            self._cancel(request)
        self._evictions.pop(request, None)
        await self._evict(request)
        return None

    def _planned(self, request: Request, present: _Eviction | None, now: float, tolerated: float) -> _Eviction:
        """Plan an eviction; one that is planned is kept, unless the time that is tolerated has become longer."""
        if present is not None and present.planned + tolerated <= max(present.due, now):
            return present
        start = now if present is None else present.planned
        if present is not None:
            self._cancel(request)
        found = self._evictions[request] = _Eviction(start, start + tolerated)
        return found

    def _cancel(self, request: Request) -> None:
        if self._evictions.pop(request, None) is not None:
            self._event(request, f"Cancelling deletion of Pod {request}")

    def _event(self, request: Request, text: str) -> None:
        reference = {"apiVersion": "v1", "kind": "Pod", "namespace": request.namespace, "name": request.name}
        self._recorder.event(reference, "Normal", "TaintManagerEviction", text)

    async def _evict(self, request: Request) -> None:
        """Set the condition DisruptionTarget of a pod and delete it. Raises ApiError."""
        self._event(request, f"Marking for deletion Pod {request}")
        for attempt in range(RETRIES):
            try:
                pod = await self._client.get("v1", "Pod", request.name, request.namespace)
                text, now = "Taint manager: deleting due to NoExecute taint", timestamp(self._context.now())
                target = disruption_target(pod, "DeletionByTaintManager", text, now)
                await patch_pod_status(self._client, pod, condition=target)
                await self._client.delete("v1", "Pod", request.name, request.namespace)
            except ApiError as error:
                if error.reason == "NotFound":
                    return
                if attempt == RETRIES - 1:
                    raise
                await self._context.clock.sleep_until(self._context.clock.monotonic() + 0.01)
            else:
                return


def no_execute(node: Object) -> Sequence[Object]:
    """The taints NoExecute of a node."""
    return [one for one in node["spec"].get("taints") or () if one["effect"] == "NoExecute"]


def toleration_time(taints: Sequence[Object], tolerations: Sequence[Object]) -> float | None:
    """The seconds for which taints are tolerated: 0 if one is not, None if all are for ever."""
    used = []
    for taint in taints:
        matching = [one for one in tolerations if tolerates(one, taint)]
        if not matching:
            return 0.0
        used += matching
    limits = [one["tolerationSeconds"] for one in used if one.get("tolerationSeconds") is not None]
    return max(0.0, float(min(limits))) if limits else None
