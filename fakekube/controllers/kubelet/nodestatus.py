"""The Node object, its status and its Lease as a kubelet writes them (pkg/kubelet/kubelet_node_status.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fakekube.controllers.nodespec import NodeSpec
from fakekube.struct import Struct

Object = dict[str, Any]
Pressure = Literal["memory", "disk", "pid"]

VERSION = "v1.36.2"

LEASE_NAMESPACE = "kube-node-lease"

_PRESSURES: Mapping[Pressure, tuple[str, tuple[str, str], tuple[str, str]]] = {
    "memory": (
        "MemoryPressure",
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ),
    "disk": (
        "DiskPressure",
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ),
    "pid": (
        "PIDPressure",
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ),
}

#: The reasons of the Events of pressures.
PRESSURE_EVENTS: Mapping[tuple[Pressure, bool], str] = {
    ("memory", False): "NodeHasSufficientMemory",
    ("memory", True): "NodeHasInsufficientMemory",
    ("disk", False): "NodeHasNoDiskPressure",
    ("disk", True): "NodeHasDiskPressure",
    ("pid", False): "NodeHasSufficientPID",
    ("pid", True): "NodeHasInsufficientPID",
}


class Condition(Struct, frozen=True):
    """What the conditions of a node say. `problem`: why it is not ready, "" if it is."""

    pressures: frozenset[Pressure] = frozenset()
    problem: str = ""


def new_node(spec: NodeSpec, address: str, cidr: str, conditions: Sequence[Object]) -> Object:
    """The Node that a kubelet registers."""
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
    }
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    node_spec: Object = {"podCIDR": cidr, "podCIDRs": [cidr]}
    if spec.taints:
        node_spec["taints"] = [dict(one) for one in spec.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": {**labels, **spec.labels},
            "annotations": {**annotations, **spec.annotations},
        },
        "spec": node_spec,
        "status": _status(spec, address, conditions),
    }


def _status(spec: NodeSpec, address: str, conditions: Sequence[Object]) -> Object:
    capacity = {"hugepages-1Gi": "0", "hugepages-2Mi": "0", **spec.capacity()}
    return {
        "capacity": capacity,
        "allocatable": dict(capacity),
        "conditions": list(conditions),
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": spec.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": "6.8.0",
            "osImage": "fakekube",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def conditions_of(state: Condition, before: Sequence[Mapping[str, Any]], now: str) -> Sequence[Object]:
    """The conditions at a moment; those whose status is as `before` keep the time of their transition."""
    known = {one["type"]: one for one in before}
    found = []
    for pressure, (kind, good, bad) in _PRESSURES.items():
        under = pressure in state.pressures
        found.append(_condition(kind, "True" if under else "False", *(bad if under else good), known, now))
    ready = ("False", "KubeletNotReady", state.problem) if state.problem else _READY
    return [*found, _condition("Ready", *ready, known, now)]


_READY = ("True", "KubeletReady", "kubelet is posting ready status")


def _condition(
    kind: str, status: str, reason: str, message: str, known: Mapping[str, Mapping[str, Any]], now: str
) -> Object:
    old = known.get(kind)
    since = old["lastTransitionTime"] if old is not None and old.get("status") == status else now
    times = {"lastHeartbeatTime": now, "lastTransitionTime": since}
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def new_lease(spec: NodeSpec, node: Mapping[str, Any], renewed: str) -> Object:
    """The Lease of a node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": spec.name, "uid": node["metadata"]["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": spec.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": spec.name, "leaseDurationSeconds": spec.lease_duration, "renewTime": renewed},
    }
