"""One reconcile of a Job: what it has counted, and whether the Job ends (`syncJobCtx`, `syncJob`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fakekube.controllers.batch.job.completionindexes import (
    Intervals,
    failed_indexes,
    has,
    indexes_of,
    succeeded_indexes,
    total,
    valid_index,
)
from fakekube.controllers.batch.job.jobpods import later_failure
from fakekube.controllers.batch.job.jobspec import (
    Condition,
    Object,
    has_failed,
    has_limit_per_index,
    is_indexed,
    is_suspended,
    is_tracked,
    job_condition,
    true_condition,
)
from fakekube.controllers.batch.job.podbackoff import NO_BACKOFF, Backoff
from fakekube.controllers.batch.job.podfailurepolicy import match
from fakekube.controllers.batch.job.podtracking import uncounted
from fakekube.controllers.batch.job.successpolicy import met_rule
from fakekube.controllers.workload.podstate import Pod, is_active, is_ready, is_terminating, moment, phase, timestamp


@dataclass(slots=True)
class JobSync:
    """`status` is the Job's status as it will be written. `finished` is the condition by which the Job ends.

    `expected`: the uids of the pods whose finalizer is being removed. `delayed`: for each index the failed pod that
    keeps its finalizer until it is replaced, because its annotations have the number of failures.
    """

    key: str
    job: Object
    pods: Sequence[Pod]
    expected: frozenset[str]
    now: datetime
    status: dict[str, Any]
    active: Sequence[Pod] = ()
    ready: int = field(init=False)
    terminating: int = field(init=False)
    succeeded: int = field(init=False)
    failed: int = field(init=False)
    new_succeeded: Sequence[Pod] = ()
    new_failed: Sequence[Pod] = ()
    uncounted_before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    succeeded_before: Intervals = ()
    succeeded_indexes: Intervals = ()
    failed_indexes: Intervals | None = None
    delayed: dict[int, Pod] = field(default_factory=dict)
    backoff: Backoff = NO_BACKOFF
    finished: Condition | None = None
    #: Seconds after which the Job is reconciled again.
    again: list[float] = field(default_factory=list)

    def condition(self, kind: str, reason: str, message: str) -> Condition:
        """A true condition of the Job that has changed now."""
        return job_condition(kind, reason, message, timestamp(self.now))


def begin(key: str, job: Object, pods: Sequence[Pod], expected: frozenset[str], now: datetime) -> JobSync:
    """The counts of a Job and its pods."""
    status = writable(job)
    sync = JobSync(key, job, pods, expected, now, status)
    sync.active = [pod for pod in pods if is_active(pod)]
    sync.ready = sum(map(is_ready, sync.active))
    sync.terminating = sum(map(is_terminating, pods))
    before = {outcome: frozenset(uncounted(status, outcome)) for outcome in ("succeeded", "failed")}
    sync.uncounted_before = before
    sync.new_succeeded = _new(sync, before["succeeded"], lambda pod: phase(pod) == "Succeeded")
    sync.new_failed = _new(sync, before["failed"], lambda pod: has_failed(pod, job))
    counted = [pod for pod in sync.new_failed if match(job["spec"].get("podFailurePolicy"), pod).counts]
    sync.succeeded = (status.get("succeeded") or 0) + len(sync.new_succeeded) + len(before["succeeded"])
    sync.failed = (status.get("failed") or 0) + len(counted) + len(before["failed"])
    if not status.get("startTime") and not is_suspended(job):
        status["startTime"] = timestamp(now)
    return sync


def writable(job: Object) -> dict[str, Any]:
    """A status that can be changed: its lists are replaced, not changed."""
    status = dict(job.get("status") or {})
    status["uncountedTerminatedPods"] = dict(status.get("uncountedTerminatedPods") or {})
    return status


def _new(sync: JobSync, counted: Iterable[str], wanted: Callable[[Pod], bool]) -> Sequence[Pod]:
    """The pods that have ended and are in no count (getValidPodsWithFilter)."""
    known = {*counted, *sync.expected}
    job = sync.job
    return [
        pod
        for pod in sync.pods
        if is_tracked(pod)
        and pod["metadata"]["uid"] not in known
        and (not is_indexed(job) or valid_index(pod, job) is not None)
        and wanted(pod)
    ]


# --- the end of the Job


def conclude(sync: JobSync) -> None:
    """Find the condition by which the Job ends, if it does: what was decided before, failures, the success policy."""
    sync.finished = _decided(sync) or _failure(sync)
    if is_indexed(sync.job):
        _count_indexes(sync)
        if sync.finished is None and (message := met_rule(sync.job, sync.succeeded_indexes)):
            sync.finished = sync.condition("SuccessCriteriaMet", "SuccessPolicy", message)


def _decided(sync: JobSync) -> Condition | None:
    """What an earlier reconcile has decided, or a pod failure policy decides."""
    success = true_condition(sync.status, "SuccessCriteriaMet")
    if success is not None:
        return success
    target = true_condition(sync.status, "FailureTarget")
    if target is not None:
        return sync.condition("Failed", target.get("reason") or "", target.get("message") or "")
    for pod in sync.pods:
        if has_failed(pod, sync.job):
            message = match(sync.job["spec"].get("podFailurePolicy"), pod).message
            if message:
                return sync.condition("FailureTarget", "PodFailurePolicy", message)
    return None


def _failure(sync: JobSync) -> Condition | None:
    """The failure by the back-off limit or the deadline; before the deadline, the Job is reconciled again at it."""
    spec = sync.job["spec"]
    if sync.failed > spec["backoffLimit"] or _past_restarts(sync.job, sync.pods):
        return sync.condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline, start = spec.get("activeDeadlineSeconds"), moment(sync.status.get("startTime"))
    if deadline is None or start is None or is_suspended(sync.job):
        return None
    left = deadline - (sync.now - start).total_seconds()
    if left <= 0:
        return sync.condition("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    sync.again.append(left)
    return None


def _past_restarts(job: Object, pods: Sequence[Pod]) -> bool:
    """Whether the containers of pods that restart on failure have restarted too often."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        one.get("restartCount") or 0
        for pod in pods
        if phase(pod) in ("Running", "Pending")
        for name in ("initContainerStatuses", "containerStatuses")
        for one in pod["status"].get(name) or ()
    )
    return bool(restarts >= (job["spec"]["backoffLimit"] or 1))


def _count_indexes(sync: JobSync) -> None:
    """Count indexes instead of pods; the Job fails by its failed indexes."""
    job = sync.job
    sync.succeeded_before, sync.succeeded_indexes = succeeded_indexes(job, sync.pods)
    sync.succeeded = total(sync.succeeded_indexes)
    if not has_limit_per_index(job):
        return
    sync.failed_indexes = failed_indexes(job, sync.pods)
    failed, most = total(sync.failed_indexes), job["spec"].get("maxFailedIndexes")
    if sync.finished is None:
        if most is not None and failed > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            sync.finished = sync.condition("FailureTarget", "MaxFailedIndexesExceeded", message)
        elif failed and failed + sync.succeeded >= job["spec"]["completions"]:
            sync.finished = sync.condition("FailureTarget", "FailedIndexes", "Job has failed indexes")
    sync.delayed = _delayed(sync, sync.failed_indexes)


def _delayed(sync: JobSync, failed: Intervals) -> dict[int, Pod]:
    running = indexes_of(sync.active)
    found: dict[int, Pod] = {}
    for pod in _new(sync, (), lambda pod: has_failed(pod, sync.job)):
        index = valid_index(pod, sync.job)
        if index is None or index in running or has(sync.succeeded_indexes, index) or has(failed, index):
            continue
        if index not in found or later_failure(found[index], pod):
            found[index] = pod
    return found
