"""The state of a pod as controllers see it (`pkg/api/v1/pod`, `pkg/controller/controller_utils.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

Pod = Mapping[str, Any]


def phase(obj: Mapping[str, Any]) -> str:
    """status.phase of a pod, a claim or a volume; "" if it is not set."""
    return (obj.get("status") or {}).get("phase") or ""


def is_terminal(pod: Pod) -> bool:
    """Whether the pod has succeeded or failed (podutil.IsPodTerminal)."""
    return phase(pod) in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Whether the pod has neither ended nor is being deleted (controller.IsPodActive)."""
    return not is_terminal(pod) and not pod["metadata"].get("deletionTimestamp")


def is_terminating(pod: Pod) -> bool:
    """Whether the pod is being deleted and has not ended (controller.IsPodTerminating)."""
    return not is_terminal(pod) and bool(pod["metadata"].get("deletionTimestamp"))


def condition(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The condition of a type in the status of an object, or None."""
    for found in (obj.get("status") or {}).get("conditions") or ():
        if found.get("type") == kind:
            return found  # type: ignore[no-any-return]
    return None


def is_ready(pod: Pod) -> bool:
    """Whether the condition Ready is true (podutil.IsPodReady)."""
    found = condition(pod, "Ready")
    return found is not None and found.get("status") == "True"


def ready_since(pod: Pod) -> datetime | None:
    """When the pod became ready; None if it is not ready or the condition has no time."""
    found = condition(pod, "Ready")
    if found is None or found.get("status") != "True":
        return None
    return moment(found.get("lastTransitionTime"))


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for `min_ready_seconds` (podutil.IsPodAvailable)."""
    if not is_ready(pod):
        return False
    if min_ready_seconds == 0:
        return True
    since = ready_since(pod)
    return since is not None and (now - since).total_seconds() >= min_ready_seconds


def next_availability_check(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> float | None:
    """The seconds until the first ready pod becomes available, None if none will by time alone.

    Source: kubernetes, controller.FindMinNextPodAvailabilityCheck.
    """
    starts = [since for pod in pods if (since := ready_since(pod)) is not None]
    waits = [min_ready_seconds - (now - since).total_seconds() for since in starts]
    return min((wait for wait in waits if wait > 0), default=None)


def moment(text: str | None) -> datetime | None:
    """The time that a timestamp of the API (RFC 3339) names; None if it is not set."""
    return time_of(text) if text else None


def time_of(text: str) -> datetime:
    """The time that a timestamp of the API names. Raises ValueError if it is not one."""
    return datetime.fromisoformat(text)


def timestamp(time: datetime) -> str:
    """A time as the API writes it, in seconds."""
    return f"{time.isoformat()[:19]}Z"
