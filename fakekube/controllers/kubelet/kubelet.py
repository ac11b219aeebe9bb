"""The kubelets of all simulated nodes: two work queues, one of pods and one of nodes (pkg/kubelet).

What it leaves out: containers, images and volumes; resource usage and evictions by it; static pods; checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Controller, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.kubelet.effects import Effects
from fakekube.controllers.kubelet.nodeagent import NodeAgent
from fakekube.controllers.kubelet.nodequeue import NodeQueue
from fakekube.controllers.kubelet.nodeworld import NamespacedObjects, NodeWorld, Stages
from fakekube.controllers.kubelet.podanswers import PodAnswers
from fakekube.controllers.kubelet.podconditions import own_conditions
from fakekube.controllers.kubelet.podmachine import PodMachine
from fakekube.controllers.kubelet.podmoment import PodEvent
from fakekube.controllers.kubelet.podreport import patch_of, status_of
from fakekube.controllers.kubelet.podrun import PodRun, new_run
from fakekube.controllers.kubelet.stagedocument import stages_of
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.nodespec import numbered
from fakekube.controllers.objectevents import Object, object_events
from fakekube.controllers.workload.podstate import is_terminal

Pod = Mapping[str, Any]

NAME = "kubelet"

#: How many pods are reconciled at the same time.
WORKERS = 10

_NEEDED = ("ConfigMap", "Secret", "PersistentVolumeClaim")


def add(context: ControllerContext) -> None:
    """Add the kubelets of the nodes in the settings, by default of one node."""
    kubelets = Kubelets(context)
    nodes = context.settings.nodes
    for spec in numbered(1) if nodes is None else nodes:
        kubelets.nodes.add_node(spec)
    kubelets.add()
    context.parts[NAME] = kubelets


class Kubelets:
    """Registers nodes and runs the pods that are bound to them."""

    nodes: NodeQueue
    agents: dict[str, NodeAgent]
    stages: Stages
    answers: PodAnswers
    pods: CachedKind

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.nodes = NodeQueue(context, self._adopt_pods)
        self.agents = self.nodes.agents
        configured = [one for path in reversed(context.settings.stages) for one in stages_of(path)]
        self.stages = Stages(context.manager.random, configured)
        self.answers = PodAnswers()
        self._effects = Effects(context)
        self.runs: dict[str, PodRun] = {}
        self.pods = context.kind("v1", "Pod")
        self._kinds = {kind: context.kind("v1", kind) for kind in _NEEDED}
        self._uids: dict[Request, str] = {}
        self._blocked: dict[Request, None] = {}
        self._seen: dict[str, str] = {}
        self._controller: Controller | None = None

    def add(self) -> None:
        """Add both queues to the manager."""
        pods = object_events(created=self._pod_created, updated=self._pod_updated, deleted=self._pod_deleted)
        unblocking = object_events(self._unblock)
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Pod", pods)
        for kind in _NEEDED:
            builder.watches("v1", kind, unblocking)
        self._controller = builder.complete(self.reconcile)
        self.nodes.add()

    def _adopt_pods(self, node: str) -> None:
        """Run the pods that were bound to a node before it was added, or while it was lost."""
        if self._controller is None or not self._controller.started.is_set():
            return  # they are among the first events
        for pod in self.pods.list():
            if pod["spec"].get("nodeName") == node:
                self._controller.queue.add(Request.of(pod))

    # --- pods

    def now(self) -> datetime:
        """The present time, in UTC."""
        return self._context.now()

    def touch(self, uids: Sequence[str]) -> None:
        """Reconcile pods whose state at the kubelet a test has changed."""
        assert self._controller is not None
        for uid in uids:
            run = self.runs.get(uid)
            if run is not None:
                self._controller.queue.add(Request(run.namespace, run.name))

    def recover(self, node: str) -> None:
        """A lost node works again: what should have happened to its pods meanwhile happens now."""
        self.agents[node].recovered()
        self.nodes.changed(node)
        self._adopt_pods(node)

    def _is_mine(self, pod: Pod) -> bool:
        return pod["spec"].get("nodeName") in self.agents

    def _pod_created(self, pod: Object, queue: RequestQueue) -> None:
        if self._is_mine(pod):
            queue.add(Request.of(pod))

    def _pod_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        meta = new["metadata"]
        if self._is_mine(new) and self._seen.get(meta["uid"]) != meta["resourceVersion"]:
            self._note_overwritten(old, new)
            queue.add(Request.of(new))

    def _note_overwritten(self, old: Object, new: Object) -> None:
        """Another client has changed a condition of the kubelet, which writes it again (`status_manager.go`,
        needsReconcile).
        """
        run = self.runs.get(new["metadata"]["uid"])
        before, after = (own_conditions(one.get("status") or {}) for one in (old, new))
        if run is not None and run.written is not None and before != after != own_conditions(run.written):
            run.written = new["status"]

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._forget(Request.of(pod), pod["metadata"]["uid"])

    def _forget(self, request: Request, uid: str) -> None:
        run = self.runs.pop(uid, None)
        self._seen.pop(uid, None)
        if self._uids.get(request) == uid:
            del self._uids[request]
            self._blocked.pop(request, None)
        if run is not None and run.node in self.agents:
            agent = self.agents[run.node]
            agent.addresses.free(run.ip, uid)
            agent.resources.free(uid)

    def _unblock(self, obj: Object, queue: RequestQueue) -> None:
        """A ConfigMap, Secret or claim has changed: pods of its namespace may have waited for it."""
        for request in list(self._blocked):
            if request.namespace == obj["metadata"]["namespace"]:
                queue.add(request)

    async def reconcile(self, request: Request) -> Result | None:
        pod = self.pods.get(request.namespace, request.name)
        if pod is None:
            return None
        agent = self.agents.get(pod["spec"].get("nodeName") or "")
        if agent is None or agent.is_lost:
            return None
        now = self._context.now()
        run = self._run_of(request, pod, agent, now)
        if run is None:
            return None
        await self._effects.settle(run, pod, now)
        machine = self.machine(run, pod, agent, now)
        machine.advance()
        if run.finished:
            agent.resources.free(run.uid)
            agent.addresses.free(run.ip, run.uid)
        self._note_blocked(request, machine)
        if not await self._write_status(run, pod, agent, now):
            return None
        if run.finished:
            if pod["metadata"].get("deletionTimestamp"):
                await self._delete(pod, agent)
            return None
        due = run.next_due()
        return None if due is None else Result(requeue_after=max((due - now).total_seconds(), 1e-6))

    def machine(self, run: PodRun, pod: Pod, agent: NodeAgent, now: datetime) -> PodMachine:
        """The machine of a pod at a moment."""

        def record(event: PodEvent) -> None:
            agent.recorder.event(_reference(pod, event), event.kind, event.reason, event.message)

        world = NodeWorld(self.stages, agent.images, NamespacedObjects(self._kinds, run.namespace))
        return PodMachine(run, pod, world, now, record)

    def _run_of(self, request: Request, pod: Pod, agent: NodeAgent, now: datetime) -> PodRun | None:
        """The state of a pod; None for one that has ended before this kubelet has seen it."""
        uid = pod["metadata"]["uid"]
        run = self.runs.get(uid)
        if run is not None:
            return run
        if is_terminal(pod):
            return None
        run = new_run(pod, now)
        self.runs[uid] = run
        self._uids[request] = uid
        if run.written is not None:
            agent.resources.count(pod)
        else:
            problem = agent.resources.admit(pod, self.nodes.get(run.node))
            if problem is not None:
                reason, message = problem
                run.verdict, run.finished, run.rejected = (reason, f"Pod was rejected: {message}"), True, True
                agent.recorder.event(pod, "Warning", reason, message)
                return run
        if run.ip:
            agent.addresses.keep(run.ip, uid)
        elif not run.host_network:
            run.ip = agent.addresses.take(uid)
        return run

    def _note_blocked(self, request: Request, machine: PodMachine) -> None:
        """Remember pods that wait for an object."""
        run = machine.run
        waits = not run.finished and any(not one.is_running and one.due is None for one in run.containers.values())
        if waits:
            self._blocked[request] = None
        else:
            self._blocked.pop(request, None)

    async def _write_status(self, run: PodRun, pod: Pod, agent: NodeAgent, now: datetime) -> bool:
        """Patch the status if it has changed; returns whether the pod still exists."""
        status = status_of(run, pod, agent.address, now)
        patch = patch_of(run.written or pod.get("status") or {}, status, run.uid)
        if patch is None:
            return True
        try:
            found = await agent.client.patch(_target(pod), patch, type="strategic", subresource="status")
        except ApiError as error:
            if error.reason in ("NotFound", "Conflict"):
                return False
            raise
        run.written = status
        self._seen[run.uid] = found["metadata"]["resourceVersion"]
        return True

    async def _delete(self, pod: Pod, agent: NodeAgent) -> None:
        """Remove the pod, whose containers have ended, from the API."""
        try:
            await agent.client.delete(_target(pod), uid=pod["metadata"]["uid"], grace_period=0)
        except ApiError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise


def _reference(pod: Pod, event: PodEvent) -> dict[str, Any]:
    """What an Event refers to: the pod, or a container of it by its field path (`GenerateContainerRef`)."""
    meta = pod["metadata"]
    found = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }
    if event.container:
        found["fieldPath"] = f"spec.{event.field}{{{event.container}}}"
    return found


def _target(pod: Pod) -> dict[str, Any]:
    meta = pod["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": meta["namespace"], "name": meta["name"]}}
