"""Detects writes of replicas that do not lead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from controllerlib import Manager
from controllerlib.leaderelection import LeaderElection
from fakekube.harness.audit import WRITES
from fakekube.harness.detectors.detector import Exchange, Observed, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.remains.tasknames import work_in_progress
from fakekube.harness.detectors.runnables import runnable
from fakekube.virtualtime.simulatedprocess import current_client

COLLECTION = "leases.coordination.k8s.io"

#: Resources that record what each replica does, or have its certificates.
_OF_EACH_REPLICA = frozenset(
    {
        *("leases", "events", "secrets", "certificatesigningrequests"),
        *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        *("customresourcedefinitions", "apiservices"),
    }
)


class FollowerWrites:
    """Writes of reconciles, also refused ones, while another replica holds the Lease of the election.

    Runnables that do not need to lead may write objects of their own: reported are those that several replicas write.
    """

    levels: Mapping[str, Level] = {"follower-write": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the path of an object: the identities whose runnables have written it, and the first write of a follower
        self._shared: dict[str, tuple[set[str], list[str]]] = {}
        self._work: Callable[[], str] = _no_work

    def open(self, surroundings: Surroundings) -> None:
        self._work = partial(work_in_progress, surroundings.bubble.loop.tasks.creator)

    def built(self, observed: Observed, manager: Manager) -> None:
        if manager.election is not None:
            self._scene.listen(WRITES, self._wrote)

    def _wrote(self, exchange: Exchange) -> None:
        doing, record = exchange.doing, exchange.record
        if record.resource in ("leases", "events"):
            return
        operator = doing.operator if doing is not None else _running(self._scene)
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

    def _note_runnable(self, exchange: Exchange, identity: str, name: str) -> None:
        record = exchange.record
        path = f"{record.path}/{record.name}" if record.verb == "create" else record.path
        writers, followers = self._shared.setdefault(path, (set(), []))
        writers.add(identity)
        holder = self._holder(name)
        if holder and holder != identity:
            followers.append(
                f"{self._work()} of replica {identity} made {exchange.record} although {holder} holds the lease {name}"
            )

    def retire(self) -> None:
        self._work = _no_work

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
                both = " and ".join(sorted(writers))
                self._scene.report("follower-write", f"{followers[0]}; {both} write this object", key=path)


class UnelectedWrites:
    """Writes of controllers and runnables that do not need to lead, in an operator that declares an election.

    Each replica makes them. Where a test has several replicas, FollowerWrites judges. Not reported: what each replica
    may keep for itself (certificates, and objects that have its identity in their name), Leases and Events. The
    runnable of a request is known if it calls the server directly.
    """

    levels: Mapping[str, Level] = {"unelected-write": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the lease, the controller or runnable, the verb and the resource
        self._found: dict[tuple[str, str, str, str], str] = {}
        self._creator: Callable[[asyncio.Task[Any] | None], asyncio.Task[Any] | None] = _no_task

    def open(self, surroundings: Surroundings) -> None:
        self._creator = surroundings.bubble.loop.tasks.creator

    def built(self, observed: Observed, manager: Manager) -> None:
        if manager.election is not None:
            self._scene.listen(WRITES, self._wrote)

    def _wrote(self, exchange: Exchange) -> None:
        doing, record = exchange.doing, exchange.record
        if not exchange.changed or record.resource in _OF_EACH_REPLICA:
            return
        operator = doing.operator if doing is not None else _running(self._scene)
        identity, lease = _candidate(operator) if operator is not None else ("", "")
        if not identity or identity in record.name:
            return
        if doing is None:
            who = self._runnable()
        else:
            manager = doing.operator.manager
            controller = manager.controllers.get(doing.run.controller) if manager is not None else None
            who = str(doing) if controller is not None and not controller.need_leader_election else ""
        if who:
            place = (lease, doing.run.controller if doing is not None else who, record.verb, record.resource)
            self._found.setdefault(place, f"{who} made {record}")

    def _runnable(self) -> str:
        """The runnable that makes a request, if it does not need to lead."""
        task = asyncio.current_task()
        while task is not None:
            found = runnable(task)
            if found is not None:
                return "" if found.leads else str(found)
            task = self._creator(task)
        return ""

    def retire(self) -> None:
        self._creator = _no_task

    def finish(self) -> None:
        replicas = Counter(lease for _, lease in {_candidate(operator) for operator in self._scene.operators})
        for place, text in self._found.items():
            if replicas[place[0]] < 2:
                self._scene.report(
                    "unelected-write",
                    f"{text} and does not need to lead (need_leader_election is False): each replica makes this write, "
                    "although the operator elects a leader",
                )


def _no_work() -> str:
    """The work of a loop that is not observed."""
    return "a task"


def _no_task(task: asyncio.Task[Any] | None) -> None:
    """The creator of a task of no loop."""


def _running(scene: Scene) -> Observed | None:
    """The operator whose code makes a request in place."""
    process = current_client()
    if process is None:
        return None
    return next((one for one in scene.operators if one.process is process), None)


def _candidate(operator: Observed) -> tuple[str, str]:
    """The identity and the Lease of a candidate; empty without an election."""
    election = operator.manager.election if operator.manager is not None else None
    if not isinstance(election, LeaderElection) or election.elector is None:
        return "", ""
    return election.elector.state.identity, election.options.name


DETECTORS = (
    FollowerWrites,
    UnelectedWrites,
)
