"""Passes each point of a request and of a watch to the kills, the holds and the injector that wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakekube.apiserver.faults import Fault
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.harness.faultinjection.injector import (
    PROCEED,
    Action,
    AfterCommit,
    AfterRequest,
    BeforeEvent,
    BeforeRequest,
    Crash,
    Delay,
    Error,
    IllegalAction,
    Injector,
    Lose,
    Point,
    Proceed,
    Reset,
)
from fakekube.harness.faultinjection.plannedkill import PlannedKill
from fakekube.harness.faultinjection.statechange import StateChange
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.harness.records.requestrows import kind_of
from fakekube.server.clients import ClientProcess

if TYPE_CHECKING:
    from fakekube.virtualtime.simulatedprocess import SimulatedProcess

#: Finds the resource that is stored in a collection.
FindResource = Callable[[str], Resource | None]


class Interceptor:
    """Implements `fakekube.server.clients.Interception`. `kill` kills a process at once."""

    def __init__(self, kill: Callable[[SimulatedProcess], object], resource: FindResource) -> None:
        self.kills: list[PlannedKill] = []
        self.holds: list[Hold] = []
        self.injector: Injector | None = None
        self._kill, self._resource = kill, resource
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._loses = False

    def is_idle(self) -> bool:
        """Whether nothing waits for a point."""
        self.kills = [one for one in self.kills if one.active]
        self.holds = [one for one in self.holds if one.active]
        return not self.kills and not self.holds and self.injector is None

    def retire(self) -> None:
        """Drop everything that waits for a point."""
        self.kills, self.holds, self.injector = [], [], None
        self._kill, self._resource = _retired, _no_resource

    # --- called by the server

    def before_request(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        if self.injector is None:
            return None
        who, agent = _name(client), request.user_agent
        point = BeforeRequest(who, agent, info.verb, info.resource, info.namespace, info.name, info.subresource)
        match self._decide(point):
            case Proceed():
                return None
            case Error(code, committed):
                return Fault(error=code, committed=committed)
            case Reset():
                return Fault(reset="before")
            case Lose():
                return Fault(reset="after")
            case Delay(seconds):
                return Fault(delay=seconds)
            case Crash():
                self._crash(client)
                return Fault(reset="before")
            case other:
                raise IllegalAction(point, other)

    def committed(self, change: Change, info: RequestInfo | None, client: ClientProcess | None) -> None:
        if not self.kills and self.injector is None:
            return
        resource = self._resource(change.collection)
        if resource is None:
            return
        found = self._state_change(change, resource, _name(client))
        for plan in tuple(self.kills):
            if client is not None and plan.process == client.name:
                plan.committed(found)
        if self.injector is None:
            return
        point = AfterCommit(found)
        match self._decide(point):
            case Proceed():
                pass
            case Lose():
                self._loses = info is not None
            case Crash():
                self._crash(client)
            case other:
                raise IllegalAction(point, other)

    def answered(
        self, request: Request, info: RequestInfo, client: ClientProcess | None, response: Response
    ) -> Response:
        return Response(reset=True) if self._loses_answer(info, client, response.status) else response

    def _loses_answer(self, info: RequestInfo, client: ClientProcess | None, code: int) -> bool:
        if self._loses:
            self._loses = False
            return True
        if self.injector is None:
            return False
        point = AfterRequest(_name(client), info.verb, info.resource, info.namespace, info.name, code)
        match self._decide(point):
            case Proceed():
                return False
            case Lose():
                return True
            case Crash():
                self._crash(client)
                return True
            case other:
                raise IllegalAction(point, other)

    def watching(self, watch: Watch, user_agent: str, client: ClientProcess | None) -> None:
        for hold in self.holds:
            if hold.active and hold.applies(watch):
                hold.add(watch)

    def before_event(self, watch: Watch, event: WatchEvent) -> float:
        if self.injector is None or event.type == "BOOKMARK":
            return 0.0
        user_agent, client = watch.client
        meta = event.entry.object["metadata"]
        point = BeforeEvent(
            _name(client),
            user_agent,
            watch.collection,
            event.type,
            meta.get("namespace", ""),
            meta["name"],
            event.entry.revision,
        )
        match self._decide(point):
            case Proceed():
                return 0.0
            case Delay(seconds):
                return seconds
            case Crash():
                self._crash(client)
                return 0.0
            case other:
                raise IllegalAction(point, other)

    # --- deciding

    def _decide(self, point: Point) -> Action:
        return self.injector.decide(point) if self.injector is not None else PROCEED

    def _crash(self, client: ClientProcess | None) -> None:
        if client is not None:
            self._kill(client)  # type: ignore[arg-type]

    def _state_change(self, change: Change, resource: Resource, process: str) -> StateChange:
        verb = kind_of(change)
        key = (verb, change.collection, change.path)
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        namespace, _, name = change.path.rpartition("/")
        before = change.before.object if change.before is not None else None
        after = change.after.object if change.after is not None else None
        return StateChange(verb, resource, namespace, name, before, after, process, number)


def _retired(process: SimulatedProcess) -> None:
    """The cluster has ended."""


def _no_resource(collection: str) -> Resource | None:
    return None


def _name(client: ClientProcess | None) -> str:
    return client.name if client is not None else ""
