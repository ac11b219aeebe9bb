"""How a pod ends at its kubelet: its containers are stopped within the grace period (kuberuntime: killPod)."""

from __future__ import annotations

from datetime import timedelta

from fakekube.controllers.kubelet.podmoment import PodMoment
from fakekube.controllers.kubelet.podrun import Container, Ended
from fakekube.controllers.kubelet.prestop import LEAST_GRACE, pre_stop
from fakekube.controllers.kubelet.restartpolicy import restarts_after
from fakekube.controllers.kubelet.stage import Exit, Hang

_LOST = Ended(137, "ContainerStatusUnknown", "The container could not be located when the pod was terminated")


def check_deadline(machine: PodMoment) -> None:
    """The pod fails when it has been active for activeDeadlineSeconds."""
    run, seconds = machine.run, machine.pod["spec"].get("activeDeadlineSeconds")
    if seconds is None or run.verdict is not None or run.stopping_since is not None:
        return
    if machine.now >= run.started_at + timedelta(seconds=seconds):
        text = "Pod was active on the node longer than the specified deadline"
        run.verdict = ("DeadlineExceeded", text)
        machine.once("Normal", "DeadlineExceeded", text)
    else:
        run.deadline = run.started_at + timedelta(seconds=seconds)


def should_stop(machine: PodMoment) -> bool:
    """Whether no container is started any longer: the pod is deleted, has failed, or all containers have ended."""
    run = machine.run
    if machine.pod["metadata"].get("deletionTimestamp") or run.verdict is not None or run.stopping_since is not None:
        return True
    for one in run.of("init"):
        ended = one.termination
        if ended is not None and ended.code != 0 and not restarts_after(one.spec, machine.pod["spec"], ended.code):
            return True
    mains = run.of("main")
    return all(one.termination is not None and not machine.may_start(one) for one in mains)


def stop(machine: PodMoment) -> bool:
    """Stop the containers: first the regular ones, then sidecars in reverse order; returns whether anything changed."""
    run = machine.run
    grace = _grace(machine)
    if run.stopping_since is None or run.deadline is None:
        run.stopping_since, run.grace = machine.now, grace
        hook = max((pre_stop(one, grace) for one in run.containers.values() if one.is_running), default=0.0)
        run.deadline = machine.now + timedelta(seconds=max(grace, hook + LEAST_GRACE if hook else 0.0))
    elif grace < run.grace:  # deleted again: the shorter period begins now
        run.grace, run.deadline = grace, min(run.deadline, machine.now + timedelta(seconds=grace))
    running = [one for one in run.of("init", "main", "ephemeral") if one.is_running]
    running = running or [one for one in reversed(run.of("sidecar")) if one.is_running][:1]
    if not running:
        _finish(machine)
        return False
    changed = False
    for one in running:
        if one.stopping != "pod":
            one.stopping = "pod"
            machine.note(one, "Normal", "Killing", f"Stopping container {one.name}")
            _plan_stop(machine, one, grace)
            changed = True
        if machine.now >= run.deadline:
            machine.end(one, Exit(137, "Error"))
            changed = True
    return changed


def _grace(machine: PodMoment) -> float:
    meta, spec = machine.pod["metadata"], machine.pod["spec"]
    if meta.get("deletionTimestamp"):
        return float(meta.get("deletionGracePeriodSeconds") or 0)
    grace = spec.get("terminationGracePeriodSeconds")
    return 30.0 if grace is None else float(grace)


def _plan_stop(machine: PodMoment, one: Container, grace: float) -> None:
    """Plan the end of a container: it gets SIGTERM after its preStop hook."""
    found = machine.world.stage("terminating", machine.pod, one)
    one.probes.clear()
    if found is None or isinstance(found[0].action, Hang):
        one.plan(None, None)
    else:
        one.plan(found[0].action, machine.now + timedelta(seconds=pre_stop(one, grace) + found[1]))


def _finish(machine: PodMoment) -> None:
    run = machine.run
    initialized = run.is_initialized
    for one in run.containers.values():
        one.plan(None, None)
        one.probes.clear()
        if one.state == "waiting" and (one.role == "main" and initialized):
            one.state = "ended"
            one.ended, one.last = one.ended or _LOST, one.last
    run.deadline, run.finished = None, True
