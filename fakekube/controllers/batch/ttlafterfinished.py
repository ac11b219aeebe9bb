"""The controller of Jobs that are deleted some time after their end (`pkg/controller/ttlafterfinished`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue
from controllerlib.workqueue import default_controller_rate_limiter
from fakekube.controllers.batch.job.jobspec import finished_type
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import condition, moment

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-ttl-after-finished-syncs).
WORKERS = 5

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    TTLAfterFinished(context).add()


class TTLAfterFinished:
    """Deletes a Job, and what depends on it, `ttlSecondsAfterFinished` after its end."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("ttl-after-finished-controller")
        self._jobs = context.kind("batch/v1", "Job")

    def add(self) -> None:
        """Add the controller to the manager."""
        jobs = object_events(_enqueue)
        builder = self._context.controller("ttl-after-finished-controller").with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=default_controller_rate_limiter,
        )
        builder.watches("batch/v1", "Job", jobs).complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        job = self._jobs.get(request.namespace, request.name)
        left = None if job is None else self._left(job)
        if left is None or left > 0:
            return None if left is None else Result(requeue_after=left)
        try:  # the time may have been changed: the object at the server decides
            job = await self._client.get("batch/v1", "Job", request.name, request.namespace)
        except ApiError as error:
            if error.reason == "NotFound":
                return None
            raise
        left = self._left(job)
        if left is None or left > 0:
            return None if left is None else Result(requeue_after=left)
        uid = job["metadata"]["uid"]
        await self._client.delete("batch/v1", "Job", request.name, request.namespace, uid=uid, propagation="Foreground")
        return None

    def _left(self, job: Object) -> float | None:
        """The seconds until the Job is deleted, None if it is not."""
        if not _is_due(job):
            return None
        end = condition(job, finished_type(job))
        ended = moment((end or {}).get("lastTransitionTime"))
        if ended is None:
            where = f"{job['metadata']['namespace']}/{job['metadata']['name']}"
            raise ValueError(f"unable to find the time when the Job {where} finished")
        return float(job["spec"]["ttlSecondsAfterFinished"] - (self._context.now() - ended).total_seconds())


def _is_due(job: Object) -> bool:
    """Whether the Job will be deleted: it has ended and has a time to live."""
    has_ttl = job["spec"].get("ttlSecondsAfterFinished") is not None
    return has_ttl and bool(finished_type(job)) and not job["metadata"].get("deletionTimestamp")


def _enqueue(job: Object, queue: RequestQueue) -> None:
    if _is_due(job):
        queue.add(Request.of(job))
