"""What detectors are given: reconciles in progress, answered requests, and the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from controllerlib import Manager
from controllerlib.controller import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    KindSource,
    Outcome,
    OwnerKind,
    Run,
)
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change, Entry, Store, path_of
from fakekube.apiserver.wire.request import Request, RequestInfo, parse
from fakekube.harness.detectors.levels import Level
from fakekube.harness.pods.simulatedpods import LaterScript
from fakekube.server.clients import ClientProcess
from fakekube.server.runner import ServerRunner
from fakekube.struct import Struct, field
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

Object = dict[str, Any]

#: Users of the cluster's own components, whose requests are not judged.
COMPONENTS = ("system:serviceaccount:kube-system:", "system:node:", "system:kube-", "fakekube:")

#: Verbs that change one object.
CHANGES = frozenset({"create", "update", "patch"})

#: Those of them that need an object.
UPDATES = frozenset({"update", "patch"})

#: Seconds after which a requeue, or another request, is no answer to a refusal.
FAR = 300.0

#: Requeues after fewer seconds are none that an operator has chosen as its period.
SHORT = 1.0

#: Causes for which nothing has changed.
PERIODIC = frozenset({"resync", "relist"})

#: Reconciles of one key that have started tasks or threads which still run.
REPEATED = 3


class Detector(Protocol):
    """Looks for one kind of defect. `report` of its scene takes what it finds.

    Besides `finish` it has those of these methods that it needs; `Detection` finds them by name:

    open(surroundings): before anything happens
    built(observed, manager): of operators of controllerlib, before they start
    started(doing) · finished(doing, outcome): of their reconciles
    resynced(doing): of reconciles whose first cause is a resync or a relist, before `started`
    requeued(doing, outcome): of reconciles that run again in less than SHORT, also as retries, before `finished`
    failed(doing, error): of reconciles that have failed, after `finished`
    called(doing, sent): of writes of reconciles, with a verb in its `calls`
    made(doing, sent) · rejected(doing, sent): the same, of all verbs, answered with 201, or with 400 and more
    answered(exchange): of requests with a verb in its `verbs`, without those of the test and of the cluster
    answered_alone(exchange): the same, only of requests without a reconcile
    denied(exchange): the same, of all verbs, answered with 403; these are not `answered`
    refused(exchange): the same, of all verbs, answered with 400 and more
    created(exchange): the same, answered with 201; only of the resources in `creates`, if it has any
    unchanged(exchange): the same, of updates and patches that succeed and change nothing
    finalized(change, exchange): the same, of writes that have changed finalizers
    committed(change, doing): of the store; only of the `collections` that it has, if it has any
    finalizers_changed(change, doing): of the store, if finalizers have changed, before `committed`
    logged(record, program): of log records of operators, tasks and threads
    task_created(task): of tasks in the bubble
    closed(): when operators, tasks and threads have been ended after the test
    retire(): at the end of the cluster: drop what refers to operators and the server
    """

    levels: Mapping[str, Level]
    """The names of what it reports, with the default level of each."""

    def finish(self) -> None:
        """Report what can be known only at the end of the test."""


class DetectorClass(Protocol):
    """A class of detectors. One that raises in the hook `started` has `raises = True`."""

    __name__: str
    levels: Mapping[str, Level]

    def __call__(self, scene: Scene) -> Detector: ...


class Surroundings(Struct, frozen=True):
    """What is around the code under test.

    doing: the reconcile of the calling code. in_step: whether the test waits in a step (`settle`, `advance`), so that
    what happens is not its own doing. has_threads: whether the test has started threads of its own.
    in_progress: the reconciles that run.
    """

    bubble: Bubble
    doing: Callable[[], Doing | None]
    in_step: Callable[[], bool]
    has_threads: Callable[[], bool]
    in_progress: Callable[[], Iterable[Doing]]


class Observed(Struct):
    """An operator of controllerlib.

    owned: the kinds that each controller owns, with the kind of the owner. reconciled: the kind that its keys are of,
    by the name of the controller; controllers without such a kind are left out.
    """

    name: str
    process: SimulatedProcess
    manager: Manager | None = None
    owned: dict[str, dict[tuple[str, str], OwnerKind]] = field(default_factory=dict)
    reconciled: dict[str, tuple[str, str]] = field(default_factory=dict)

    def is_queued(self, controller: str, request: Any) -> bool:
        """Whether a key is due now or later."""
        found = self.manager.controllers.get(controller) if self.manager is not None else None
        try:
            queue = found.queue if found is not None else None
        except RuntimeError:  # not started
            return False
        return queue is not None and (queue.is_active(request) or queue.due(request) is not None)


def note_kinds(observed: Observed) -> None:
    """Note what the controllers of an operator reconcile and own. To be called before its manager starts."""
    assert observed.manager is not None
    for name, controller in observed.manager.controllers.items():
        for source in controller.unsynced_sources:
            if not isinstance(source, KindSource):
                continue
            handler = source.handler
            if isinstance(handler, EnqueueRequestForOwner):
                observed.owned.setdefault(name, {})[source.api_version, source.kind] = handler.owner
            elif isinstance(handler, EnqueueRequestForObject):
                observed.reconciled.setdefault(name, (source.api_version, source.kind))


class Sent(Struct, frozen=True):
    """A write of a reconcile and its answer. before, after: the resourceVersions in the two, if any."""

    verb: str
    path: str
    code: int
    body: Any
    answer: Any
    before: str = ""
    after: str = ""


class Writer(Struct, frozen=True):
    """Who changes objects: a controller of an operator, or another client. program: several may have one name."""

    client: str
    controller: str = ""
    program: int = 0

    def __str__(self) -> str:
        return f"{self.client} ({self.controller})" if self.controller else self.client


class Doing(Struct):
    """A reconcile in progress, or one that has just finished."""

    run: Run
    operator: Observed
    key: str
    #: the number of requests that faults had affected when it started
    faults: int
    #: the operator, the controller and the key
    who: tuple[int, str, str]
    sent: list[Sent] = field(default_factory=list)
    is_over: bool = False
    #: whether a request of it has been answered
    has_asked: bool = False
    #: whether it has changed something in the store
    has_changed: bool = False
    _writer: Writer | None = None

    @property
    def writer(self) -> Writer:
        """The controller, when it changes an object."""
        if self._writer is None:
            self._writer = Writer(self.operator.name, self.run.controller, id(self.operator))
        return self._writer

    @property
    def inspected_as(self) -> str:
        """The operator and the controller, as in `Scene.inspected`."""
        return f"{self.operator.name}/{self.run.controller}"

    @property
    def at(self) -> float:
        """When it started, in seconds of monotonic time."""
        return self.run.started

    @property
    def reconciler(self) -> Callable[..., object] | None:
        """The function that reconciles."""
        manager = self.operator.manager
        controller = None if manager is None else manager.controllers.get(self.run.controller)
        return None if controller is None else controller.reconciler

    def __str__(self) -> str:
        causes = "+".join(dict.fromkeys(cause.kind for cause in self.run.causes)) or "unknown"
        return f"{self.run.controller} reconciling {self.key} [{causes}]"


_NOT_DECODED = object()


class Exchange(Struct):
    """An answered request.

    doing: the reconcile that made it, if that is known. changed: the store has changed. client: the name of the
    operator, task or thread that made it; empty if it is none of the cluster's. process: the operator, task or thread
    itself, as several may have one name.
    """

    request: Request
    info: RequestInfo
    response: Response
    record: RequestRecord
    doing: Doing | None
    changed: bool
    client: str = ""
    process: ClientProcess | None = None
    _body: Any = _NOT_DECODED

    @property
    def agent(self) -> str:
        """The client by its User-Agent, which replicas and the parts of an operator have in common."""
        return self.record.user_agent or self.record.user

    @property
    def program(self) -> str:
        """What made it: the operator, task or thread; the User-Agent, if it is none of the cluster's."""
        return self.client or self.agent

    @property
    def who(self) -> str:
        """The client in a text: the operator, task or thread, and the library; in a reconcile, its controller."""
        agent = self.agent
        if self.doing is not None or not self.client:
            return agent
        return f"{self.client} ({agent.partition('/')[0]})"

    @property
    def within(self) -> str:
        """Where it was made, as an addition to a text: `, in ...`; empty if that is not known."""
        return f", in {self.doing}" if self.doing is not None else ""

    def may_name(self, field: bytes) -> bool:
        """Whether the body may have a field of this name (if the name is not escaped): so few need to be decoded."""
        raw = self.request.body
        return not isinstance(raw, bytes) or field in raw

    def body(self) -> Any:
        """The body of the request, decoded once for all detectors; None if it is not JSON."""
        if self._body is _NOT_DECODED:
            raw = self.request.body
            self._body = _decoded(raw) if isinstance(raw, bytes) else raw
        return self._body


def _decoded(raw: bytes) -> Any:
    import orjson

    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


class Report(Protocol):
    """Takes a finding. Findings of the same detector with the same `key` (None: the text) are one."""

    def __call__(self, detector: str, text: str, *, who: str = "", key: object = None) -> None: ...


class Follow(Protocol):
    """Adds hooks of a detector from now on: it asks for them when it has found something to look for.

    They are what the hooks of the same names are, but are named `_started`, `_finished`, `_called` and `_committed`, so
    that they are not found before. `called` gets writes with these `verbs`. A hook that is known is not added again.
    """

    def __call__(
        self,
        *,
        started: Callable[[Doing], None] | None = None,
        finished: Callable[[Doing, Outcome], None] | None = None,
        called: Callable[[Doing, Sent], None] | None = None,
        verbs: Iterable[str] = (),
        committed: Callable[[Change, Doing | None], None] | None = None,
    ) -> None: ...


class Planned(Protocol):
    """What a test has asked for and may never happen. problem: why it has done nothing; empty if it has."""

    @property
    def problem(self) -> str: ...


class Scene(Struct):
    """What detectors read of a cluster."""

    runner: ServerRunner
    now: Callable[[], datetime]
    report: Report
    operators: list[Observed] = field(default_factory=list)
    faults: list[FaultRule] = field(default_factory=list)
    #: how many requests faults have affected, by the operator, task or thread ("": none of the cluster's)
    hits: Counter[str] = field(default_factory=Counter)
    #: what `pods(...).always()` is to do with pods that come later
    scripts: list[LaterScript] = field(default_factory=list)
    #: late watches and kills that the test has asked for
    plans: list[Planned] = field(default_factory=list)
    #: raises an exception where the test waits, unless the detector is off
    fail: Callable[[str, BaseException], None] = lambda detector, error: None
    #: adds a row to the timeline: who, and what happened
    note: Callable[[str, str], None] = lambda who, what: None
    #: how a finding names a fault; None: as the test has written it
    named: Callable[[FaultRule], str] | None = None
    #: calls a hook with each answered request of these verbs from now on: for what few tests need
    listen: Callable[[Iterable[str], Callable[[Exchange], None]], None] = lambda verbs, hook: None
    #: calls hooks of a detector from now on
    follow: Follow = lambda **hooks: None
    #: OPERATOR/CONTROLLER whose errors the test reads itself, and users whose permissions it compares
    inspected: Callable[[], frozenset[str]] = frozenset

    @property
    def store(self) -> Store:
        return self.runner.apiserver.store

    def place(self, path: str) -> tuple[str, str] | None:
        """The collection and the key of the object that the path of a request addresses; None for unknown kinds."""
        info = parse(Request("GET", path))
        resource = self.runner.apiserver.catalog.find(info.group, info.version, info.resource)
        if resource is None:
            return None
        return resource.collection, path_of(info.namespace if resource.namespaced else "", info.name)

    def entry(self, path: str) -> Entry | None:
        """The stored object that the path of a request addresses, if it exists."""
        place = self.place(path)
        return None if place is None else self.store.get(*place)

    def reconciled(self, doing: Doing) -> Entry | None:
        """The stored object of the key of a reconcile, if it exists and its kind is known."""
        kind = doing.operator.reconciled.get(doing.run.controller)
        resource = self.runner.apiserver.catalog.find_kind(*kind) if kind is not None else None
        return self.store.get(resource.collection, doing.key) if resource is not None else None

    def writer(self, doing: Doing | None) -> Writer | None:
        """Who makes the present request, in a reconcile or without one; None for the test."""
        if doing is not None:
            return doing.writer
        client = self.runner.client
        return None if client is None else Writer(client.name, program=id(client))

    def fault_hits(self) -> int:
        """The number of requests that faults have affected."""
        return sum(rule.hits for rule in self.faults)

    def fault_hits_of(self, program: str) -> int:
        """The number of requests of a program that faults have affected, and of calls of webhooks."""
        return self.hits[program] + self.hits[""] + sum(rule.hits for rule in self.faults if rule.webhook)


def meta_of(obj: Any) -> Mapping[str, Any]:
    """The metadata of an object; empty without any."""
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    return meta if isinstance(meta, dict) else {}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path and the value of each leaf of a JSON value."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from leaves(one, (*path, number))
    else:
        yield path, value


#: Metadata that the server changes with each write.
_OF_EACH_WRITE = frozenset({"resourceVersion", "generation", "managedFields"})


def changed_leaves(
    before: Object, after: Object, without: Container[str] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path and the new value of each leaf that a write has added, changed or removed (None).

    without: parts of the objects, such as "status", that are left out.
    """
    before, after = _judged(before, without), _judged(after, without)
    old, new = dict(_leaves_apart(before, after)), dict(_leaves_apart(after, before))
    for path in dict.fromkeys([*old, *new]):
        if old.get(path) != new.get(path):
            yield path, new.get(path)


def _judged(obj: Object, without: Container[str]) -> Object:
    """The object without these parts, and without metadata that each write changes."""
    parts = {part: value for part, value in obj.items() if part not in without}
    if isinstance(meta := parts.get("metadata"), dict):
        parts["metadata"] = {name: value for name, value in meta.items() if name not in _OF_EACH_WRITE}
    return parts


def _leaves_apart(
    value: Any, other: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The leaves of a JSON value apart from the parts that the other has at the same place."""
    if isinstance(value, list) and isinstance(other, list):
        value, other = dict(enumerate(value)), dict(enumerate(other))
    if isinstance(value, dict) and isinstance(other, dict):
        for key, one in value.items():
            if key not in other:
                yield from leaves(one, (*path, key))
            elif one != other[key]:
                yield from _leaves_apart(one, other[key], (*path, key))
    else:
        yield from leaves(value, path)


#: Characters of a value that a finding shows.
_SHOWN = 100


def shown_value(value: Any, most: int = _SHOWN) -> str:
    """A value as text, of at most so many characters."""
    text = "absent" if value is None else repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def shown_path(path: Sequence[str | int]) -> str:
    """A path as text: `.spec.containers[0].image`."""
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
