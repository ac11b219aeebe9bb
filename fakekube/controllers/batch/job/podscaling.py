"""Creates and deletes the pods of a Job until as many are active as it wants (`manageJob`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from controllerlib import ApiError
from fakekube.controllers.batch.job.completionindexes import gaps, indexes_of, merged, singles
from fakekube.controllers.batch.job.jobpods import creatable, indexed_name, indexed_template, pod_template, surplus
from fakekube.controllers.batch.job.jobspec import (
    Object,
    has_limit_per_index,
    is_indexed,
    is_suspended,
    is_tracked,
    replaces_only_failed,
)
from fakekube.controllers.batch.job.jobsync import JobSync
from fakekube.controllers.batch.job.podtracking import REMOVAL
from fakekube.controllers.workload.batches import slow_start
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.podcontrol import PodControl, is_namespace_terminating
from fakekube.controllers.workload.podevents import pod_key
from fakekube.controllers.workload.podstate import Pod, is_ready, is_terminating

#: Most pods that are created or deleted in one reconcile (MaxPodCreateDeletePerSync).
MOST = 500

#: The least seconds until a Job is reconciled because of its pods (SyncJobBatchPeriod).
BATCH = 1.0


class PodScaling:
    """Writes the pods of Jobs."""

    def __init__(self, control: PodControl, expectations: Expectations) -> None:
        self._control, self._expectations = control, expectations

    async def scale(self, sync: JobSync) -> tuple[int, Exception | None]:
        """Create or delete pods; returns the number of active ones, and the first error."""
        job, active = sync.job, len(sync.active)
        if is_suspended(job):
            return await self._delete(sync, surplus(job, sync.active, active))
        wanted = _wanted(sync)
        surplus_pods = surplus(job, sync.active, max(0, active - wanted))[:MOST]
        if surplus_pods:
            return await self._delete(sync, surplus_pods)
        ending = sync.terminating if replaces_only_failed(job) else 0
        missing = wanted - ending - active
        if missing <= 0:
            return active, None
        return await self._create(sync, missing)

    async def _create(self, sync: JobSync, missing: int) -> tuple[int, Exception | None]:
        """Create pods whose back-off has ended; until then, no pod counts as active."""
        job = sync.job
        wait = 0.0 if has_limit_per_index(job) else sync.backoff.remaining(sync.now)
        number = min(missing, MOST)
        indexes: Sequence[int] = ()
        if wait == 0 and is_indexed(job):
            indexes = _pending(sync, number)
            if has_limit_per_index(job):
                indexes, wait = creatable(indexes, sync.delayed, sync.now)
            number = len(indexes)
        if wait > 0:
            sync.again.append(max(wait, BATCH))
            return 0, None
        template, reference = pod_template(job), controller_reference(job, "batch/v1", "Job")
        self._expectations.expect_creations(sync.key, number)

        async def create(position: int) -> None:
            made, name = template, ""
            if indexes:
                index = indexes[position]
                made = indexed_template(job, template, index, sync.delayed.get(index))
                name = indexed_name(job, index)
            try:
                await self._control.create(job, reference, made, generate_name=name)
            except ApiError as error:
                if not is_namespace_terminating(error):  # else no pod can be created, whatever is tried
                    raise

        succeeded, problem = await slow_start(number, create)
        self._expectations.creation_observed(sync.key, number - succeeded)
        return len(sync.active) + succeeded, problem

    async def _delete(self, sync: JobSync, pods: Sequence[Pod]) -> tuple[int, Exception | None]:
        """Delete pods that shall not be counted: each loses its finalizer first."""
        self._expectations.expect(sync.key, creations=0, deletions=len(pods))
        outcomes = await asyncio.gather(*(self._delete_one(sync, pod) for pod in pods))
        problems = [error for error, _ in outcomes if error is not None]
        deleted = len(pods) - len(problems)
        sync.terminating += deleted
        sync.ready -= sum(ready for _, ready in outcomes)
        return len(sync.active) - deleted, next(iter(problems), None)

    async def _delete_one(self, sync: JobSync, pod: Pod) -> tuple[Exception | None, bool]:
        """Returns the error, and whether a ready pod was deleted."""
        tracked = is_tracked(pod)
        try:
            if tracked:
                await self._control.patch(sync.job, pod, REMOVAL)
            tracked = False
            await self._control.delete(sync.job, pod)
        except ApiError as error:
            self._expectations.deletion_observed(sync.key, pod_key(pod))
            return (None if error.reason == "NotFound" else error), not tracked and is_ready(pod)
        return None, is_ready(pod)

    async def delete_active(self, sync: JobSync) -> tuple[int, Exception | None]:
        """Delete the active pods of a Job that ends; returns the number of deleted ones, and the first error.

        Their finalizers stay until they are counted.
        """

        async def delete(pod: Pod) -> Exception | None:
            try:
                await self._control.delete(sync.job, pod)
            except ApiError as error:
                return None if error.reason == "NotFound" else error
            return None

        outcomes = await asyncio.gather(*map(delete, sync.active))
        problems = [error for error in outcomes if error is not None]
        deleted = len(sync.active) - len(problems)
        sync.ready -= sum(map(is_ready, sync.active))
        sync.terminating += deleted
        return deleted, next(iter(problems), None)


def _wanted(sync: JobSync) -> int:
    """How many pods shall be active."""
    spec = sync.job["spec"]
    if spec.get("completions") is None:
        return len(sync.active) if sync.succeeded > 0 else _parallelism(sync.job)
    return max(0, min(int(spec["completions"]) - sync.succeeded, _parallelism(sync.job)))


def _parallelism(job: Object) -> int:
    return int(job["spec"]["parallelism"])


def _pending(sync: JobSync, number: int) -> Sequence[int]:
    """The first indexes that have no pod, and have neither succeeded nor failed (firstPendingIndexes)."""
    taken = merged(sync.succeeded_indexes, singles(indexes_of(sync.active)))
    if replaces_only_failed(sync.job):
        taken = merged(taken, singles(indexes_of(filter(is_terminating, sync.pods))))
    return gaps(merged(taken, sync.failed_indexes or ()), number, sync.job["spec"]["completions"])
