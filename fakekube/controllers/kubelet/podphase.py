"""The phase of a pod, from the states of its containers (`getPhase` in pkg/kubelet/kubelet_pods.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.kubelet.podrun import Container, PodRun
from fakekube.controllers.kubelet.restartpolicy import restarts_after

Spec = Mapping[str, Any]


def phase_of(run: PodRun, spec: Spec, *, terminal: bool) -> str:
    """The phase. `terminal`: no container of the pod runs, nor will one."""
    initial, sidecars, mains = run.of("init"), run.of("sidecar"), run.of("main")
    if any(_failed_for_good(one, spec) for one in initial):
        return "Failed"
    blocked = any(_is_pending(one) for one in initial)
    blocked |= any(_sidecar_is_pending(one) for one in sidecars) and not run.is_initialized
    never_ran = [one for one in (*sidecars, *mains) if one.state == "waiting" and one.ended is None]
    if blocked or never_ran:
        return "Pending"
    if any(one.is_running for one in (*sidecars, *mains)):
        return "Running"
    return _of_stopped(mains, spec, terminal)


def _of_stopped(mains: Sequence[Container], spec: Spec, terminal: bool) -> str:
    codes = [one.ended.code for one in mains if one.ended is not None]
    restarting = any(one.ended is not None and restarts_after(one.spec, spec, one.ended.code) for one in mains)
    if restarting and not terminal:
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def _is_pending(one: Container) -> bool:
    return one.is_running or one.ended is None


def _sidecar_is_pending(one: Container) -> bool:
    return (one.is_running and not one.started) or (one.state == "waiting" and one.ended is None)


def _failed_for_good(one: Container, spec: Spec) -> bool:
    ended = one.termination
    return ended is not None and ended.code != 0 and not restarts_after(one.spec, spec, ended.code)
