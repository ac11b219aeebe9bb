"""Detects writes of replicas that do not lead."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from controllerlib.leaderelection import LeaderElection
from fakekube.harness.detectors.detector import Exchange, Observed, Scene
from fakekube.virtualtime.simulatedprocess import current_client

COLLECTION = "leases.coordination.k8s.io"


class FollowerWrites:
    """Writes of reconciles, also refused ones, while another replica holds the Lease of the election.

    Runnables that do not need to lead may write objects of their own: reported are those that several replicas write.
    """

    names: tuple[str, ...] = ("follower-write",)
    verbs: frozenset[str] = frozenset({"create", "update", "patch", "delete", "deletecollection"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the path of an object: the identities whose runnables have written it, and the first write of a follower
        self._shared: dict[str, tuple[set[str], list[str]]] = {}

    def answered(self, exchange: Exchange) -> None:
        doing, record = exchange.doing, exchange.record
        if record.resource in ("leases", "events"):
            return
        operator = doing.operator if doing is not None else self._running()
        if operator is None:
            return
        identity, name = _candidate(operator)
        if not identity:
            return
        if doing is None:
            self._note_runnable(exchange, identity, name)
            return
        holder = self._holder(name)
        if holder and holder != identity:
            self._scene.report(
                "follower-write",
                f"{doing} of {identity} made {record} although {holder} holds the lease {name}",
                key=(identity, doing.run.controller, record.verb, record.resource),
            )

    def _running(self) -> Observed | None:
        """The operator whose code makes a request in place."""
        process = current_client()
        if process is None:
            return None
        return next((one for one in self._scene.operators if one.process is process), None)

    def _note_runnable(self, exchange: Exchange, identity: str, name: str) -> None:
        record = exchange.record
        path = f"{record.path}/{record.name}" if record.verb == "create" else record.path
        writers, followers = self._shared.setdefault(path, (set(), []))
        writers.add(identity)
        holder = self._holder(name)
        if holder and holder != identity:
            followers.append(
                f"a runnable of {identity} made {exchange.record} although {holder} holds the lease {name}"
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
        for path, (writers, followers) in self._shared.items():
            if len(writers) > 1 and followers:
                self._scene.report("follower-write", f"{followers[0]}, and which writes it, too", key=path)


def _candidate(operator: Observed) -> tuple[str, str]:
    """The identity and the Lease of a candidate; empty without an election."""
    election = getattr(operator.manager, "_election", None)
    if not isinstance(election, LeaderElection) or election.elector is None:
        return "", ""
    return election.elector.state.identity, election._options.name
