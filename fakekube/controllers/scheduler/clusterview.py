"""The nodes and the pods that are assigned to them, as the scheduler counts them (pkg/scheduler/backend/cache)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.controller import controller_of
from fakekube.controllers.workload.hostports import Port, host_ports
from fakekube.controllers.workload.podrequests import amounts, pod_requests
from fakekube.struct import Struct, field, replace

Pod = Mapping[str, Any]
Node = Mapping[str, Any]


class PodInfo(Struct, frozen=True):
    """A pod with what is counted for it."""

    pod: Pod
    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    priority: int
    controller: str
    requests: Mapping[str, int]
    scored: Mapping[str, int]
    ports: frozenset[Port]

    @property
    def affinity(self) -> Mapping[str, Any]:
        return self.pod["spec"].get("affinity") or {}

    @property
    def is_terminating(self) -> bool:
        return bool(self.pod["metadata"].get("deletionTimestamp"))

    def anti_affinity_terms(self) -> Sequence[Mapping[str, Any]]:
        """The required terms of its anti-affinity."""
        own = self.affinity.get("podAntiAffinity") or {}
        return own.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def pod_info(pod: Pod) -> PodInfo:
    meta, owner = pod["metadata"], controller_of(pod)
    return PodInfo(
        pod,
        meta["uid"],
        meta["namespace"],
        meta["name"],
        meta.get("labels") or {},
        pod["spec"].get("priority") or 0,
        owner["uid"] if owner is not None else "",
        pod_requests(pod),
        pod_requests(pod, defaults=True),
        host_ports(pod),
    )


class NodeInfo(Struct):
    """A node, its pods, and the sums of what they request."""

    name: str
    node: Node
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    pods: dict[str, PodInfo] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    scored: dict[str, int] = field(default_factory=dict)

    @property
    def taints(self) -> Sequence[Mapping[str, Any]]:
        return self.node["spec"].get("taints") or ()

    def add(self, pod: PodInfo) -> None:
        self.remove(pod.uid)
        self.pods[pod.uid] = pod
        _count(self.requested, pod.requests, 1)
        _count(self.scored, pod.scored, 1)

    def remove(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            _count(self.requested, pod.requests, -1)
            _count(self.scored, pod.scored, -1)


def _count(sums: dict[str, int], amounts: Mapping[str, int], sign: int) -> None:
    for name, value in amounts.items():
        sums[name] = sums.get(name, 0) + sign * value


class ClusterView:
    """The nodes in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self._placed: dict[str, tuple[str, PodInfo]] = {}
        #: The pods with required anti-affinity, and the number of pods of each controller on each node.
        self.repelling: dict[str, PodInfo] = {}
        self.by_controller: dict[str, dict[str, int]] = {}

    def set_node(self, node: Node) -> None:
        name = node["metadata"]["name"]
        before = self.nodes.get(name)
        status = node.get("status") or {}
        allocatable = amounts(status.get("allocatable") or status.get("capacity"))
        found = NodeInfo(name, node, node["metadata"].get("labels") or {}, allocatable)
        if before is not None:
            found.pods, found.requested, found.scored = before.pods, before.requested, before.scored
        else:
            for where, pod in self._placed.values():
                if where == name:
                    found.add(pod)
        self.nodes[name] = found

    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)

    def place(self, pod: PodInfo, node: str) -> None:
        """Count a pod on a node."""
        self.take_away(pod.uid)
        self._placed[pod.uid] = (node, pod)
        if node in self.nodes:
            self.nodes[node].add(pod)
        if pod.anti_affinity_terms():
            self.repelling[pod.uid] = pod
        if pod.controller:
            numbers = self.by_controller.setdefault(pod.controller, {})
            numbers[node] = numbers.get(node, 0) + 1

    def refresh(self, pod: Pod) -> None:
        """Replace a pod by a newer version that counts alike: another status, other annotations."""
        uid = pod["metadata"]["uid"]
        node, present = self._placed[uid]
        found = replace(present, pod=pod)
        self._placed[uid] = (node, found)
        if node in self.nodes:
            self.nodes[node].pods[uid] = found
        if uid in self.repelling:
            self.repelling[uid] = found

    def take_away(self, uid: str) -> None:
        """Count a pod no longer."""
        found = self._placed.pop(uid, None)
        if found is None:
            return
        node, pod = found
        if node in self.nodes:
            self.nodes[node].remove(uid)
        self.repelling.pop(uid, None)
        if pod.controller:
            numbers = self.by_controller[pod.controller]
            numbers[node] -= 1
            if not numbers[node]:
                del numbers[node]
            if not numbers:
                del self.by_controller[pod.controller]

    def node_of(self, uid: str) -> str:
        """The node that a pod is counted on, or ""."""
        found = self._placed.get(uid)
        return found[0] if found is not None else ""

    def placed(self, uid: str) -> PodInfo | None:
        found = self._placed.get(uid)
        return found[1] if found is not None else None
