"""Which pods are deleted first when there are too many (`controller.ActivePodsWithRanks`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cmp_to_key
from typing import Any

from fakekube.controllers.workload.podstate import Pod, is_ready, moment, phase, ready_since

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def deletion_order(pods: Sequence[Pod], ranks: Sequence[int], now: datetime) -> Sequence[Pod]:
    """The pods, those to delete first in front.

    In this order: not assigned to a node; pending, then unknown, then running; not ready; of the lower deletion cost;
    of the higher rank (more pods of the same owner on the node); ready, then created for the shorter time, where times
    of the same power of two are equal and the uid decides; with more restarts.
    """

    def compare(left: tuple[Pod, int], right: tuple[Pod, int]) -> int:
        return _compare(left, right, now)

    return [pod for pod, _ in sorted(zip(pods, ranks, strict=True), key=cmp_to_key(compare))]


def removal_order(pods: Sequence[Pod]) -> Sequence[Pod]:
    """The pods, those to delete first in front, by exact times and without costs and ranks (controller.ActivePods)."""
    return sorted(pods, key=_removal_key)


def _removal_key(pod: Pod) -> tuple[Any, ...]:
    ready = is_ready(pod)
    regular, side = restarts(pod)
    since = ready_since(pod) if ready else None
    times = (_later_first(since) if ready else 0.0, -regular, -side, _later_first(_created(pod)))
    return (bool(_node(pod)), _PHASES.get(phase(pod), 0), ready, *times)


def _later_first(time: datetime | None) -> float:
    return -math.inf if time is None else -time.timestamp()


def deletion_cost(pod: Pod) -> int:
    """The deletion cost of the pod's annotation, 0 if it is absent or not an int32."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "")
    if not text or text[0] == "+" or (text[0] == "0" and text != "0"):
        return 0
    try:
        value = int(text)
    except ValueError:
        return 0
    return value if -(2**31) <= value < 2**31 else 0


def _compare(left: tuple[Pod, int], right: tuple[Pod, int], now: datetime) -> int:
    (one, rank), (other, other_rank) = left, right
    for mine, theirs in (
        (bool(_node(one)), bool(_node(other))),
        (_PHASES.get(phase(one), 0), _PHASES.get(phase(other), 0)),
        (is_ready(one), is_ready(other)),
        (deletion_cost(one), deletion_cost(other)),
        (-rank, -other_rank),
    ):
        if mine != theirs:
            return -1 if mine < theirs else 1
    if is_ready(one) and is_ready(other):
        decided = _compare_times(one, other, ready_since(one), ready_since(other), now)
        if decided:
            return decided
    mine_restarts, their_restarts = restarts(one), restarts(other)
    if mine_restarts != their_restarts:
        return -1 if mine_restarts > their_restarts else 1
    return _compare_times(one, other, _created(one), _created(other), now)


def _compare_times(one: Pod, other: Pod, mine: datetime | None, theirs: datetime | None, now: datetime) -> int:
    """Compares two times: none before the later one before the earlier one, in a logarithmic scale."""
    if mine == theirs:
        return 0
    if mine is None or theirs is None:
        return -1 if mine is None else 1
    difference = _magnitude(now, mine) - _magnitude(now, theirs)
    if difference:
        return difference
    return -1 if _uid(one) < _uid(other) else 1


def _magnitude(now: datetime, since: datetime) -> int:
    nanoseconds = (now - since).total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def restarts(pod: Pod) -> tuple[int, int]:
    """The most restarts of a container, and of a sidecar (an init container that is always restarted)."""
    status = pod.get("status") or {}
    sidecars = {
        one.get("name") for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"
    }
    regular = [_count(one) for one in status.get("containerStatuses") or ()]
    side = [_count(one) for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    return max(regular, default=0), max(side, default=0)


def _count(status: Mapping[str, Any]) -> int:
    return int(status.get("restartCount") or 0)


def _node(pod: Pod) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _created(pod: Pod) -> datetime | None:
    return moment(pod["metadata"].get("creationTimestamp"))


def _uid(pod: Pod) -> str:
    return pod["metadata"].get("uid") or ""
