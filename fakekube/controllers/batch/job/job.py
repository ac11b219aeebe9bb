"""The controller of Jobs (`pkg/controller/job/job_controller.go`)."""

from __future__ import annotations

from typing import Any

from controllerlib import Request, Result
from controllerlib.controller import Controller, RequestQueue
from controllerlib.workqueue import ItemExponentialFailureRateLimiter
from fakekube.controllers.batch.job.completionindexes import has, merged, singles, text_of, total, valid_index
from fakekube.controllers.batch.job.jobevents import JobPodEvents
from fakekube.controllers.batch.job.jobpods import index_order
from fakekube.controllers.batch.job.jobspec import (
    TRACKING,
    Object,
    ensured,
    finished_type,
    has_failed,
    is_indexed,
    is_managed_elsewhere,
    is_suspended,
    is_tracked,
    job_condition,
    true_condition,
)
from fakekube.controllers.batch.job.jobsync import JobSync, begin, conclude, writable
from fakekube.controllers.batch.job.orphanpods import OrphanPods
from fakekube.controllers.batch.job.podbackoff import NO_BACKOFF, Backoff
from fakekube.controllers.batch.job.podfailurepolicy import match
from fakekube.controllers.batch.job.podscaling import BATCH, PodScaling
from fakekube.controllers.batch.job.podtracking import (
    MOST_UNCOUNTED,
    FinalizerExpectations,
    count_untracked,
    remove_finalizers,
    set_count,
    still_tracked,
    uncounted,
    with_uncounted,
)
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.controllerref import ControllerRefManager
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.owned import owned_and_orphans, pods_by_controller, template_selector
from fakekube.controllers.workload.podcontrol import PodControl
from fakekube.controllers.workload.podstate import Pod, moment, phase, timestamp

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-job-syncs).
WORKERS = 5


def add(context: ControllerContext) -> None:
    """Add the controller of Jobs."""
    JobController(context).add()
    OrphanPods(context).add()


class JobController:
    """Runs pods until enough have succeeded or too many have failed, and counts each pod exactly once."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("job-controller")
        self._recorder = context.recorder("job-controller")
        self._pods = pods_by_controller(context)
        self._jobs = context.kind("batch/v1", "Job")
        self._expectations = Expectations(context.clock)
        self._finalizers = FinalizerExpectations()
        self._written = ConsistencyStore()
        self._control = PodControl(self._client, self._recorder, self._wrote_pod)
        self._scaling = PodScaling(self._control, self._expectations)
        self._backoffs: dict[str, Backoff] = {}
        #: The uids of the Jobs that have ended, until the informer shows it.
        self._ended: set[str] = set()
        self._controller: Controller | None = None

    def add(self) -> None:
        """Add the controller to the manager."""
        jobs = object_events(created=enqueue, updated=self._job_updated, deleted=self._job_deleted)
        pods = JobPodEvents(self._jobs, self._expectations, self._finalizers)
        builder = self._context.controller("job-controller").with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=lambda: ItemExponentialFailureRateLimiter(1.0, 60.0),
        )
        builder.watches("batch/v1", "Job", jobs).watches("v1", "Pod", pods.handler)
        self._controller = builder.complete(self.reconcile)

    def _job_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        """A change of the spec is reconciled at once, one of the status after the batch period."""
        if finished_type(new):
            return
        request = Request.of(new)
        respecified = old["metadata"].get("generation") != new["metadata"].get("generation")
        queue.add(request, after=0.0 if respecified else BATCH)
        deadline = new["spec"].get("activeDeadlineSeconds")
        start = moment((new.get("status") or {}).get("startTime"))
        if start is not None and deadline is not None and deadline != old["spec"].get("activeDeadlineSeconds"):
            queue.add_after(request, max(0.0, deadline - (self._context.now() - start).total_seconds()))

    def _job_deleted(self, job: Object, queue: RequestQueue) -> None:
        queue.add(Request.of(job))
        self._written.forget(Request.of(job))
        self._ended.discard(job["metadata"]["uid"])
        self._backoffs.pop(str(Request.of(job)), None)

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        key = str(request)
        self._written.check(request)
        job = self._jobs.get(request.namespace, request.name)
        if job is None:
            self._written.forget(request)
            self._expectations.forget(key)
            self._finalizers.forget(key)
            self._backoffs.pop(key, None)
            return None
        if is_managed_elsewhere(job):
            return None
        if finished_type(job):
            self._backoffs.pop(key, None)
            self._written.forget(request)
            self._ended.discard(job["metadata"]["uid"])
            return None
        if job["metadata"]["uid"] in self._ended:
            return None
        satisfied = self._expectations.satisfied(key)
        pods = await self._claimed(job)
        sync = begin(key, job, pods, self._finalizers.expected(key), self._context.now())
        sync.backoff = self._backoffs.get(key, NO_BACKOFF).after(sync.new_succeeded, sync.new_failed)
        try:
            await self._sync(sync, satisfied)
        except Exception:
            for seconds in sync.again:
                self._later(request, seconds)
            raise
        return Result(requeue_after=min(sync.again)) if sync.again else None

    def _wrote_pod(self, job: Object, pod: Object) -> None:
        self._written.wrote(job, self._pods, pod)

    def _later(self, request: Request, seconds: float) -> None:
        assert self._controller is not None
        self._controller.queue.add(request, after=seconds)

    async def _claimed(self, job: Object) -> list[Pod]:
        """The pods of the Job; adopted ones have the finalizer."""
        selector = template_selector(job)
        claims = ControllerRefManager(self._client, job, "batch/v1", "Job", selector, finalizers=(TRACKING,))
        uid = job["metadata"]["uid"]
        found: list[Pod] = []
        for pod in await claims.claim(owned_and_orphans(self._pods, job)):
            meta = pod["metadata"]
            adopted = all(one.get("uid") != uid for one in meta.get("ownerReferences") or ())
            if adopted and not is_tracked(pod):
                pod = {**pod, "metadata": {**meta, "finalizers": [*(meta.get("finalizers") or ()), TRACKING]}}
            found.append(pod)
        return found

    async def _sync(self, sync: JobSync, satisfied: bool) -> None:
        """Scale the pods, write the status, count the pods that have ended. Raises ApiError."""
        status = sync.status
        conclude(sync)
        active, problem, suspension_changed = await self._scale(sync, satisfied)
        counts = {"active": active, "ready": sync.ready, "terminating": sync.terminating}
        changed = suspension_changed or active != (status.get("active") or 0)
        changed = changed or any(status.get(name) != counts[name] for name in ("ready", "terminating"))
        set_count(status, "active", active)
        status.update(ready=sync.ready, terminating=sync.terminating)
        await self._track(sync, changed)
        if problem is not None:
            raise problem

    async def _scale(self, sync: JobSync, satisfied: bool) -> tuple[int, Exception | None, bool]:
        """Returns the number of active pods, the first error, and whether the Job was suspended or resumed."""
        active = len(sync.active)
        if sync.finished is not None:
            deleted, problem = await self._scaling.delete_active(sync)
            if deleted != active or not satisfied:
                sync.finished = None  # pods remain, or some are not in the cache yet
            return active - deleted, problem, False
        problem = None
        managed = satisfied and not sync.job["metadata"].get("deletionTimestamp")
        if managed:
            active, problem = await self._scaling.scale(sync)
        completions = sync.job["spec"].get("completions")
        if active == 0 and (sync.succeeded > 0 if completions is None else sync.succeeded >= completions):
            message = "Reached expected number of succeeded pods"
            sync.finished = sync.condition("SuccessCriteriaMet", "CompletionsReached", message)
            return active, problem, False
        return active, problem, managed and self._suspended(sync)

    def _suspended(self, sync: JobSync) -> bool:
        """Set the condition Suspended; returns whether it has changed."""
        status, now = sync.status, timestamp(sync.now)
        before = status.get("conditions") or ()
        if is_suspended(sync.job):
            wanted = job_condition("Suspended", "JobSuspended", "Job suspended", now)
        else:
            wanted = job_condition("Suspended", "JobResumed", "Job resumed", now, status="False")
        conditions = ensured(before, wanted)
        if conditions is before:
            return False
        status["conditions"] = conditions
        if is_suspended(sync.job):
            self._recorder.event(sync.job, "Normal", "Suspended", "Job suspended")
            status.pop("startTime", None)
        else:
            self._recorder.event(sync.job, "Normal", "Resumed", "Job resumed")
            status["startTime"] = now
        return True

    # --- counting

    async def _track(self, sync: JobSync, changed: bool) -> None:
        """List ended pods as uncounted, remove their finalizers, count them, and end the Job. Raises ApiError."""
        status = sync.status
        if is_indexed(sync.job):
            sync.pods = sorted(sync.pods, key=index_order)
        tracked = still_tracked(sync.pods, sync.expected)
        changed = count_untracked(status, tracked) or changed
        ended, listed, full = _list_uncounted(sync, tracked)
        changed = changed or listed
        if sync.finished is not None and sync.finished["type"] in ("FailureTarget", "SuccessCriteriaMet"):
            target = sync.finished
            if true_condition(status, target["type"]) is None:
                status["conditions"] = [*(status.get("conditions") or ()), target]
                changed = True
            final = "Failed" if target["type"] == "FailureTarget" else "Complete"
            sync.finished = sync.condition(final, target.get("reason") or "", target.get("message") or "")
        changed = await self._flush(sync, ended, tracked, changed)
        finished = not full and _finish(sync)
        if changed or finished:
            await self._update_status(sync)
        if finished:
            self._record_end(sync)

    async def _flush(self, sync: JobSync, ended: list[Pod], tracked: set[str], changed: bool) -> bool:
        """Write the status, then remove the finalizers; returns whether the status has changed since.

        Raises ApiError.
        """
        if changed:
            await self._update_status(sync)
            self._backoffs[sync.key] = sync.backoff
        problem = None
        if ended:
            removed, problem = await remove_finalizers(self._control, sync.job, sync.key, ended, self._finalizers)
            tracked -= removed
        changed = count_untracked(sync.status, tracked)
        if problem is not None:
            if changed:
                await self._update_status(sync)
            raise problem
        return changed

    async def _update_status(self, sync: JobSync) -> None:
        sync.job = await self._client.update_status({**sync.job, "status": sync.status})
        self._written.wrote(sync.job, self._jobs, sync.job)
        sync.status = writable(sync.job)

    def _record_end(self, sync: JobSync) -> None:
        job, finished = sync.job, sync.finished
        assert finished is not None
        self._ended.add(job["metadata"]["uid"])
        if finished["type"] == "Failed":
            self._recorder.event(job, "Warning", finished.get("reason") or "", finished.get("message") or "")
            return
        completions = job["spec"].get("completions")
        if completions is not None and (sync.status.get("succeeded") or 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._recorder.event(job, "Warning", "TooManySucceededPods", message)
        self._recorder.event(job, "Normal", "Completed", "Job completed")


def _list_uncounted(sync: JobSync, tracked: set[str]) -> tuple[list[Pod], bool, bool]:
    """List the pods that have ended as uncounted.

    Returns the pods whose finalizer can be removed, whether the status has changed, and whether the list is full.
    """
    job, status = sync.job, sync.status
    ended: list[Pod] = []
    lists: dict[str, list[str]] = {name: list(uncounted(status, name)) for name in ("succeeded", "failed")}
    before = {name: len(uids) for name, uids in lists.items()}
    indexes: list[int] = []
    full = False
    for pod in sync.pods:
        failed = has_failed(pod, job)
        if pod["metadata"]["uid"] not in tracked or not _removable(sync, pod, failed):
            continue
        ended.append(pod)
        _list_one(sync, pod, failed, lists, indexes)
        if len(indexes) + len(lists["succeeded"]) + len(lists["failed"]) >= MOST_UNCOUNTED:
            full = True
            break
    changed = bool(indexes) or any(len(uids) != before[name] for name, uids in lists.items())
    for name, uids in lists.items():
        with_uncounted(status, name, uids)
    if is_indexed(job):
        changed = _set_indexes(sync, indexes) or changed
    return ended, changed, full


def _list_one(sync: JobSync, pod: Pod, failed: bool, lists: dict[str, list[str]], indexes: list[int]) -> None:
    job, uid, before = sync.job, pod["metadata"]["uid"], sync.uncounted_before
    index = valid_index(pod, job) if is_indexed(job) else None
    if phase(pod) == "Succeeded" and uid not in before["failed"]:
        if is_indexed(job):  # the index is enough not to count it again
            if index is not None and not has(sync.succeeded_before, index):
                indexes.append(index)
        elif uid not in before["succeeded"]:
            lists["succeeded"].append(uid)
        return
    ends = sync.finished is not None and sync.finished["type"] != "SuccessCriteriaMet"
    if not (failed or ends) or uid in before["failed"] or (is_indexed(job) and index is None):
        return
    if match(job["spec"].get("podFailurePolicy"), pod).counts:
        lists["failed"].append(uid)


def _removable(sync: JobSync, pod: Pod, failed: bool) -> bool:
    """Whether the pod can be counted (canRemoveFinalizer)."""
    ends = sync.job["metadata"].get("deletionTimestamp") or sync.finished is not None
    if ends or phase(pod) == "Succeeded":
        return True
    return failed and all(one["metadata"]["uid"] != pod["metadata"]["uid"] for one in sync.delayed.values())


def _set_indexes(sync: JobSync, new: list[int]) -> bool:
    """Set the indexes and their number in the status; returns whether the texts have changed."""
    status: dict[str, Any] = sync.status
    sync.succeeded_indexes = merged(sync.succeeded_indexes, singles(new))
    before = (status.get("completedIndexes") or "", status.get("failedIndexes"))
    completed = text_of(sync.succeeded_indexes)
    set_count(status, "succeeded", total(sync.succeeded_indexes))
    status.pop("completedIndexes", None)
    status.pop("failedIndexes", None)
    if completed:
        status["completedIndexes"] = completed
    if sync.failed_indexes is not None:
        status["failedIndexes"] = text_of(sync.failed_indexes)
    return before != (completed, status.get("failedIndexes"))


def _finish(sync: JobSync) -> bool:
    """Add the last condition if all pods are counted and gone; returns whether the Job has ended."""
    status, finished = sync.status, sync.finished
    if finished is None or uncounted(status, "succeeded") or uncounted(status, "failed") or sync.terminating > 0:
        return False
    status["conditions"] = ensured(status.get("conditions") or (), finished)
    if finished["type"] == "Complete":
        status["completionTime"] = finished["lastTransitionTime"]
    return True
