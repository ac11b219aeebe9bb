"""Records every reconcile with its time, causes and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from controllerlib import Result
from controllerlib.observer import InformerEvent
from controllerlib.workqueue import Cause
from fakekube.harness.audit import MICROSECOND
from fakekube.harness.identity import Identities, Identity
from fakekube.harness.timeline import Summary, Timeline


class Write(NamedTuple):
    """A write request of a reconcile and the status code of its response (0: none).

    `before` and `after`: the resourceVersion in the request's body, if any, and in the response.
    """

    verb: str
    path: str
    code: int
    before: str = ""
    after: str = ""


class Reconcile(NamedTuple):
    """One call of a reconciler (a tuple, not a dataclass, because there are so many).

    `operator`, `incarnation`: see `Operator`. `key`: `namespace/name`. `causes`: what has enqueued the key since the
    call before. `waiting`: the time between being due and being started. `after`: the delay with which it was enqueued
    again, None if it was not.
    """

    operator: str
    incarnation: int
    controller: str
    key: str
    number: int
    worker: int
    causes: tuple[Cause, ...]
    started: datetime
    waiting: timedelta
    duration: timedelta
    label: str
    result: Result
    error: BaseException | None
    retries: int
    after: timedelta | None
    writes: tuple[Write, ...]

    @property
    def cause(self) -> str:
        """The kinds of its causes, each once, in the order in which they occurred: `added`, `updated+resync`."""
        if len(self.causes) == 1:
            return self.causes[0].kind
        return "+".join(dict.fromkeys(cause.kind for cause in self.causes)) or "unknown"

    def __str__(self) -> str:
        outcome = f"{type(self.error).__name__}: {self.error}" if self.error is not None else self.label
        return f"{self.controller} {self.key} #{self.number} [{self.cause}] {outcome}"


class OperatorObserver(Protocol):
    """What the ledger reads from the observer of an operator."""

    identity: Identity

    def running(self, controller: str) -> Sequence[str]:
        """The keys that are being reconciled."""
        ...

    def retire(self) -> None:
        """Detach from the ledger."""
        ...


class Ledger:
    """Records the reconciles of all operators, and adds them to the timeline."""

    def __init__(self, now: Callable[[], datetime], timeline: Timeline) -> None:
        self._timeline = timeline
        self.now: Callable[[], datetime] = now
        self.epoch: datetime = timeline.epoch
        self._reconciles: list[Reconcile] = []
        self._observers: list[OperatorObserver] = []
        self.informer_events: list[InformerEvent] = []
        self.identities: Identities = Identities()
        self._inspected: set[str] = set()

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(self._reconciles)

    def __len__(self) -> int:
        return len(self._reconciles)

    def reconciles(
        self, controller: str | None = None, key: str | None = None, *, operator: str = "", incarnation: int = 0
    ) -> list[Reconcile]:
        """The finished reconciles, oldest first: of one controller, key, operator, incarnation, or of all."""
        return [
            r
            for r in self._reconciles
            if (controller is None or r.controller == controller)
            and (key is None or r.key == key)
            and (not operator or r.operator == operator)
            and (not incarnation or r.incarnation == incarnation)
        ]

    def inspect_errors(self, name: str) -> None:
        """Note that the test reads the errors of a controller, or the permissions of a user: it checks them itself."""
        self._inspected.add(name)

    def inspected(self) -> frozenset[str]:
        """The controllers and users whose errors the test checks itself."""
        return frozenset(self._inspected)

    def lines(self, epoch: datetime) -> Iterator[str]:
        """A line for each reconcile: start (microseconds since the epoch), worker, key, causes, result."""
        for found in self._reconciles:
            at, lane = (found.started - epoch) // MICROSECOND, _lane(self.identities, found)
            yield f"{at} {lane}/{found.worker} {found.key} #{found.number} [{found.cause}] {_shown(found)}"

    def running(self, controller: str, *, operator: str = "", incarnation: int = 0) -> Sequence[str]:
        """The keys that are being reconciled, by all operators or one."""
        return [
            key
            for observer in self._observers
            if not operator or observer.identity.operator == operator
            if not incarnation or observer.identity.incarnation == incarnation
            for key in observer.running(controller)
        ]

    def attach(self, observer: OperatorObserver) -> None:
        """Called by a new observer."""
        self._observers.append(observer)

    def finished(self, reconcile: Reconcile) -> None:
        """Called by an observer: a reconcile has finished."""
        self._reconciles.append(reconcile)
        if reconcile.number == 1:
            self.identities.has_controller(Identity(reconcile.operator, reconcile.incarnation), reconcile.controller)
        # an error is formatted at once: the text of an exception may change
        shown = "" if reconcile.error is None else _shown(reconcile)
        self._timeline.add(reconcile.started, _summary, self.identities, reconcile, shown)

    def informer(self, event: InformerEvent) -> None:
        """Called by an observer: an event of an informer."""
        self.informer_events.append(event)
        if event.kind == "failed" or event.again:
            self._timeline.add(self.now(), Summary, *_informer_summary(event))

    def retire(self) -> None:
        """Detach from the observers, so that controllers that remain do not keep the ledger alive.

        Drops the tracebacks of recorded exceptions, too: their frames refer to their callers, up to the test, which
        would keep the cluster alive until a garbage collection (CPython 3.13 links them when a cancelled task ends).
        """
        for observer in self._observers:
            observer.retire()
        for error in (*(one.error for one in self._reconciles), *(event.error for event in self.informer_events)):
            if error is not None:
                _drop_tracebacks(error)


def _summary(identities: Identities, found: Reconcile, shown: str) -> Summary:
    what = f"reconcile {found.key} #{found.number} {shown or _shown(found)}"
    return Summary(_lane(identities, found), what, "", found.cause)


def _lane(identities: Identities, found: Reconcile) -> str:
    return identities.lane(Identity(found.operator, found.incarnation), found.controller)


def _informer_summary(event: InformerEvent) -> Summary:
    what = f"informer {event.informer} {event.kind}"
    return Summary("controllerlib", what, event.resource_version, str(event.error or ""))


def _drop_tracebacks(error: BaseException) -> None:
    """Drop the tracebacks of an exception, its causes and contexts."""
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is not None and one.__traceback__ is not None:
            one.__traceback__ = None
            pending += [one.__cause__, one.__context__]


def _shown(reconcile: Reconcile) -> str:
    if reconcile.error is not None:
        after = f", again in {reconcile.after.total_seconds():g} s" if reconcile.after is not None else ""
        return f"failed: {reconcile.error}{after}"
    if reconcile.after is not None:
        return f"ok, again in {reconcile.after.total_seconds():g} s"
    return "ok"
