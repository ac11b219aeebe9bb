"""The controller that says how long kubelets may keep Secrets and ConfigMaps, by the size of the cluster.

Source: kubernetes, `pkg/controller/ttl`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from controllerlib import Request
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import Object, enqueue, object_events
from fakekube.controllers.workload.intorpercent import integer
from fakekube.struct import Struct

ANNOTATION = "node.alpha.kubernetes.io/ttl"
WORKERS = 5

#: The fewest nodes and the most nodes of each step, and its time in seconds. Steps overlap, so that they are kept.
STEPS: Sequence[tuple[int, float, int]] = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1000, 30),
    (900, 2000, 60),
    (1800, math.inf, 300),
)


class ClusterSize(Struct):
    """The number of nodes, and the step of it."""

    nodes: int = 0
    step: int = 0

    @property
    def seconds(self) -> int:
        return STEPS[self.step][2]

    def added(self) -> None:
        self.nodes += 1
        if self.nodes > STEPS[self.step][1]:
            self.step += 1

    def removed(self) -> None:
        self.nodes -= 1
        if self.nodes < STEPS[self.step][0]:
            self.step -= 1


def add(context: ControllerContext) -> None:
    """Add the controller. A node gets the time of a new step when it changes next, as its kubelet reports often."""
    client = context.client("ttl-controller")
    nodes = context.kind("v1", "Node")
    size = ClusterSize()

    async def reconcile(request: Request) -> None:
        node = nodes.get("", request.name)
        if node is None:
            return
        value = str(size.seconds)
        if integer((node["metadata"].get("annotations") or {}).get(ANNOTATION)) != size.seconds:
            target = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": request.name}}
            await client.patch(target, {"metadata": {"annotations": {ANNOTATION: value}}}, type="strategic")

    def added(node: Object, queue: RequestQueue) -> None:
        size.added()
        queue.add(Request.of(node))

    def deleted(node: Object, queue: RequestQueue) -> None:
        size.removed()

    builder = context.controller("ttl-controller").with_options(max_concurrent_reconciles=WORKERS)
    builder.watches("v1", "Node", object_events(enqueue, created=added, deleted=deleted)).complete(reconcile)
