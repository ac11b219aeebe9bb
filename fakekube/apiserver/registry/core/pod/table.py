"""The table of pods, as `kubectl get pods` prints it (`printers/internalversion.printPod`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    is_terminating,
    name_of,
    wide,
)
from fakekube.struct import Struct

Object = dict[str, Any]

#: The reason of a pod whose node is unreachable (`util/node.NodeUnreachablePodReason`).
NODE_LOST = "NodeLost"

_TERMINATED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def conditions(pod: Object) -> list[Object]:
    """Conditions of the row: a pod that has terminated is Completed, so that clients can hide it."""
    phase = get(pod, "status.phase", "")
    if phase not in _TERMINATED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _TERMINATED[phase]}]


class _Summary(Struct):
    """Counts of the containers, the time of the last restart, and the text of the Status column."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def count_restarts(self, container: Object) -> None:
        self.restarts += container.get("restartCount") or 0
        self.last_restart = max(self.last_restart, get(container, "lastState.terminated.finishedAt", ""))

    def restarts_cell(self, ages: Ages) -> str:
        if self.restarts and self.last_restart:
            return f"{self.restarts} ({ages(self.last_restart)} ago)"
        return str(self.restarts)


def _terminated_reason(terminated: Object) -> str:
    """The reason of a terminated container, else its signal, else its exit code."""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _initial_reason(pod: Object) -> str:
    status = pod.get("status") or {}
    gated = "SchedulingGated"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == gated:
            return gated
    return status.get("reason") or status.get("phase") or ""


def _sidecars(pod: Object) -> set[str]:
    """The names of the init containers that keep running."""
    found = get(pod, "spec.initContainers", ())
    return {container.get("name", "") for container in found if container.get("restartPolicy") == "Always"}


def _init_reason(container: Object, position: int, total: int) -> str:
    """The status of a pod whose init container at `position` has not completed."""
    terminated = get(container, "state.terminated")
    if terminated is not None:
        return "Init:" + _terminated_reason(terminated)
    waiting = get(container, "state.waiting.reason", "")
    if waiting and waiting != "PodInitializing":
        return "Init:" + str(waiting)
    return f"Init:{position}/{total}"


def _initializing(pod: Object, summary: _Summary, sidecars: _Summary) -> bool:
    """Summarizes the init containers; returns whether one of them has not completed."""
    keep_running = _sidecars(pod)
    for position, container in enumerate(get(pod, "status.initContainerStatuses", ())):
        summary.count_restarts(container)
        is_sidecar = container.get("name") in keep_running
        if is_sidecar:
            sidecars.count_restarts(container)
        terminated = get(container, "state.terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        summary.reason = _init_reason(container, position, len(get(pod, "spec.initContainers", ())))
        return True
    return False


def _running(pod: Object, summary: _Summary) -> None:
    """Summarizes the containers; the reason of the first one takes precedence."""
    has_running = False
    for container in reversed(get(pod, "status.containerStatuses", ())):
        summary.count_restarts(container)
        waiting, terminated = get(container, "state.waiting.reason", ""), get(container, "state.terminated")
        if waiting:
            summary.reason = waiting
        elif terminated is not None:
            summary.reason = _terminated_reason(terminated)
        elif container.get("ready") and get(container, "state.running") is not None:
            has_running = True
            summary.ready += 1
    if summary.reason == "Completed" and has_running:
        summary.reason = "Running" if _holds(pod, "Ready") else "NotReady"


def _holds(pod: Object, type: str) -> bool:
    return any(
        condition.get("type") == type and condition.get("status") == "True"
        for condition in get(pod, "status.conditions", ())
    )


def _summary(pod: Object) -> _Summary:
    summary = _Summary(_initial_reason(pod))
    sidecars = _Summary("")
    if not _initializing(pod, summary, sidecars) or _holds(pod, "Initialized"):
        summary.restarts, summary.last_restart = sidecars.restarts, sidecars.last_restart
        _running(pod, summary)
    status = pod.get("status") or {}
    if is_terminating(pod):
        if status.get("reason") == NODE_LOST:
            summary.reason = "Unknown"
        elif status.get("phase") not in _TERMINATED:
            summary.reason = "Terminating"
    return summary


def _readiness_gates(pod: Object) -> str:
    gates = [gate.get("conditionType") for gate in get(pod, "spec.readinessGates", ())]
    if not gates:
        return "<none>"
    open_ones = sum(_first_status(get(pod, "status.conditions", ()), gate) == "True" for gate in gates)
    return f"{open_ones}/{len(gates)}"


def _first_status(found: Iterable[Object], type: str) -> str:
    return next((one.get("status", "") for one in found if one.get("type") == type), "")


def cells(pod: Object, ages: Ages) -> list[Any]:
    summary = _summary(pod)
    total = len(get(pod, "spec.containers", ())) + len(_sidecars(pod))
    addresses = get(pod, "status.podIPs", ())
    return [
        name_of(pod),
        f"{summary.ready}/{total}",
        summary.reason,
        summary.restarts_cell(ages),
        age_of(pod, ages),
        (addresses[0].get("ip") if addresses else "") or "<none>",
        get(pod, "spec.nodeName") or "<none>",
        get(pod, "status.nominatedNodeName") or "<none>",
        _readiness_gates(pod),
    ]


POD = Printer(
    columns(
        NAME, "Ready", "Status", "Restarts", AGE, wide("IP"), wide("Node"), wide("Nominated Node"),
        wide("Readiness Gates"),
    ),
    cells,
    conditions,
)  # fmt: skip
