"""Whether a node has room for a pod that is bound to it (pkg/kubelet/lifecycle: the predicate of resources)."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.controllers.workload.podrequests import amounts


class NodeResources:
    """The resources of a node, and what its pods have requested."""

    def __init__(self, capacity: Mapping[str, str]) -> None:
        self._capacity = amounts(capacity)
        self._used: dict[str, dict[str, int]] = {}
        self._sums: dict[str, int] = {}

    def admit(self, uid: str, requests: Mapping[str, int]) -> tuple[str, str] | None:
        """Count a pod. If there is no room for it, it is not counted, and this returns a reason and a message."""
        wanted = {**requests, "pods": 1}
        for name in sorted(wanted):
            used, capacity = self._sums.get(name, 0), self._capacity.get(name, 0)
            if wanted[name] and used + wanted[name] > capacity:
                text = f"requested: {wanted[name]}, used: {used}, capacity: {capacity}"
                return f"OutOf{name}", f"Pod was rejected: Node didn't have enough resource: {name}, {text}"
        self.count(uid, wanted)
        return None

    def count(self, uid: str, requests: Mapping[str, int]) -> None:
        """Count a pod that runs already."""
        self.free(uid)
        self._used[uid] = dict(requests)
        for name, value in requests.items():
            self._sums[name] = self._sums.get(name, 0) + value

    def free(self, uid: str) -> None:
        """Count a pod no longer."""
        for name, value in self._used.pop(uid, {}).items():
            self._sums[name] -= value
