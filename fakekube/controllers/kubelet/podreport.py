"""The status of a pod as its kubelet writes it, and the patch that writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fakekube.controllers.kubelet import imagenames
from fakekube.controllers.kubelet.podconditions import KUBELET_CONDITIONS, kubelet_conditions
from fakekube.controllers.kubelet.podphase import phase_of
from fakekube.controllers.kubelet.podrun import Container, Ended, PodRun, Role
from fakekube.controllers.workload.podstate import timestamp

Pod = Mapping[str, Any]
Status = dict[str, Any]

#: The lists of container statuses.
_LISTS: Mapping[str, Sequence[Role]] = {
    "containerStatuses": ("main",),
    "initContainerStatuses": ("init", "sidecar"),
    "ephemeralContainerStatuses": ("ephemeral",),
}

#: The lists of the status that a strategic merge patch merges, and their keys.
_MERGED = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip"}


def status_of(run: PodRun, pod: Pod, host_ip: str, now: datetime) -> Status:
    """The whole status (`generateAPIPodStatus`)."""
    if run.rejected and run.verdict is not None:
        reason, message = run.verdict
        rejected = {"phase": "Failed", "reason": reason, "message": message, "startTime": timestamp(run.started_at)}
        return {**rejected, **_generation(pod)}
    spec, before = pod["spec"], run.written or pod.get("status") or {}
    phase = phase_of(run, spec, terminal=run.finished)
    if run.finished and run.verdict is not None:
        phase = "Failed"
    elif phase in ("Succeeded", "Failed") and not run.finished:
        phase = before.get("phase") or "Running"  # as long as a container might run
    if run.finished and phase not in ("Succeeded", "Failed"):
        phase = "Failed"
    status: Status = {"phase": phase, "startTime": timestamp(run.started_at), "hostIP": host_ip}
    status["hostIPs"] = [{"ip": host_ip}]
    status |= _generation(pod)
    if run.finished and run.verdict is not None:
        status["reason"], status["message"] = run.verdict
    address = host_ip if run.host_network else run.ip
    if run.sandbox and address:
        status["podIP"], status["podIPs"] = address, [{"ip": address}]
    status["conditions"] = _conditions(run, pod, phase, before.get("conditions") or (), now)
    for field, roles in _LISTS.items():
        found = run.of(*roles)
        if found:
            status[field] = [_container(one) for one in found]
    return status


def _conditions(
    run: PodRun, pod: Pod, phase: str, before: Sequence[Mapping[str, Any]], now: datetime
) -> Sequence[Mapping[str, Any]]:
    present = (pod.get("status") or {}).get("conditions") or ()
    foreign = [one for one in present if one["type"] not in KUBELET_CONDITIONS]
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    known = {one["type"]: one for one in (*present, *before)}
    found: list[Mapping[str, Any]] = list(foreign)
    observed = _generation(pod)
    for one in kubelet_conditions(run, phase, gates, foreign):
        old = known.get(one["type"])
        same = old is not None and old.get("status") == one["status"]
        time = old["lastTransitionTime"] if same and old and old.get("lastTransitionTime") else timestamp(now)
        found.append({**one, **observed, "lastProbeTime": None, "lastTransitionTime": time})
    return found


def _generation(pod: Pod) -> Status:
    generation = pod["metadata"].get("generation")
    return {"observedGeneration": generation} if generation else {}


def _container(one: Container) -> Status:
    spec = one.spec
    image = spec.get("image") or ""
    pulled = one.pulled or one.ended is not None
    status: Status = {
        "name": one.name,
        "state": _state(one),
        "lastState": {"terminated": _terminated(found)} if (found := _last(one)) is not None else {},
        "ready": one.ready,
        "restartCount": one.restarts,
        "image": imagenames.normalized(image) if pulled else image,
        "imageID": imagenames.image_id(image) if pulled else "",
    }
    if one.container_id:
        status["containerID"] = one.container_id
    status["started"] = one.is_running and one.started
    requests = (spec.get("resources") or {}).get("requests")
    if requests:
        status["allocatedResources"] = requests
    if pulled:
        status["resources"] = spec.get("resources") or {}
    mounts = [_mount(found) for found in spec.get("volumeMounts") or ()]
    if mounts:
        status["volumeMounts"] = mounts
    return status


def _state(one: Container) -> Status:
    if one.is_running:
        assert one.started_at is not None
        return {"running": {"startedAt": timestamp(one.started_at)}}
    if one.state == "ended" and one.ended is not None:
        return {"terminated": _terminated(one.ended)}
    reason, message = one.waiting
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def _last(one: Container) -> Ended | None:
    return one.ended if one.state == "waiting" else one.last


def _terminated(ended: Ended) -> Status:
    found: Status = {"exitCode": ended.code, "reason": ended.reason}
    if ended.message:
        found["message"] = ended.message
    found["startedAt"] = timestamp(ended.started) if ended.started is not None else None
    found["finishedAt"] = timestamp(ended.finished) if ended.finished is not None else None
    if ended.container_id:
        found["containerID"] = ended.container_id
    return found


def _mount(mount: Mapping[str, Any]) -> Status:
    found = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        found |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return found


def patch_of(old: Mapping[str, Any], new: Status, uid: str) -> Mapping[str, Any] | None:
    """The strategic merge patch from one status to another; None if they are equal (`statusutil.PatchPodStatus`)."""
    changed: dict[str, Any] = {}
    for name, value in new.items():
        if name in _MERGED:
            changed |= _merged(name, _MERGED[name], old.get(name) or (), value)
        elif old.get(name) != value:
            changed[name] = value
    for name in ("reason", "message", "podIP", "podIPs"):
        if name in old and name not in new:
            changed[name] = None
    return {"metadata": {"uid": uid}, "status": changed} if changed else None


def _merged(
    name: str, key: str, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    before = {one[key]: one for one in old}
    changed = [_replacing(before.get(one[key]), one) for one in new if not _is_equal(before.get(one[key]), one)]
    if not changed:
        return {}
    return {f"$setElementOrder/{name}": [{key: one[key]} for one in new], name: changed}


def _replacing(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry of a merge patch that replaces an entry: fields that it no longer has are null."""
    return {**new, **{name: None for name in old or () if name not in new}}


def _is_equal(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    if old is None:
        return False
    return {k: v for k, v in old.items() if v is not None} == {k: v for k, v in new.items() if v is not None}
