"""Removes the finalizer of pods that no Job counts any more (`orphanWorker` of the Job controller)."""

from __future__ import annotations

from contextlib import suppress

from controllerlib import ApiError
from controllerlib.client import Selector, label_selector_as_selector
from controllerlib.controller import RequestQueue, controller_of
from controllerlib.workqueue import ItemExponentialFailureRateLimiter
from fakekube.controllers.batch.job.jobevents import controlling_job
from fakekube.controllers.batch.job.jobspec import Object, finished_type, is_managed_elsewhere, is_tracked
from fakekube.controllers.batch.job.podtracking import REMOVAL
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import Pod
from fakekube.struct import Struct

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-job-syncs).
WORKERS = 5


class Orphans(Struct, frozen=True):
    """The pod of a name, or the pods that a selector selects."""

    namespace: str
    name: str = ""
    selector: Selector | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name or '*'}"


class OrphanPods:
    """Removes the finalizer of pods whose Job is gone or has ended."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("job-controller")
        self._pods, self._jobs = context.kind("v1", "Pod"), context.kind("batch/v1", "Job")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("job-controller-orphan-pods").with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=lambda: ItemExponentialFailureRateLimiter(1.0, 60.0),
        )
        jobs = object_events(updated=_job_updated, deleted=_enqueue_selected)
        pods = object_events(created=self._look_at, updated=self._pod_updated, deleted=self._look_at)
        builder.with_request_type(Orphans).watches("batch/v1", "Job", jobs).watches("v1", "Pod", pods)
        builder.complete(self.reconcile)

    # --- events

    def _pod_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"].get("resourceVersion") != new["metadata"].get("resourceVersion"):
            self._look_at(new, queue)

    def _look_at(self, pod: Pod, queue: RequestQueue) -> None:
        """Enqueue a pod without a controller, or one that is being deleted and whose Job is gone or has ended."""
        if not is_tracked(pod):
            return
        if controller_of(pod) is not None:
            job = controlling_job(self._jobs, pod)
            ending = pod["metadata"].get("deletionTimestamp") and (job is None or finished_type(job))
            if not ending:
                return
        queue.add(Orphans(pod["metadata"]["namespace"], pod["metadata"]["name"]))

    # --- reconciling

    async def reconcile(self, request: Orphans) -> None:
        if request.selector is None:
            pod = self._pods.get(request.namespace, request.name)
            if pod is not None:
                await self._release(pod)
            return
        for pod in self._pods.list(request.namespace, request.selector):
            with suppress(ApiError):  # the others are released in any case
                await self._release(pod)

    async def _release(self, pod: Pod) -> None:
        """Remove the finalizer, unless a Job still counts the pod. Raises ApiError."""
        reference = controller_of(pod)
        if reference is not None:
            if reference.get("kind") != "Job" or reference.get("apiVersion") != "batch/v1":
                return
            job = controlling_job(self._jobs, pod)
            if job is not None and (is_managed_elsewhere(job) or not finished_type(job)):
                return
        if not is_tracked(pod):
            return
        try:
            await self._client.patch(pod, REMOVAL, type="strategic")
        except ApiError as error:
            if error.reason != "NotFound":
                raise


def _job_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    if finished_type(new):
        _enqueue_selected(new, queue)


def _enqueue_selected(job: Object, queue: RequestQueue) -> None:
    selector = label_selector_as_selector(job["spec"].get("selector"))
    queue.add(Orphans(job["metadata"]["namespace"], selector=selector))
