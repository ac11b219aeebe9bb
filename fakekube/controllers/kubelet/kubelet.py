"""The kubelets of all simulated nodes: two work queues, one of pods and one of nodes (pkg/kubelet).

What it leaves out: containers, images and volumes; resource usage and evictions by it; static pods; checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import Controller as QueueController
from controllerlib.controller import CreateEvent, DeleteEvent, HandlerFuncs, RequestQueue, UpdateEvent
from fakekube.controllers.broadcasts import HostRecorder
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.kubelet import nodestatus
from fakekube.controllers.kubelet.nodeagent import NodeAgent
from fakekube.controllers.kubelet.nodeworld import NamespacedObjects, NodeWorld, Stages
from fakekube.controllers.kubelet.podaddresses import NodeRanges, PodAddresses
from fakekube.controllers.kubelet.podanswers import PodAnswers
from fakekube.controllers.kubelet.podmachine import PodEvent, PodMachine
from fakekube.controllers.kubelet.podreport import patch_of, status_of
from fakekube.controllers.kubelet.podrun import PodRun, new_run
from fakekube.controllers.nodespec import NodeSpec, numbered
from fakekube.controllers.workload.podrequests import pod_requests
from fakekube.controllers.workload.podstate import is_terminal

Pod = Mapping[str, Any]

NAME = "kubelet"
NODE_QUEUE = "kubelet-node"

#: The user agent, from which the server makes the name of the field manager.
USER_AGENT = f"kubelet/{nodestatus.VERSION} (linux/amd64) kubernetes/fakekube"

#: How many pods and nodes are reconciled at the same time.
WORKERS = 10

#: The taint that kube-apiserver gives to new nodes, and which the node lifecycle controller removes.
_NOT_READY = "node.kubernetes.io/not-ready"

_NEEDED = ("ConfigMap", "Secret", "PersistentVolumeClaim")


def add(context: ControllerContext) -> None:
    """Add the kubelets of the nodes in the settings, by default of one node."""
    kubelets = Kubelets(context)
    nodes = context.settings.nodes
    for spec in numbered(1) if nodes is None else nodes:
        kubelets.add_node(spec)
    kubelets.add()
    context.parts[NAME] = kubelets


class Kubelets:
    """Registers nodes and runs the pods that are bound to them."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self.agents: dict[str, NodeAgent] = {}
        self.stages = Stages(context.manager.random)
        self.answers = PodAnswers()
        self.runs: dict[str, PodRun] = {}
        self.pods = context.kind("v1", "Pod")
        self._nodes = context.kind("v1", "Node")
        self._kinds = {kind: context.kind("v1", kind) for kind in _NEEDED}
        self._uids: dict[Request, str] = {}
        self._blocked: dict[Request, None] = {}
        self._seen: dict[str, str] = {}
        self._ranges = NodeRanges()
        self._pod_queue: QueueController | None = None
        self._node_queue: QueueController | None = None

    def add(self) -> None:
        """Add both queues to the manager."""
        pods = HandlerFuncs(create=self._pod_created, update=self._pod_updated, delete=self._pod_deleted)
        unblocking = HandlerFuncs(create=self._unblock, update=self._unblock)
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Pod", pods)
        for kind in _NEEDED:
            builder.watches("v1", kind, unblocking)
        self._pod_queue = builder.complete(self.reconcile)
        nodes = HandlerFuncs(create=self._node_created, delete=self._node_deleted)
        builder = self._context.controller(NODE_QUEUE).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Node", nodes).watches_raw_source(_Begin(self.agents))
        self._node_queue = builder.complete(self.reconcile_node)

    # --- nodes

    def add_node(self, spec: NodeSpec) -> NodeAgent:
        """A further node, which is registered at once if the kubelets run. Raises ValueError for a name in use."""
        if spec.name in self.agents:
            raise ValueError(f"there is a node {spec.name!r} already (nodes: {', '.join(self.agents)})")
        client = self._context.client("", user=f"system:node:{spec.name}", user_agent=USER_AGENT)
        recorder = HostRecorder(self._context, client, NAME, spec.name)
        address, network = self._ranges.take(spec.pods)
        agent = NodeAgent(spec, client, recorder, address, PodAddresses(network), str(network))
        self.agents[spec.name] = agent
        self.node_changed(spec.name)
        return agent

    def node_changed(self, name: str) -> None:
        """Reconcile a node, if the kubelets run."""
        if self._node_queue is not None and self._node_queue.started.is_set():
            self._node_queue.queue.add(Request("", name))

    async def reconcile_node(self, request: Request) -> Result | None:
        agent = self.agents.get(request.name)
        if agent is None:
            return None
        new = not agent.is_registered
        due = await agent.work(self._nodes.get("", request.name), self._context.now())
        if new and agent.is_registered:
            self._adopt_pods(request.name)
            if "node-lifecycle-controller" not in self._context.gates:
                await self._remove_not_ready(request.name)
        return Result(requeue_after=due) if due is not None else None

    def _adopt_pods(self, name: str) -> None:
        """Run the pods that were bound to the node before it was added."""
        assert self._pod_queue is not None
        for pod in self.pods.list():
            if pod["spec"].get("nodeName") == name:
                self._pod_queue.queue.add(Request.of(pod))

    async def _remove_not_ready(self, name: str) -> None:
        """Remove the taint of new nodes as the node lifecycle controller would, which does not run here."""
        client = self._context.client("node-controller")
        node = await client.get("v1", "Node", name)
        taints = node["spec"].get("taints") or ()
        kept = [one for one in taints if one["key"] != _NOT_READY]
        if len(kept) < len(taints):
            await client.patch(node, {"spec": {"taints": kept or None}})

    def _node_created(self, event: CreateEvent, queue: RequestQueue) -> None:
        assert event.obj is not None
        name = event.obj["metadata"]["name"]
        if name in self.agents and not self.agents[name].is_registered:
            queue.add(Request("", name))

    def _node_deleted(self, event: DeleteEvent, queue: RequestQueue) -> None:
        """A node that was deleted is not registered again, as by a kubelet that is not restarted."""
        assert event.obj is not None
        self.agents.pop(event.obj["metadata"]["name"], None)

    # --- pods

    def now(self) -> datetime:
        """The present time, in UTC."""
        return self._context.now()

    def touch(self, uids: Sequence[str]) -> None:
        """Reconcile pods whose state at the kubelet a test has changed."""
        assert self._pod_queue is not None
        for uid in uids:
            run = self.runs.get(uid)
            if run is not None:
                self._pod_queue.queue.add(Request(run.namespace, run.name))

    def pods_on(self, node: str) -> Sequence[str]:
        """The uids of the pods that run on a node."""
        return [run.uid for run in self.runs.values() if run.node == node]

    def _is_mine(self, pod: Pod) -> bool:
        return pod["spec"].get("nodeName") in self.agents

    def _pod_created(self, event: CreateEvent, queue: RequestQueue) -> None:
        if event.obj is not None and self._is_mine(event.obj):
            queue.add(Request.of(event.obj))

    def _pod_updated(self, event: UpdateEvent, queue: RequestQueue) -> None:
        pod = event.new
        assert pod is not None
        meta = pod["metadata"]
        if self._is_mine(pod) and self._seen.get(meta["uid"]) != meta["resourceVersion"]:
            queue.add(Request.of(pod))

    def _pod_deleted(self, event: DeleteEvent, queue: RequestQueue) -> None:
        assert event.obj is not None
        self._forget(Request.of(event.obj), event.obj["metadata"]["uid"])

    def _forget(self, request: Request, uid: str) -> None:
        run = self.runs.pop(uid, None)
        self._seen.pop(uid, None)
        if self._uids.get(request) == uid:
            del self._uids[request]
            self._blocked.pop(request, None)
        if run is not None and run.node in self.agents:
            agent = self.agents[run.node]
            agent.addresses.free(run.ip)
            agent.resources.free(uid)

    def _unblock(self, event: CreateEvent | UpdateEvent, queue: RequestQueue) -> None:
        """A ConfigMap, Secret or claim has changed: pods of its namespace may have waited for it."""
        obj = event.new if isinstance(event, UpdateEvent) else event.obj
        assert obj is not None
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
        machine = self.machine(run, pod, agent, now)
        machine.advance()
        if run.finished:
            agent.resources.free(run.uid)
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
            agent.resources.count(uid, {**pod_requests(pod), "pods": 1})
        else:
            run.verdict = agent.resources.admit(uid, pod_requests(pod))
            if run.verdict is not None:
                run.finished = run.rejected = True
                agent.recorder.event(pod, "Warning", *run.verdict)
                return run
        if run.ip:
            agent.addresses.keep(run.ip)
        elif not run.host_network:
            run.ip = agent.addresses.take()
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


class _Begin:
    """A source that requests each node once at the start."""

    def __init__(self, agents: Mapping[str, NodeAgent]) -> None:
        self._agents = agents

    async def start(self, queue: RequestQueue, tasks: Any) -> None:
        for name in self._agents:
            queue.add(Request("", name))

    async def wait_synced(self) -> None:
        """There is nothing to wait for."""


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
