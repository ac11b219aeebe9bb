"""Binds pods to nodes (pkg/scheduler).

What it leaves out: extenders, profiles, dynamic resources, pod groups, volume limits, image locality, and the flush of
pods that wait for more than five minutes: they are tried again when something changes that concerns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Controller, Request, Result
from controllerlib.controller import HandlerFuncs, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import Object, object_events
from fakekube.controllers.scheduler import preemption, schedulingqueue, volumefit
from fakekube.controllers.scheduler.clusterview import ClusterView, PodInfo, pod_info
from fakekube.controllers.scheduler.clustervolumes import ClusterVolumes
from fakekube.controllers.scheduler.placement import NoFit, Surroundings, place
from fakekube.controllers.scheduler.schedulerwrites import SCHEDULER, SchedulerWrites
from fakekube.controllers.scheduler.schedulingqueue import UnschedulablePods
from fakekube.controllers.workload.podstate import is_terminal

Pod = Mapping[str, Any]

NAME = "kube-scheduler"


def add(context: ControllerContext) -> None:
    """Add the scheduler."""
    Scheduler(context).add()


class Scheduler:
    """Decides for one pod at a time; those of a higher priority first."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._writes = SchedulerWrites(context)
        self._pods = context.kind("v1", "Pod")
        self._budgets = context.kind("policy/v1", "PodDisruptionBudget")
        namespaces = context.kind("v1", "Namespace")
        self._volumes = ClusterVolumes(context)
        self._view = ClusterView()
        self._around = Surroundings(
            self._volumes, lambda name: (namespaces.get("", name) or {}).get("metadata", {}).get("labels") or {}
        )
        self._waiting = UnschedulablePods()
        self._nominated: dict[str, tuple[str, PodInfo]] = {}
        self._controller: Controller | None = None

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        pods = object_events(created=self._pod_created, updated=self._observed, deleted=self._pod_deleted)
        nodes = object_events(created=self._node_created, updated=self._node_updated, deleted=self._node_deleted)
        volumes = object_events(self._volumes_changed)
        builder.watches("v1", "Node", nodes).watches("v1", "Pod", pods)
        for api_version, kind in ClusterVolumes.KINDS:
            builder.watches(api_version, kind, volumes)
        builder.watches("policy/v1", "PodDisruptionBudget", HandlerFuncs())
        builder.watches("v1", "Namespace", HandlerFuncs())
        self._controller = builder.complete(self.reconcile)

    # --- events

    def _pod_created(self, pod: Object, queue: RequestQueue) -> None:
        self._observed(None, pod, queue)

    def _observed(self, old: Pod | None, pod: Pod, queue: RequestQueue) -> None:
        node = pod["spec"].get("nodeName") or ""
        uid = pod["metadata"]["uid"]
        if not node:
            self._note_nomination(old, pod)
            if _is_to_schedule(pod) and (old is None or _may_fit_now(old, pod)):
                queue.add(Request.of(pod), priority=pod["spec"].get("priority") or 0)
            return
        if is_terminal(pod):
            self._gone(uid, queue)
            return
        was_placed = self._view.placed(uid)
        counts_anew = was_placed is None or _counts_differently(was_placed.pod, pod)
        if counts_anew:
            self._view.place(pod_info(pod), node)
        else:
            self._view.refresh(pod)
        if old is None or not old["spec"].get("nodeName"):  # bound, perhaps by this scheduler, which has placed it
            self._nominated.pop(uid, None)
            self._waiting.forget(Request.of(pod))
            self._release(schedulingqueue.ASSIGNED_POD_ADDED, queue)
        elif counts_anew:
            self._release(schedulingqueue.ASSIGNED_POD_GONE, queue)

    def _note_nomination(self, old: Pod | None, pod: Pod) -> None:
        """Follow status.nominatedNodeName (`nominator.UpdateNominatedPod`).

        An update without one before and after keeps the node that this scheduler has chosen but not written yet.
        """
        uid = pod["metadata"]["uid"]
        before, after = _nominated_node(old), _nominated_node(pod)
        if after and _is_to_schedule(pod):
            self._nominated[uid] = (after, pod_info(pod))
        elif before or not _is_to_schedule(pod):
            self._nominated.pop(uid, None)
        elif uid in self._nominated:
            self._nominated[uid] = (self._nominated[uid][0], pod_info(pod))

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        uid = pod["metadata"]["uid"]
        self._waiting.forget(Request.of(pod))
        nominated = self._nominated.pop(uid, None)
        self._gone(uid, queue)
        if nominated is not None:
            self._release(schedulingqueue.ASSIGNED_POD_GONE, queue)

    def _gone(self, uid: str, queue: RequestQueue) -> None:
        if self._view.node_of(uid):
            self._view.take_away(uid)
            self._release(schedulingqueue.ASSIGNED_POD_GONE, queue)

    def _node_created(self, node: Object, queue: RequestQueue) -> None:
        self._view.set_node(node)
        self._release(None, queue)

    def _node_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if _node_facts(old) != _node_facts(new):
            self._view.set_node(new)
            self._release(None, queue)

    def _node_deleted(self, node: Object, queue: RequestQueue) -> None:
        self._view.remove_node(node["metadata"]["name"])

    def _volumes_changed(self, obj: Object, queue: RequestQueue) -> None:
        self._release(schedulingqueue.VOLUMES_CHANGED, queue)

    def _release(self, plugins: frozenset[str] | None, queue: RequestQueue) -> None:
        """Try the pods again that an event concerns."""
        for request, wait, priority in self._waiting.released(plugins, self._context.clock.monotonic()):
            queue.add(request, after=wait, priority=priority)

    # --- one pod

    async def reconcile(self, request: Request) -> Result | None:
        pod = self._pods.get(request.namespace, request.name)
        if pod is None or not _is_to_schedule(pod) or self._view.node_of(pod["metadata"]["uid"]):
            return None
        info = pod_info(pod)
        try:
            node = place(info, self._view, self._around, self._ahead_of(info), lambda names: self._chosen(info, names))
        except NoFit as fit:
            await self._rejected(request, info, fit)
            return None
        if await self._bind_volumes(info, node):
            await self._bind(info, node)
        else:
            self._waiting.tried(
                request, info.uid, info.priority, schedulingqueue.VOLUMES_CHANGED, self._context.clock.monotonic()
            )
        return None

    def _ahead_of(self, info: PodInfo) -> preemption.Nominated:
        """The nominated pods that a pod may not take the room of."""
        return [
            (node, other)
            for node, other in self._nominated.values()
            if other.uid != info.uid and other.priority >= info.priority
        ]

    def _chosen(self, info: PodInfo, names: Sequence[str]) -> str:
        """One of the nodes, at random."""
        if len(names) == 1:
            return names[0]
        key = f"{info.namespace}/{info.name}"
        return names[int(self._context.manager.random.fraction("kube-scheduler", key, 0) * len(names))]

    async def _bind(self, info: PodInfo, node: str) -> None:
        """Bind the pod; it counts on the node from now on."""
        self._view.place(info, node)
        try:
            bound = await self._writes.bind(info, node)
        except ApiError:
            self._view.take_away(info.uid)
            raise
        if not bound:
            self._view.take_away(info.uid)
            return
        self._nominated.pop(info.uid, None)
        self._waiting.forget(Request(info.namespace, info.name))

    async def _bind_volumes(self, info: PodInfo, node: str) -> bool:
        """Choose volumes for the claims that wait for their first consumer; returns whether all are bound."""
        claims = volumefit.claims_of(info, self._volumes)
        if claims is None or not claims.waiting:
            return True
        for claim in claims.waiting:
            await self._volumes.select(self._writes.client, claim, self._view.nodes[node])
        return False

    # --- pods that fit nowhere

    async def _rejected(self, request: Request, info: PodInfo, fit: NoFit) -> None:
        nominated, message = await self._preempt(info, fit)
        now = self._context.clock.monotonic()
        self._waiting.tried(request, info.uid, info.priority, fit.plugins(), now)
        if nominated:
            self._nominated[info.uid] = (nominated, info)
        elif nominated == "":
            self._nominated.pop(info.uid, None)
        await self._writes.reject(info, fit.text(message), nominated)

    async def _preempt(self, info: PodInfo, fit: NoFit) -> tuple[str | None, str]:
        """Delete pods of lower priority. Returns the nominated node ("": none, None: as before) and a message.

        A pod that is rejected before its nodes are looked at gets no further: the plugin DynamicResources, which is
        asked before preemption, then misses the state of its own look at the pod (PostFilter: `not found`).
        """
        if not fit.nodes:
            return None, ""
        if fit.general:
            return None, "not found"
        why = preemption.eligibility(info, self._view, fit)
        if why:
            return None, f"preemption: {why}"
        found, text = preemption.candidates(
            info, self._view, self._around, fit, self._budgets.list(), self._ahead_of(info)
        )
        if not found:
            return "", f"preemption: {text}"
        chosen = preemption.best(found)
        for node, other in list(self._nominated.values()):
            if node == chosen.node and other.priority < info.priority:
                self._nominated.pop(other.uid)
                await self._writes.clear_nomination(other)
        for victim in chosen.victims:
            await self._writes.evict(victim, info, chosen.node)
        return chosen.node, ""


def _is_to_schedule(pod: Pod) -> bool:
    spec = pod["spec"]
    return bool(
        not spec.get("nodeName")
        and not pod["metadata"].get("deletionTimestamp")
        and not is_terminal(pod)
        and not spec.get("schedulingGates")
        and (spec.get("schedulerName") or SCHEDULER) == SCHEDULER
    )


def _nominated_node(pod: Pod | None) -> str:
    return str(((pod or {}).get("status") or {}).get("nominatedNodeName") or "")


def _may_fit_now(old: Pod, pod: Pod) -> bool:
    """Whether an update of an unscheduled pod is a reason to try it again: not one of its status."""
    return bool(
        old["spec"] != pod["spec"]
        or old["metadata"].get("labels") != pod["metadata"].get("labels")
        or old["metadata"]["uid"] != pod["metadata"]["uid"]
    )


def _counts_differently(old: Pod, new: Pod) -> bool:
    before, after = old["metadata"], new["metadata"]
    return bool(
        before.get("labels") != after.get("labels")
        or bool(before.get("deletionTimestamp")) != bool(after.get("deletionTimestamp"))
        or old["spec"].get("containers") != new["spec"].get("containers")
    )


def _node_facts(node: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the decisions depend on."""
    spec, status = node["spec"], node.get("status") or {}
    return (
        node["metadata"].get("labels"),
        spec.get("taints"),
        spec.get("unschedulable"),
        status.get("allocatable"),
        status.get("capacity"),
    )
