"""The parts of a running server that the control API steers: the same ones as in a test, in the time of a process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from fakekube.apiserver.auth.serviceaccount import user_named
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.storage.store import path_of
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse
from fakekube.control.requestfields import camel
from fakekube.harness.audit import Audit
from fakekube.harness.desks.faults import FaultRules
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.known.requesting.faultuse import given_of
from fakekube.harness.detectors.knowndetectors import levels_of
from fakekube.harness.faultinjection.holds import Holds
from fakekube.harness.faultinjection.interceptor import Interceptor
from fakekube.harness.objects import key_in
from fakekube.harness.records.identity import Identities
from fakekube.harness.timeline import Timeline
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.virtualtime.seeds import Seed

if TYPE_CHECKING:
    from fakekube.controllers.controllermanager import ControllerManager
    from fakekube.server.standalone import Running

log: logging.Logger = logging.getLogger(__name__)

#: The User-Agent of requests that the control API makes itself, and that are in no record.
OWN = "fakekube/control"

#: The detectors that need nothing but the requests and answers.
ON_THE_WIRE = (
    "hot-loop", "noop-write", "ignored-status", "unguarded-update", "unrepeated-conflict", "ignored-error", "poll-list",
    "partial-list", "expired-watch", "missing-permission", "event-flood", "foreign-finalizer", "unused-fault",
    "unused-script",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Beside:
    """What runs beside the server: its own controllers, if any, and the loop that its time is of."""

    controllers: ControllerManager | None = None
    loop: PacedLoop | None = None


class Steering:
    """The records, faults, holds and detectors of a server. Created when its manifests are loaded."""

    def __init__(self, running: Running, clock: PacedClock, beside: Beside = Beside()) -> None:
        self.running, self.clock, self.beside = running, clock, beside
        self.runner = runner = running.server.runner
        self.timeline: Timeline = Timeline(clock.epoch, runner.serials, partial(key_in, runner.apiserver.catalog))
        self.audit: Audit = Audit(runner, clock, self.timeline, Identities(), OWN)
        self.detection: Detection = self._detecting()
        self._interceptor = Interceptor(_kill_nothing, self._resource)
        self.holds: Holds = Holds(runner, self._interceptor, self.intercept)
        self.rules: FaultRules = self._making_rules()
        self.initial: Any = runner.apiserver.save()

    def _detecting(self) -> Detection:
        levels = levels_of({"all": "off", **{name: levels_of({})[name] for name in ON_THE_WIRE}})
        made = Detection(self.runner, self.clock.now, OWN, levels)
        made.scene.named = _named
        made.steps = 1  # each request is one of a client, none of a test
        return made

    def _making_rules(self) -> FaultRules:
        draw = Seed(self.runner.apiserver.store.revision).float
        return FaultRules(self.runner, self.timeline, self.detection, now=self.clock.now, draw=draw, failed=_failed)

    def forget_findings(self) -> None:
        """Begin to detect anew."""
        faults = [rule for rule in self.detection.scene.faults if rule.armed]
        self.detection.retire()
        self.detection = self._detecting()
        self.rules = self._making_rules()
        for rule in faults:
            self.detection.fault_made(rule)

    def intercept(self) -> None:
        """Let the server ask about holds, while there are any."""
        self.runner.intercept(None if self._interceptor.is_idle() else self._interceptor)

    def note(self, what: str) -> None:
        """Add a row to the timeline."""
        from fakekube.harness.records.entry import Summary

        self.timeline.add(self.clock.now(), Summary, OWN, what, str(self.runner.apiserver.store.revision))

    def user(self, name: str) -> User:
        """The user of a name, with the groups that its token has, or that the name implies."""
        known = (one for one in self.runner.apiserver.tokens.values() if one.name == name)
        return next(known, None) or user_named(name)

    # --- objects, without requests

    def resource_of(self, path: str) -> tuple[Resource, str] | None:
        """The resource and the key of the object that the path of a request addresses; None for unknown kinds."""
        info = parse(Request("GET", path))
        found = self.runner.apiserver.catalog.find(info.group, info.version, info.resource)
        if found is None or not info.name:
            return None
        return found, path_of(info.namespace if found.namespaced else "", info.name)

    def read(self, resource: Resource, path: str) -> Object | None:
        """A stored object as a client gets it."""
        server = self.runner.apiserver
        entry = server.store.get(resource.collection, path)
        if entry is None:
            return None
        found: Object = orjson.loads(server.registration(resource).view.encode(entry))
        return found

    def _resource(self, collection: str) -> Resource | None:
        return next(self._resources(collection), None)

    def _resources(self, collection: str) -> Iterator[Resource]:
        return (one for one in self.runner.apiserver.catalog.resources() if one.collection == collection)


def _named(rule: FaultRule) -> str:
    """A fault as it was asked for: `the fault {"verb": "update", "error": 409}`."""
    given = {camel(name): value for name, value in given_of(rule).items()}
    return f"the fault {orjson.dumps(given).decode()}"


def _kill_nothing(process: object) -> None:
    """Clients are processes of their own, which only their user kills."""


def _failed(error: BaseException) -> None:
    log.error("a fault failed", exc_info=error)
