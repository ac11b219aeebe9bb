"""The controller of the life of nodes: taints by condition, unreachable nodes (`node_lifecycle_controller.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, RequestQueue
from fakekube.controllers.context import NODE_INDEX, ControllerContext, node_index
from fakekube.controllers.nodelifecycle.evictionlimit import ZoneTainter
from fakekube.controllers.nodelifecycle.nodehealth import (
    NodeHealth,
    ZoneState,
    expires,
    observed,
    unreachable_conditions,
    zone_of,
    zone_state,
)
from fakekube.controllers.nodelifecycle.nodetaints import (
    NOT_READY,
    UNREACHABLE,
    TaintWriter,
    has_taint,
    present_keys,
    wanted_keys,
)
from fakekube.controllers.nodelifecycle.periodicrequest import PeriodicRequest
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import condition, timestamp

NAME = "node-lifecycle-controller"
ACCOUNT = "node-controller"

#: Seconds between looks at the health of all nodes (--node-monitor-period).
PERIOD = 5.0

#: Seconds without a sign of life after which a node is unreachable (--node-monitor-grace-period), and a node that was
#: never ready (--node-startup-grace-period).
GRACE, STARTUP_GRACE = 50.0, 60.0

#: Nodes a second that are tainted in a healthy zone and in a large zone with problems (--node-eviction-rate,
#: --secondary-node-eviction-rate); the nodes of a large zone (--large-cluster-size-threshold); the share of nodes with
#: problems that makes a zone disrupted (--unhealthy-zone-threshold).
RATE, SECONDARY_RATE, LARGE, THRESHOLD = 0.1, 0.01, 50, 0.55

#: Labels that follow others: stable name -> former name.
_LABELS = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}

#: The request of the look at all nodes.
MONITOR = Request("", "*")

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of the life of nodes."""
    NodeLifecycleController(context).add()


class NodeLifecycleController:
    """Taints nodes as their conditions say, and makes nodes without a sign of life Unknown.

    A request names a node whose taints and labels are checked, a pod that was bound to a node that is not ready, or all
    nodes (MONITOR), whose health is checked at multiples of PERIOD since the start. Unlike kube-controller-manager, it
    looks only when a node can have changed.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder("node-controller")
        self._nodes = context.kind("v1", "Node")
        self._leases = context.kind("coordination.k8s.io/v1", "Lease")
        context.index("v1", "Pod", NODE_INDEX, node_index)
        self._pods = context.kind("v1", "Pod")
        self._taints = TaintWriter(context, self._client)
        self._look = PeriodicRequest(context.clock, MONITOR, PERIOD)
        self._known: dict[str, Object] = {}
        self._health: dict[str, NodeHealth] = {}
        self._zones: dict[str, ZoneState] = {}
        self._tainters: dict[str, ZoneTainter] = {}
        #: The nodes whose pods could not be marked as not ready (nodesToRetry).
        self._unmarked: set[str] = set()

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "Node", object_events(self._node_seen, deleted=self._node_deleted))
        builder.watches("coordination.k8s.io/v1", "Lease", object_events(self._lease_seen))
        builder.watches("v1", "Pod", object_events(created=self._pod_created, updated=self._pod_updated))
        builder.watches_raw_source(FuncSource(self._look.begin))
        builder.complete(self.reconcile)

    # --- events

    def _node_seen(self, node: Object, queue: RequestQueue) -> None:
        queue.add(Request.of(node))
        self._look.enqueue(queue)

    def _node_deleted(self, node: Object, queue: RequestQueue) -> None:
        self._look.enqueue(queue)

    def _lease_seen(self, lease: Object, queue: RequestQueue) -> None:
        if lease["metadata"].get("namespace") == "kube-node-lease":
            self._look.enqueue(queue)

    def _pod_created(self, pod: Object, queue: RequestQueue) -> None:
        if pod["spec"].get("nodeName"):
            self._pod_bound(pod, queue)

    def _pod_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        node = new["spec"].get("nodeName")
        if node and node != old["spec"].get("nodeName"):
            self._pod_bound(new, queue)

    def _pod_bound(self, pod: Object, queue: RequestQueue) -> None:
        """A pod that is bound to a node which is not ready is not ready either."""
        health = self._health.get(pod["spec"]["nodeName"])
        if health is not None and health.ready is not None and health.ready["status"] != "True":
            queue.add(Request.of(pod))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        if request == MONITOR:
            return await self._monitor()
        if request.namespace:
            pod = self._pods.get(request.namespace, request.name)
            if pod is not None:
                await self._mark_not_ready([pod])
            return None
        node = self._nodes.get("", request.name)
        if node is not None:
            await self._taint_by_conditions(node)
            await self._reconcile_labels(node)
        return None

    async def _taint_by_conditions(self, node: Object) -> None:
        wanted, present = wanted_keys(node), present_keys(node)
        add = [key for key in wanted if key not in present]
        remove = [key for key in present if key not in wanted]
        if add or remove:
            await self._taints.swap(node, add, remove, "NoSchedule")

    async def _reconcile_labels(self, node: Object) -> None:
        labels = node["metadata"].get("labels") or {}
        changed = {old: labels[new] for new, old in _LABELS.items() if new in labels and labels.get(old) != labels[new]}
        if changed:
            await self._client.patch(node, {"metadata": {"labels": changed}}, type="strategic")

    # --- health

    async def _monitor(self) -> Result | None:
        """Check the health of all nodes (monitorNodeHealth)."""
        nodes, now = self._nodes.list(), self._context.now()
        await self._notice(nodes)
        by_zone: dict[str, list[Object | None]] = {}
        for node in nodes:
            before, after = await self._check_health(node, now)
            if "node.kubernetes.io/exclude-disruption" not in (node["metadata"].get("labels") or {}):
                by_zone.setdefault(zone_of(node), []).append(after)
            if after is not None:
                await self._react(node, before, after)
        await self._handle_disruption(by_zone, nodes, now)
        await self._taint_no_execute(now)
        return self._next_look(nodes, now)

    async def _notice(self, nodes: Sequence[Object]) -> None:
        """Note nodes that have come and gone, with an Event for each."""
        names = {node["metadata"]["name"] for node in nodes}
        for node in nodes:
            zone, name = zone_of(node), node["metadata"]["name"]
            if zone not in self._zones:
                self._zones[zone] = "Initial"
                self._tainters[zone] = ZoneTainter(RATE)
            if name not in self._known:
                self._event(node, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
                self._known[name] = node
                await self._mark_reachable(node)
        for name in [name for name in self._known if name not in names]:
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._event(self._known.pop(name), "RemovingNode", text)
            self._health.pop(name, None)

    def _event(self, node: Object, reason: str, text: str) -> None:
        meta = node["metadata"]
        reference = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"], "namespace": ""}
        self._recorder.event(reference, "Normal", reason, text)

    async def _check_health(self, node: Object, now: datetime) -> tuple[Object | None, Object | None]:
        """The condition Ready of a node before and after the check. A node without a sign of life becomes Unknown."""
        name = node["metadata"]["name"]
        health = observed(self._health.get(name), node, self._leases.get("kube-node-lease", name), now)
        self._health[name] = health
        before = health.ready
        if now <= expires(health, GRACE, STARTUP_GRACE):
            return before, before
        conditions = unreachable_conditions(node, now)
        after = next(one for one in conditions if one["type"] == "Ready")
        if before is None or after["status"] != before["status"]:
            try:
                await self._client.update_status(
                    {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
                )
            except ApiError:  # it is tried again with the next look
                return before, before
        self._health[name] = NodeHealth(health.probed, after, health.renewed)
        return before, after

    async def _react(self, node: Object, before: Object | None, after: Object) -> None:
        """Taint a node NoExecute or remove that taint, and make its pods not ready."""
        name, tainter = node["metadata"]["name"], self._tainters[zone_of(node)]
        pairs = {"False": (NOT_READY, UNREACHABLE), "Unknown": (UNREACHABLE, NOT_READY)}
        if after["status"] == "True":
            await self._mark_reachable(node)
        else:
            key, other = pairs[after["status"]]
            if has_taint(node, other, "NoExecute"):
                await self._taints.swap(node, [key], [other], "NoExecute")
            else:
                if not has_taint(node, key, "NoExecute"):
                    tainter.remove(name)
                    tainter.add(name)
        was_ready = before is not None and before["status"] == "True"
        if after["status"] != "True" and was_ready:
            self._event(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            self._unmarked.add(name)
        if after["status"] != "True" and name in self._unmarked:
            await self._mark_not_ready(self._pods.by_index(NODE_INDEX, name))
        self._unmarked.discard(name)

    async def _mark_reachable(self, node: Object) -> None:
        for key in (UNREACHABLE, NOT_READY):
            await self._taints.swap(node, [], [key], "NoExecute")
        self._tainters[zone_of(node)].remove(node["metadata"]["name"])

    async def _mark_not_ready(self, pods: Sequence[Object]) -> None:
        """Set the condition Ready of pods to False. Raises the first ApiError."""
        now, problems = timestamp(self._context.now()), []
        for pod in pods:
            present = condition(pod, "Ready")
            if present is None or present["status"] == "False":
                continue
            changed = {**present, "status": "False", "lastTransitionTime": now}
            conditions = [changed if one is present else one for one in pod["status"]["conditions"]]
            try:
                await self._client.update_status({**pod, "status": {**pod["status"], "conditions": conditions}})
            except ApiError as error:
                if error.reason == "NotFound":
                    continue
                problems.append(error)
            self._recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")
        if problems:
            raise problems[0]

    # --- zones

    async def _handle_disruption(
        self, by_zone: Mapping[str, Sequence[Object | None]], nodes: Sequence[Object], now: datetime
    ) -> None:
        """Taint slower, or not at all, where so many nodes are not ready that the cause may be elsewhere."""
        states = {zone: zone_state(ready, THRESHOLD) for zone, ready in by_zone.items()}
        all_are = all(state == "FullDisruption" for state in states.values())
        for zone in [zone for zone in self._zones if zone not in states]:
            del self._zones[zone]
        all_were = all(state == "FullDisruption" for state in self._zones.values())
        if all_are and all_were:
            return
        if all_are:
            for node in nodes:
                await self._mark_reachable(node)
            for zone in self._zones:
                self._tainters[zone].set_rate(0)
                self._zones[zone] = "FullDisruption"
            return
        if all_were:
            for name, health in self._health.items():
                self._health[name] = NodeHealth(now, health.ready, health.renewed)
        for zone, state in states.items():
            if all_were or self._zones[zone] != state:
                self._tainters[zone].set_rate(eviction_rate(state, len(by_zone[zone])))
                self._zones[zone] = state

    async def _taint_no_execute(self, now: datetime) -> None:
        """Taint the nodes that are due (doNoExecuteTaintingPass)."""
        for tainter in self._tainters.values():
            while (name := tainter.take(now)) is not None:
                node = self._nodes.get("", name)
                health = self._health.get(name)
                if node is None or health is None or health.ready is None or health.ready["status"] == "True":
                    continue
                unknown = health.ready["status"] == "Unknown"
                add, remove = (UNREACHABLE, NOT_READY) if unknown else (NOT_READY, UNREACHABLE)
                await self._taints.swap(node, [add], [remove], "NoExecute")

    def _next_look(self, nodes: Sequence[Object], now: datetime) -> Result | None:
        """Look again at the tick after the next node may have become unreachable, or when one is to be tainted."""
        healths = [self._health[node["metadata"]["name"]] for node in nodes]
        alive = [one for one in healths if one.ready is None or one.ready["status"] != "Unknown"]
        ends = [(expires(one, GRACE, STARTUP_GRACE) - now).total_seconds() + 1e-6 for one in alive]
        monotonic = self._context.clock.monotonic()
        waits = [self._look.seconds_until(monotonic + max(0.0, one)) for one in ends]
        waits += [(due - now).total_seconds() for one in self._tainters.values() if (due := one.due) is not None]
        return Result(requeue_after=max(min(waits), 0.1)) if waits else None


def eviction_rate(state: ZoneState, size: int) -> float:
    """The nodes of a zone that are tainted a second; `size`: how many nodes it has (ReducedQPSFunc)."""
    if state == "PartialDisruption":
        return SECONDARY_RATE if size > LARGE else 0.0
    return RATE
