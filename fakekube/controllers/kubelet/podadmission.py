"""Whether a node admits a pod that is bound to it (pkg/kubelet/lifecycle/predicate.go).

What it leaves out: pods of lower priority do not make room for critical ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.controllers.workload.hostports import Port, conflict, host_ports
from fakekube.controllers.workload.nodefit import matches_node, untolerated_taint
from fakekube.controllers.workload.podrequests import amounts, pod_requests

Pod = Mapping[str, Any]
Node = Mapping[str, Any]
Verdict = tuple[str, str]
"""A reason and a message."""

#: The operating system of simulated nodes, and the label that has it.
OS = "linux"
OS_LABEL = "kubernetes.io/os"

#: The resources that are compared first, in their order.
_FIRST = ("pods", "cpu", "memory", "ephemeral-storage")


def is_extended(name: str) -> bool:
    """Whether a resource is one of the cluster's own, `example.com/gpu` (IsExtendedResourceName)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def extended_changes(node: Node) -> dict[str, str | None]:
    """The extended resources that differ between the capacity and the allocatable of a node; None: not in capacity.

    A kubelet copies them, because others may write the capacity (`MachineInfo` of pkg/kubelet/nodestatus).
    """
    status = node.get("status") or {}
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    changed = {name: str(value) for name, value in capacity.items() if allocatable.get(name) != value}
    gone = [name for name in allocatable if name not in capacity]
    return {name: value for name, value in {**changed, **dict.fromkeys(gone)}.items() if is_extended(name)}


class NodeResources:
    """What the pods of a node use of its resources and its ports. `capacity`: until the node is known."""

    def __init__(self, capacity: Mapping[str, str]) -> None:
        self._capacity = capacity
        self._used: dict[str, dict[str, int]] = {}
        self._ports: dict[str, frozenset[Port]] = {}
        self._sums: dict[str, int] = {}

    def admit(self, pod: Pod, node: Node | None) -> Verdict | None:
        """Count a pod. If the node does not admit it, it is not counted, and this returns why."""
        found = next(self._problems(pod, node), None)
        if found is None:
            self.count(pod)
        return found

    def _problems(self, pod: Pod, node: Node | None) -> Iterator[Verdict]:
        """Why the node does not admit the pod, in the order of the kubelet's checks."""
        spec, labels = pod["spec"], pod["metadata"].get("labels") or {}
        if labels.get(OS_LABEL, OS) != OS:
            text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
            yield "PodOSSelectorNodeLabelDoesNotMatch", text
        if (spec.get("os") or {}).get("name", OS) != OS:
            yield "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"
        status = (node or {}).get("status") or {}
        yield from self._shortages(pod, amounts(status.get("allocatable") or self._capacity))
        if node is not None and not matches_node(spec, node):
            yield _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
        wanted = host_ports(pod)
        if wanted and any(conflict(wanted, used) for used in self._ports.values()):
            yield _predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
        taints = ((node or {}).get("spec") or {}).get("taints") or ()
        if untolerated_taint(taints, spec.get("tolerations") or (), ("NoExecute",)) is not None:
            yield _predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")

    def _shortages(self, pod: Pod, capacity: Mapping[str, int]) -> Iterator[Verdict]:
        """The resources that do not suffice; extended ones that the node does not have count as none."""
        wanted = {**pod_requests(pod), "pods": 1}
        rest = sorted(wanted.keys() - set(_FIRST))
        for name in (*(one for one in _FIRST if one in wanted), *rest):
            if is_extended(name) and name not in capacity:
                continue
            used, most = self._sums.get(name, 0), capacity.get(name, 0)
            if wanted[name] and used + wanted[name] > most:
                text = f"requested: {wanted[name]}, used: {used}, capacity: {most}"
                yield f"OutOf{name}", f"Node didn't have enough resource: {name}, {text}"

    def count(self, pod: Pod) -> None:
        """Count a pod that runs already."""
        uid = pod["metadata"]["uid"]
        self.free(uid)
        self._used[uid] = {**pod_requests(pod), "pods": 1}
        self._ports[uid] = host_ports(pod)
        for name, value in self._used[uid].items():
            self._sums[name] = self._sums.get(name, 0) + value

    def free(self, uid: str) -> None:
        """Count a pod no longer."""
        self._ports.pop(uid, None)
        for name, value in self._used.pop(uid, {}).items():
            self._sums[name] -= value


def _predicate(name: str, why: str) -> Verdict:
    return name, f"Predicate {name} failed: {why}"
