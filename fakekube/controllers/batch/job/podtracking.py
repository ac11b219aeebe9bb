"""Counting each ended pod exactly once: uncounted uids in the status, and a finalizer on the pod.

A pod that has ended is first listed in status.uncountedTerminatedPods, then its finalizer is removed, and then it is
moved from the list to the count. Whatever step fails, no pod is lost and none is counted twice.

Source: kubernetes, trackJobStatusAndRemoveFinalizers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from controllerlib import ApiError
from fakekube.controllers.batch.job.jobspec import TRACKING, Object, is_tracked
from fakekube.controllers.workload.podcontrol import PodControl
from fakekube.controllers.workload.podstate import Pod

#: The patch that removes the finalizer of a pod.
REMOVAL = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}

#: The most uids in the status (MaxUncountedPods).
MOST_UNCOUNTED = 500


class FinalizerExpectations:
    """The uids of the pods of each Job whose finalizer is removed and whose change the informer has not shown yet."""

    def __init__(self) -> None:
        self._uids: dict[str, set[str]] = {}

    def expected(self, key: str) -> frozenset[str]:
        """The uids of the pods of a Job."""
        return frozenset(self._uids.get(key, ()))

    def expect(self, key: str, uids: Iterable[str]) -> None:
        """Expect the removal of the finalizers of pods."""
        self._uids.setdefault(key, set()).update(uids)

    def observed(self, key: str, uid: str) -> None:
        """A finalizer was removed, or its removal has failed."""
        self._uids.get(key, set()).discard(uid)

    def forget(self, key: str) -> None:
        """Forget a Job, which is gone."""
        self._uids.pop(key, None)


async def remove_finalizers(
    control: PodControl, job: Object, key: str, pods: Sequence[Pod], expectations: FinalizerExpectations
) -> tuple[set[str], Exception | None]:
    """Remove the finalizers of pods; returns the uids of those that have none now, and the first error."""
    expectations.expect(key, (pod["metadata"]["uid"] for pod in pods))

    async def remove(pod: Pod) -> Exception | None:
        try:
            await control.patch(job, pod, REMOVAL)
        except ApiError as error:
            expectations.observed(key, pod["metadata"]["uid"])
            if error.reason != "NotFound":
                return error
        return None

    outcomes = await asyncio.gather(*map(remove, pods))
    removed = {pod["metadata"]["uid"] for pod, error in zip(pods, outcomes, strict=True) if error is None}
    return removed, next((error for error in outcomes if error is not None), None)


def still_tracked(pods: Iterable[Pod], expected: Collection[str]) -> set[str]:
    """The uids of the pods that have the finalizer and are not expected to lose it."""
    return {pod["metadata"]["uid"] for pod in pods if is_tracked(pod) and pod["metadata"]["uid"] not in expected}


def uncounted(status: Object, outcome: str) -> Sequence[str]:
    """The uids of the uncounted pods, those that have "succeeded" or "failed"."""
    found: Sequence[str] = (status.get("uncountedTerminatedPods") or {}).get(outcome) or ()
    return found


def with_uncounted(status: dict[str, Any], outcome: str, uids: Sequence[str]) -> None:
    """Set the uids of the uncounted pods."""
    rest = {name: uids for name, uids in (status.get("uncountedTerminatedPods") or {}).items() if name != outcome}
    status["uncountedTerminatedPods"] = {**rest, outcome: list(uids)} if uids else rest


def set_count(status: dict[str, Any], name: str, value: int) -> None:
    """Set a count, which is left out if it is 0."""
    if value:
        status[name] = value
    else:
        status.pop(name, None)


def count_untracked(status: dict[str, Any], tracked: Collection[str]) -> bool:
    """Move the uncounted pods that have no finalizer to the counts; returns whether there were any."""
    changed = False
    for outcome in ("succeeded", "failed"):
        before = uncounted(status, outcome)
        after = [uid for uid in before if uid in tracked]
        if len(after) != len(before):
            changed = True
            set_count(status, outcome, (status.get(outcome) or 0) + len(before) - len(after))
            with_uncounted(status, outcome, after)
    return changed
