"""Which Jobs the events of pods concern (`addPod`, `updatePod`, `deletePod` of the Job controller)."""

from __future__ import annotations

from controllerlib.controller import HandlerFuncs, Request, RequestQueue, controller_of
from fakekube.controllers.batch.job.jobspec import Object, finished_type, is_tracked
from fakekube.controllers.batch.job.podscaling import BATCH
from fakekube.controllers.batch.job.podtracking import FinalizerExpectations
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.owned import selecting, template_selector
from fakekube.controllers.workload.podevents import pod_key
from fakekube.controllers.workload.podstate import Pod


def controlling_job(jobs: CachedKind, pod: Pod) -> Object | None:
    """The Job that controls a pod; None if it is not in the cache or has another uid."""
    reference = controller_of(pod)
    if reference is None or reference.get("kind") != "Job":
        return None
    found = jobs.get(pod["metadata"]["namespace"], reference["name"])
    return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None


class JobPodEvents:
    """Enqueues the Job of a pod after the batch period, so that many events become one reconcile."""

    def __init__(self, jobs: CachedKind, expectations: Expectations, finalizers: FinalizerExpectations) -> None:
        self._jobs, self._expectations, self._finalizers = jobs, expectations, finalizers
        self._selecting = selecting(jobs, template_selector)

    @property
    def handler(self) -> HandlerFuncs:
        """The event handler for the source of pods."""
        return object_events(created=self._created, updated=self._updated, deleted=self._deleted)

    def _created(self, pod: Object, queue: RequestQueue) -> None:
        if pod["metadata"].get("deletionTimestamp"):  # seen for the first time by a controller that has just started
            self._gone(pod, queue, final=False)
        elif controller_of(pod) is None:
            self._enqueue_selecting(pod, queue)
        elif (job := controlling_job(self._jobs, pod)) is not None:
            self._expectations.creation_observed(str(Request.of(job)))
            _enqueue(job, queue)

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        before, after = old["metadata"], new["metadata"]
        if before.get("resourceVersion") == after.get("resourceVersion"):  # a resync
            return
        if after.get("deletionTimestamp"):
            self._gone(new, queue, final=False)
            return
        former, present = controller_of(old), controller_of(new)
        if former is not None and former != present and (job := controlling_job(self._jobs, old)) is not None:
            self._observe(job, new)
            _enqueue(job, queue)
        if present is None:
            if before.get("labels") != after.get("labels") or former != present:
                self._enqueue_selecting(new, queue)
        elif (job := controlling_job(self._jobs, new)) is not None:
            self._observe(job, new)
            _enqueue(job, queue)

    def _deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._gone(pod, queue, final=True)

    def _gone(self, pod: Pod, queue: RequestQueue, *, final: bool) -> None:
        """A pod is being deleted, or, `final`, was deleted."""
        job = controlling_job(self._jobs, pod)
        if job is None or finished_type(job):
            return
        self._expectations.deletion_observed(str(Request.of(job)), pod_key(pod))
        if final or not is_tracked(pod):
            self._finalizers.observed(str(Request.of(job)), pod["metadata"]["uid"])
        _enqueue(job, queue)

    def _observe(self, job: Object, pod: Pod) -> None:
        if not is_tracked(pod):
            self._finalizers.observed(str(Request.of(job)), pod["metadata"]["uid"])

    def _enqueue_selecting(self, pod: Pod, queue: RequestQueue) -> None:
        for job in self._selecting(pod):
            _enqueue(job, queue)


def _enqueue(job: Object, queue: RequestQueue) -> None:
    queue.add_after(Request.of(job), BATCH)
