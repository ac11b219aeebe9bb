"""How long a Job waits before it replaces failed pods (`pkg/controller/job/backoff_utils.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fakekube.controllers.workload.podstate import Pod, condition, time_of
from fakekube.struct import Struct

#: Seconds after the first failure; each further one doubles them (DefaultJobPodFailureBackOff).
FIRST = 10.0

#: The most seconds (MaxJobPodFailureBackOff).
MOST = 600.0


class Backoff(Struct, frozen=True):
    """The failures since the last success, and when the last one was."""

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Backoff:
        """The back-off after further pods have ended."""
        if not succeeded and not failed:
            return self
        failures = sorted(map(finished_at, failed))
        if succeeded:
            last_success = max(map(finished_at, succeeded))
            failures = [time for time in failures if time > last_success]
            return Backoff(len(failures), failures[-1] if failures else None)
        return Backoff(self.failures + len(failures), failures[-1])

    def remaining(self, now: datetime) -> float:
        """The seconds until pods may be created."""
        return remaining(self.failures, self.last_failure, now)


NO_BACKOFF = Backoff()


def remaining(failures: int, last_failure: datetime | None, now: datetime) -> float:
    """The seconds until the back-off after `failures` in a row ends."""
    if not failures or last_failure is None:
        return 0.0
    wait = min(FIRST * 2.0 ** min(failures - 1, 100), MOST)
    return max(0.0, wait - (now - last_failure).total_seconds())


def finished_at(pod: Pod) -> datetime:
    """When the pod ended: when its last container did, or it became not ready, or it was deleted, or it was created."""
    meta = pod["metadata"]
    ended = _containers_ended(pod)
    if ended is not None:
        return ended
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return time_of(ready["lastTransitionTime"])
    if meta.get("deletionTimestamp"):
        return time_of(meta["deletionTimestamp"]) - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
    return time_of(meta["creationTimestamp"])


def _containers_ended(pod: Pod) -> datetime | None:
    """When the last container or sidecar ended; None if one has not."""
    status = pod.get("status") or {}
    sidecars = {one["name"] for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"}
    side = [one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    return _latest(_latest(None, status.get("containerStatuses") or ()), side)


def _latest(before: datetime | None, statuses: Iterable[Mapping[str, Any]]) -> datetime | None:
    for one in statuses:
        text = ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        if not text:
            return None
        before = time_of(text) if before is None else max(before, time_of(text))
    return before
