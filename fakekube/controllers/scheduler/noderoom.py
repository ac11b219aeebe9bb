"""Whether a node has room: its resources, its ports, and whether it takes pods at all.

Source: plugins noderesources, nodeports, nodeunschedulable, nodename.
"""

from __future__ import annotations

from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection
from fakekube.controllers.workload.hostports import conflict
from fakekube.controllers.workload.nodefit import tolerates

_UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def unschedulable(pod: PodInfo) -> Filter:
    """Nodes with spec.unschedulable take only pods that tolerate it."""
    tolerated = any(tolerates(one, _UNSCHEDULABLE_TAINT) for one in pod.pod["spec"].get("tolerations") or ())

    def check(node: NodeInfo) -> Rejection | None:
        if tolerated or not node.node["spec"].get("unschedulable"):
            return None
        return Rejection("NodeUnschedulable", ("node(s) were unschedulable",), resolvable=False)

    return check


def resources(pod: PodInfo) -> Filter:
    """The free resources of a node must suffice, and the number of its pods be below the most it takes."""
    wanted = {name: value for name, value in pod.requests.items() if value}

    def check(node: NodeInfo) -> Rejection | None:
        reasons = []
        if len(node.pods) + 1 > node.allocatable.get("pods", 0):
            reasons.append("Too many pods")
        resolvable = True
        for name in _ordered(wanted):
            if wanted[name] > node.allocatable.get(name, 0) - node.requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
                resolvable &= wanted[name] <= node.allocatable.get(name, 0)
        return Rejection("NodeResourcesFit", tuple(reasons), resolvable) if reasons else None

    return check


def _ordered(names: dict[str, int]) -> list[str]:
    first = [name for name in ("cpu", "memory", "ephemeral-storage") if name in names]
    return [*first, *sorted(names.keys() - set(first))]


def ports(pod: PodInfo) -> Filter | None:
    """No other pod of the node may use the same port of the host."""
    if not pod.ports:
        return None

    def check(node: NodeInfo) -> Rejection | None:
        for other in node.pods.values():
            if conflict(pod.ports, other.ports):
                return Rejection("NodePorts", ("node(s) didn't have free ports for the requested pod ports",))
        return None

    return check


def least_allocated(cpu: float, memory: float) -> float:
    """100 for an empty node, 0 for a full one, of CPU and memory on average."""
    return (1 - cpu + (1 - memory)) / 2 * 100


def balanced_allocation(cpu: float, memory: float) -> float:
    """The more alike the used parts of CPU and memory are, the better."""
    return (1 - abs(cpu - memory) / 2) * 100


def used_parts(pod: PodInfo, node: NodeInfo) -> tuple[float, float]:
    """The parts of the CPU and of the memory of a node that are used with this pod."""
    return _used_part("cpu", pod, node), _used_part("memory", pod, node)


def _used_part(name: str, pod: PodInfo, node: NodeInfo) -> float:
    total = node.allocatable.get(name, 0)
    return min((node.scored.get(name, 0) + pod.scored.get(name, 0)) / total, 1.0) if total else 1.0
