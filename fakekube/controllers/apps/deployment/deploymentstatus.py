"""The status of a Deployment: counts, availability and progress (`sync.go`: calculateStatus, `progress.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fakekube.controllers.apps.deployment.scaling import counted, max_unavailable, replicas, total
from fakekube.controllers.workload.podstate import condition, moment, timestamp

Object = Mapping[str, Any]
Status = dict[str, Any]

#: The value of a limit that is none.
UNLIMITED = 2**31 - 1


def has_progress_deadline(deployment: Object) -> bool:
    return int(deployment["spec"].get("progressDeadlineSeconds", UNLIMITED)) != UNLIMITED


def new_condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """A condition of a Deployment that has changed now."""
    time = timestamp(now)
    times = {"lastUpdateTime": time, "lastTransitionTime": time}
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def set_condition(status: Status, new: Mapping[str, Any]) -> None:
    """Set a condition, unless it has that status and reason; the time of a transition is kept if there is none."""
    present = condition({"status": status}, new["type"])
    if present is not None and present["status"] == new["status"]:
        if present.get("reason") == new.get("reason"):
            return
        new = {**new, "lastTransitionTime": present.get("lastTransitionTime")}
    remove_condition(status, new["type"])
    status["conditions"] = [*(status.get("conditions") or ()), new]


def remove_condition(status: Status, kind: str) -> None:
    left = [one for one in status.get("conditions") or () if one["type"] != kind]
    status.pop("conditions", None)
    if left:
        status["conditions"] = left


def calculated(deployment: Object, new: Object | None, old: Sequence[Object], now: datetime) -> Status:
    """The status with the counts of all ReplicaSets and the condition Available."""
    every = [*old, *([new] if new is not None else [])]
    available = counted(every, "availableReplicas")
    before = deployment.get("status") or {}
    counts = {
        "replicas": counted(every, "replicas"),
        "updatedReplicas": counted([new] if new is not None else [], "replicas"),
        "readyReplicas": counted(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(every) - available),
    }
    status: Status = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        **{name: count for name, count in counts.items() if count},
        **{name: before[name] for name in ("conditions", "collisionCount") if name in before},
    }
    terminating = _terminating(every)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    if available >= replicas(deployment) - max_unavailable(deployment):
        reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
        set_condition(status, new_condition("Available", "True", reason, message, now))
    else:
        reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        set_condition(status, new_condition("Available", "False", reason, message, now))
    return status


def _terminating(replica_sets: Sequence[Object]) -> int | None:
    """The number of terminating pods; None if a ReplicaSet does not count them."""
    found = 0
    for status in [one.get("status") or {} for one in replica_sets]:
        if "terminatingReplicas" in status:
            found += status["terminatingReplicas"]
        elif status.get("observedGeneration"):
            return None
    return found


def is_complete(deployment: Object, status: Mapping[str, Any]) -> bool:
    """Whether all pods are of the new template and available (DeploymentComplete)."""
    desired = replicas(deployment)
    counts = [int(status.get(name) or 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    observed = (status.get("observedGeneration") or 0) >= deployment["metadata"]["generation"]
    return observed and all(count == desired for count in counts)


def is_progressing(deployment: Object, status: Mapping[str, Any]) -> bool:
    """Whether there are more new pods or fewer old ones than before (DeploymentProgressing)."""
    before = deployment.get("status") or {}

    def old_pods(of: Mapping[str, Any]) -> int:
        return int(of.get("replicas") or 0) - int(of.get("updatedReplicas") or 0)

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    more = any((status.get(name) or 0) > (before.get(name) or 0) for name in grown)
    return more or old_pods(status) < old_pods(before)


def has_timed_out(deployment: Object, status: Mapping[str, Any], now: datetime) -> bool:
    """Whether the last progress is longer ago than the deadline (DeploymentTimedOut)."""
    found = condition({"status": status}, "Progressing")
    if found is None or found.get("reason") == "NewReplicaSetAvailable":
        return False
    if found.get("reason") == "ProgressDeadlineExceeded":
        return True
    since = moment(found.get("lastUpdateTime"))
    deadline = timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])
    return since is not None and since + deadline < now


def rollout_status(deployment: Object, new: Object | None, old: Sequence[Object], now: datetime) -> Status:
    """The status during a rollout, with the conditions Progressing and ReplicaFailure (syncRolloutStatus)."""
    status = calculated(deployment, new, old, now)
    if not has_progress_deadline(deployment):
        remove_condition(status, "Progressing")
    else:
        _set_progress(deployment, status, new, now)
    failure = _replica_failure(new, old)
    if failure is not None:
        set_condition(status, failure)
    else:
        remove_condition(status, "ReplicaFailure")
    return status


def _set_progress(deployment: Object, status: Status, new: Object | None, now: datetime) -> None:
    present = condition(deployment, "Progressing")
    finished = present is not None and present.get("reason") == "NewReplicaSetAvailable"
    if finished and status.get("replicas") == status.get("updatedReplicas"):
        return
    name = deployment["metadata"]["name"]
    subject = f'Deployment "{name}"' if new is None else f'ReplicaSet "{new["metadata"]["name"]}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        set_condition(status, new_condition("Progressing", "True", "NewReplicaSetAvailable", message, now))
    elif is_progressing(deployment, status):
        progress = new_condition("Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        if present is not None:
            if present["status"] == "True":
                progress["lastTransitionTime"] = present.get("lastTransitionTime")
            remove_condition(status, "Progressing")
        set_condition(status, progress)
    elif has_timed_out(deployment, status, now):
        message = f"{subject} has timed out progressing."
        set_condition(status, new_condition("Progressing", "False", "ProgressDeadlineExceeded", message, now))


def _replica_failure(new: Object | None, old: Sequence[Object]) -> Mapping[str, Any] | None:
    """The failure of the new ReplicaSet, else of another one, as a condition of the Deployment."""
    for one in [*([new] if new is not None else []), *old]:
        found = condition(one, "ReplicaFailure")
        if found is not None:
            time = found.get("lastTransitionTime")
            names = ("type", "status", "reason", "message")
            kept = {name: found[name] for name in names if name in found}
            return {**kept, "lastUpdateTime": time, "lastTransitionTime": time}
    return None


def next_progress_check(deployment: Object, status: Mapping[str, Any], now: datetime) -> float | None:
    """The seconds until the progress has to be checked again; None if it has not (requeueStuckDeployment).

    A rollout that has been completed cannot time out. Upstream checks it again and again after the deadline, if its
    pods fail, which changes nothing.
    """
    present = condition(deployment, "Progressing")
    if not has_progress_deadline(deployment) or present is None:
        return None
    if is_complete(deployment, status) or present.get("reason") in (
        "NewReplicaSetAvailable",
        "ProgressDeadlineExceeded",
    ):
        return None
    since = moment(present.get("lastUpdateTime"))
    if since is None:
        return None
    left = deployment["spec"]["progressDeadlineSeconds"] - (now - since).total_seconds()
    return 0.005 if left < 1 else left + 1  # at once means with the first delay of the rate limiter
