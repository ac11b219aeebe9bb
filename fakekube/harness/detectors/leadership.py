"""Detects writes of replicas that do not lead."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from controllerlib.leaderelection import LeaderElection
from fakekube.harness.detectors.detector import Exchange, Observed, Scene

COLLECTION = "leases.coordination.k8s.io"


class FollowerWrites:
    """Writes of reconciles, also refused ones, while another replica holds the Lease of the election."""

    names: tuple[str, ...] = ("follower-write",)
    verbs: frozenset[str] = frozenset({"create", "update", "patch", "delete", "deletecollection"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def answered(self, exchange: Exchange) -> None:
        doing, record = exchange.doing, exchange.record
        if doing is None or record.resource in ("leases", "events"):
            return
        identity, name = _candidate(doing.operator)
        if not identity:
            return
        holder = self._holder(name)
        if holder and holder != identity:
            self._scene.report(
                "follower-write",
                f"{doing} of {identity} made {record} although {holder} holds the lease {name}",
                key=(identity, doing.run.controller, record.verb, record.resource),
            )

    def _holder(self, name: str) -> str:
        """The holder of the Lease; "" if there is none or it has expired."""
        for path, entry in self._scene.store.collection(COLLECTION).live.items():
            if path.rpartition("/")[2] == name:
                spec = entry.object.get("spec") or {}
                if not self._is_expired(spec):
                    return str(spec.get("holderIdentity") or "")
        return ""

    def _is_expired(self, spec: dict[str, Any]) -> bool:
        try:
            renewed = datetime.fromisoformat(spec["renewTime"].replace("Z", "+00:00"))
        except (KeyError, ValueError):
            return True
        return renewed + timedelta(seconds=spec.get("leaseDurationSeconds") or 0) < self._scene.now()

    def finish(self) -> None:
        """Nothing is left to report."""


def _candidate(operator: Observed) -> tuple[str, str]:
    """The identity and the Lease of a candidate; empty without an election."""
    election = getattr(operator.manager, "_election", None)
    if not isinstance(election, LeaderElection) or election.elector is None:
        return "", ""
    return election.elector.state.identity, election._options.name
