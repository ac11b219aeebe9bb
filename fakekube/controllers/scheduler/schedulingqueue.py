"""Pods that could not be scheduled, and when they are tried again (pkg/scheduler/backend/queue)."""

from __future__ import annotations

from controllerlib import Request
from fakekube.struct import Struct

#: Seconds: the back-off after the first attempt, and the longest (podInitialBackoffSeconds, podMaxBackoffSeconds).
INITIAL_BACKOFF = 1.0
LONGEST_BACKOFF = 10.0

ASSIGNED_POD_GONE = frozenset({"NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity"})
ASSIGNED_POD_ADDED = frozenset({"PodTopologySpread", "InterPodAffinity"})
VOLUMES_CHANGED = frozenset({"VolumeBinding"})


class Waiting(Struct):
    """A pod that no node fits. `at`: the monotonic time of the last attempt; `plugins`: what rejected it."""

    uid: str
    attempts: int = 0
    at: float = 0.0
    priority: int = 0
    plugins: frozenset[str] = frozenset()
    parked: bool = False


class UnschedulablePods:
    """Pods wait here until an event concerns what rejected them; then the back-off since the last attempt counts."""

    def __init__(self) -> None:
        self._pods: dict[Request, Waiting] = {}

    def tried(self, request: Request, uid: str, priority: int, plugins: frozenset[str], now: float) -> None:
        """An attempt has failed."""
        found = self._pods.get(request)
        if found is None or found.uid != uid:
            found = self._pods[request] = Waiting(uid)
        found.attempts += 1
        found.at, found.priority, found.plugins, found.parked = now, priority, plugins, True

    def forget(self, request: Request) -> None:
        self._pods.pop(request, None)

    def released(self, plugins: frozenset[str] | None, now: float) -> list[tuple[Request, float, int]]:
        """The pods that an event concerns (None: all), each with the rest of its back-off and its priority."""
        found = []
        for request, one in self._pods.items():
            if one.parked and (plugins is None or not one.plugins or plugins & one.plugins):
                one.parked = False
                found.append((request, max(0.0, one.at + backoff(one.attempts) - now), one.priority))
        return found


def backoff(attempts: int) -> float:
    """The seconds after this many attempts: 1, 2, 4, 8, 10."""
    return min(INITIAL_BACKOFF * 2.0 ** (attempts - 1), LONGEST_BACKOFF)
