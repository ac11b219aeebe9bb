"""The conditions of a pod that its kubelet sets (pkg/kubelet/status/generate.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.kubelet.podrun import Container, PodRun

Condition = dict[str, Any]

#: The types that the kubelet owns, in the order in which it writes them.
KUBELET_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def own_conditions(status: Mapping[str, Any]) -> Mapping[str, str]:
    """The conditions in a status that the kubelet owns: type and status."""
    return {one["type"]: one["status"] for one in status.get("conditions") or () if one["type"] in KUBELET_CONDITIONS}


def kubelet_conditions(
    run: PodRun, phase: str, gates: Sequence[str], foreign: Sequence[Mapping[str, Any]]
) -> list[Condition]:
    """The conditions, without times. `gates`: the readiness gates; `foreign`: the conditions that others set."""
    containers_ready = _containers_ready(run, phase)
    return [
        {"type": "PodReadyToStartContainers", "status": _text(run.sandbox and not run.finished)},
        {"type": "Initialized", **_initialized(run, phase)},
        {"type": "Ready", **_ready(containers_ready, gates, foreign)},
        {"type": "ContainersReady", **containers_ready},
        {"type": "PodScheduled", "status": "True"},
    ]


def _text(value: bool) -> str:
    return "True" if value else "False"


def _containers_ready(run: PodRun, phase: str) -> Condition:
    if phase in ("Succeeded", "Failed"):
        return {"status": "False", "reason": "PodCompleted" if phase == "Succeeded" else "PodFailed"}
    unready = [one.name for one in run.of("sidecar", "main") if not one.ready]
    if unready:
        return {
            "status": "False",
            "reason": "ContainersNotReady",
            "message": f"containers with unready status: [{' '.join(unready)}]",
        }
    return {"status": "True"}


def _ready(containers: Condition, gates: Sequence[str], foreign: Sequence[Mapping[str, Any]]) -> Condition:
    if containers["status"] != "True":
        return dict(containers)
    found = {one["type"]: one.get("status") for one in foreign}
    messages = []
    for gate in gates:
        if gate not in found:
            messages.append(f'corresponding condition of pod readiness gate "{gate}" does not exist.')
        elif found[gate] != "True":
            messages.append(f'the status of pod readiness gate "{gate}" is not "True", but {found[gate]}')
    if messages:
        return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(messages)}
    return {"status": "True"}


def _initialized(run: PodRun, phase: str) -> Condition:
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    incomplete = [one.name for one in run.of("init", "sidecar") if not _is_complete(one)]
    if incomplete and not run.is_initialized:
        return {
            "status": "False",
            "reason": "ContainersNotInitialized",
            "message": f"containers with incomplete status: [{' '.join(incomplete)}]",
        }
    return {"status": "True"}


def _is_complete(one: Container) -> bool:
    if one.role == "sidecar":
        return one.is_running and one.started
    return one.ended is not None and one.ended.code == 0
