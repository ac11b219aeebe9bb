"""The work queue of simulated nodes: their registration, leases and statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controllerlib import Controller, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.broadcasts import HostRecorder
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.kubelet import nodestatus
from fakekube.controllers.kubelet.nodeagent import NodeAgent
from fakekube.controllers.kubelet.podaddresses import NodeRanges, PodAddresses
from fakekube.controllers.kubelet.podadmission import extended_changes
from fakekube.controllers.nodespec import NodeSpec
from fakekube.controllers.objectevents import Object, object_events

NAME = "kubelet-node"

#: The component of Events.
COMPONENT = "kubelet"

#: The user agent, from which the server makes the name of the field manager.
USER_AGENT = f"kubelet/{nodestatus.VERSION} (linux/amd64) kubernetes/fakekube"

#: How many nodes are reconciled at the same time.
WORKERS = 10

#: The taint that kube-apiserver gives to new nodes, and the controller that removes it.
_NOT_READY = "node.kubernetes.io/not-ready"
_LIFECYCLE = "node-lifecycle-controller"


class NodeQueue:
    """Reconciles the nodes of `agents`. `registered` is called with the name of each new node."""

    def __init__(self, context: ControllerContext, registered: Callable[[str], object]) -> None:
        self._context, self._registered = context, registered
        self.agents: dict[str, NodeAgent] = {}
        self._nodes = context.kind("v1", "Node")
        self._ranges = NodeRanges()
        self._controller: Controller | None = None

    def add(self) -> None:
        """Add the queue to the manager."""
        nodes = object_events(created=self._created, updated=self._updated, deleted=self._deleted)
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Node", nodes).watches_raw_source(_Begin(self.agents))
        self._controller = builder.complete(self.reconcile)

    def add_node(self, spec: NodeSpec) -> NodeAgent:
        """A further node, which is registered at once if the kubelets run. Raises ValueError for a name in use."""
        if spec.name in self.agents:
            raise ValueError(f"there is a node {spec.name!r} already (nodes: {', '.join(self.agents)})")
        client = self._context.client("", user=f"system:node:{spec.name}", user_agent=USER_AGENT)
        recorder = HostRecorder(self._context, client, COMPONENT, spec.name)
        address, network = self._ranges.take(spec.pods)
        agent = NodeAgent(spec, client, recorder, address, PodAddresses(network), str(network))
        self.agents[spec.name] = agent
        self.changed(spec.name)
        return agent

    def get(self, name: str) -> Object | None:
        """The Node of a name in the shared informer."""
        return self._nodes.get("", name)

    def changed(self, name: str) -> None:
        """Reconcile a node, if the kubelets run."""
        if self._controller is not None and self._controller.started.is_set():
            self._controller.queue.add(Request("", name))

    async def reconcile(self, request: Request) -> Result | None:
        agent = self.agents.get(request.name)
        if agent is None:
            return None
        new = not agent.is_registered
        due = await agent.work(self._nodes.get("", request.name), self._context.now())
        if new and agent.is_registered:
            self._registered(request.name)
            if _LIFECYCLE not in self._context.gates:
                await self._remove_not_ready(request.name)
        return Result(requeue_after=due) if due is not None else None

    async def _remove_not_ready(self, name: str) -> None:
        """Remove the taint of new nodes as the node lifecycle controller would, which does not run here."""
        client = self._context.client("node-controller")
        node = await client.get("v1", "Node", name)
        taints = node["spec"].get("taints") or ()
        kept = [one for one in taints if one["key"] != _NOT_READY]
        if len(kept) < len(taints):
            await client.patch(node, {"spec": {"taints": kept or None}})

    def _created(self, node: Object, queue: RequestQueue) -> None:
        name = node["metadata"]["name"]
        if name in self.agents and not self.agents[name].is_registered:
            queue.add(Request("", name))

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        """Another client has changed the extended resources of a node."""
        if new["metadata"]["name"] in self.agents and extended_changes(new):
            queue.add(Request.of(new))

    def _deleted(self, node: Object, queue: RequestQueue) -> None:
        """A node that was deleted is not registered again, as by a kubelet that is not restarted."""
        self.agents.pop(node["metadata"]["name"], None)


class _Begin:
    """A source that requests each node once at the start."""

    def __init__(self, agents: Mapping[str, NodeAgent]) -> None:
        self._agents = agents

    async def start(self, queue: RequestQueue, tasks: Any) -> None:
        for name in self._agents:
            queue.add(Request("", name))

    async def wait_synced(self) -> None:
        """There is nothing to wait for."""
