"""The probes of containers. Their results are scripted; they pass unless a stage says otherwise.

A probe is tried only while its result could change, so that containers whose probes have settled cause no work.
Source: kubernetes, pkg/kubelet/prober.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from fakekube.controllers.kubelet.podmoment import PodMoment
from fakekube.controllers.kubelet.podrun import Container, ProbeState
from fakekube.controllers.kubelet.prestop import LEAST_GRACE, pre_stop
from fakekube.controllers.kubelet.stage import Exit, Probe, ProbeResult, Readiness

_FIELDS: Mapping[Probe, str] = {
    "startup": "startupProbe",
    "readiness": "readinessProbe",
    "liveness": "livenessProbe",
}


def begin(machine: PodMoment, one: Container) -> None:
    """A container has started: it is started and ready at once unless it has probes."""
    one.ready = one.started = False
    one.probes.clear()
    if one.role in ("init", "ephemeral"):
        one.started = one.role == "init"
    elif "startupProbe" in one.spec:
        one.probes["startup"] = ProbeState("startup", False, due=_first(one, "startup"))
    else:
        _has_started(machine, one)


def _has_started(machine: PodMoment, one: Container) -> None:
    one.started = True
    forced = _scripted_readiness(machine, one)
    if forced is not None:
        one.ready = forced
    elif "readinessProbe" in one.spec:
        one.probes["readiness"] = ProbeState("readiness", False, due=_first(one, "readiness"))
    else:
        one.ready = True
    if "livenessProbe" in one.spec:
        state = ProbeState("liveness", True)
        one.probes["liveness"] = state
        if not _passes(machine, one, "liveness"):
            state.due = _first(one, "liveness")


def advance(machine: PodMoment) -> bool:
    """Try the probes that are due; returns whether anything has changed."""
    changed = False
    for one in machine.run.containers.values():
        for state in list(one.probes.values()):
            if state.due is not None and state.due <= machine.now and one.is_running:
                _try(machine, one, state)
                changed = True
    return changed


def _try(machine: PodMoment, one: Container, state: ProbeState) -> None:
    probe = one.spec[_FIELDS[state.probe]]
    passes = _passes(machine, one, state.probe)
    if not passes:
        name = state.probe.capitalize()
        machine.note(one, "Warning", "Unhealthy", f"{name} probe failed: {_output(machine, probe)}")
    if passes == state.result and not (state.probe == "startup" and not passes):
        state.count, state.due = 0, None
        return
    state.count += 1
    needed = (probe.get("successThreshold") or 1) if passes else (probe.get("failureThreshold") or 3)
    if state.count < needed:
        state.due = machine.now + timedelta(seconds=probe.get("periodSeconds") or 10)
        return
    state.result, state.count, state.due = passes, 0, None
    _apply(machine, one, state.probe, passes)


def _apply(machine: PodMoment, one: Container, probe: Probe, passes: bool) -> None:
    if probe == "readiness":
        one.ready = passes
    elif probe == "startup" and passes:
        _has_started(machine, one)
    elif not passes:
        text = f"Container {one.name} failed {probe} probe"
        machine.note(one, "Normal", "Killing", f"{text}, will be restarted")
        one.stopping = probe
        found = machine.world.stage("terminating", machine.pod, one)
        grace = machine.pod["spec"].get("terminationGracePeriodSeconds")
        longest = float(30 if grace is None else grace)
        hook = pre_stop(one, longest)
        longest = max(longest, hook + LEAST_GRACE if hook else 0.0)
        if found is None or not isinstance(found[0].action, Exit) or hook + found[1] >= longest:
            one.plan(Exit(137, "Error"), machine.now + timedelta(seconds=longest))
        else:
            one.plan(found[0].action, machine.now + timedelta(seconds=hook + found[1]))


def rescript(machine: PodMoment) -> None:
    """The scripts of probes have changed: try those whose result differs, from now on."""
    for one in machine.run.containers.values():
        if not one.is_running or one.role in ("init", "ephemeral"):
            continue
        forced = _scripted_readiness(machine, one)
        if forced is not None:
            one.ready = forced and one.started
            one.probes.pop("readiness", None)
        elif one.started and "readinessProbe" not in one.spec:
            one.ready = True
        elif one.started and "readiness" not in one.probes:
            one.probes["readiness"] = ProbeState("readiness", one.ready)
        for name, state in one.probes.items():
            if state.due is None and _passes(machine, one, name) != state.result:
                state.due = machine.now


def _passes(machine: PodMoment, one: Container, probe: Probe) -> bool:
    for action in machine.world.scripts(machine.pod, one):
        if isinstance(action, ProbeResult) and action.probe == probe:
            return action.passes
    return True


def _scripted_readiness(machine: PodMoment, one: Container) -> bool | None:
    for action in machine.world.scripts(machine.pod, one):
        if isinstance(action, Readiness):
            return action.ready
        if isinstance(action, ProbeResult) and action.probe == "readiness":
            return None
    return None


def _first(one: Container, probe: Probe) -> datetime:
    assert one.started_at is not None
    return one.started_at + timedelta(seconds=one.spec[_FIELDS[probe]].get("initialDelaySeconds") or 0)


def _output(machine: PodMoment, probe: Mapping[str, Any]) -> str:
    """The output of a probe that fails."""
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 503"
    if "tcpSocket" in probe:
        return f"dial tcp {machine.run.ip}:{probe['tcpSocket'].get('port')}: connect: connection refused"
    if "grpc" in probe:
        return 'service unhealthy (responded with "NOT_SERVING")'
    return ""
