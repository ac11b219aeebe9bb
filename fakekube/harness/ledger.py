"""Records every reconcile with its time, causes and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from controllerlib import Result
from controllerlib.controller import Outcome, Run
from controllerlib.observer import Call, InformerEvent, Observer
from controllerlib.workqueue import Cause
from fakekube.harness.audit import MICROSECOND, WRITES
from fakekube.harness.timeline import Summary, Timeline
from fakekube.virtualtime.errors import HotLoop

_NO_TIME = timedelta()

#: More reconciles of one object by one controller within one virtual second are a hot loop.
HOT_LOOP = 1_000


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

    `key`: `namespace/name`. `causes`: what has enqueued the key since the call before. `waiting`: the time between
    being due and being started. `after`: the delay with which it was enqueued again, None if it was not.
    """

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


@dataclass(slots=True)
class _Running:
    """A reconcile that has not finished."""

    run: Run
    #: the controller and the key
    who: tuple[str, str]
    started: datetime
    writes: list[Write] = field(default_factory=list)


class Ledger:
    """Records the reconciles of all controllers that use its `observer`, and adds them to the timeline."""

    def __init__(self, now: Callable[[], datetime], timeline: Timeline) -> None:
        self._now, self._timeline = now, timeline
        self._reconciles: list[Reconcile] = []
        self.informer_events: list[InformerEvent] = []
        self.observer: ReconcileObserver = ReconcileObserver(self, now)

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(self._reconciles)

    def __len__(self) -> int:
        return len(self._reconciles)

    def reconciles(self, controller: str, key: str | None = None) -> list[Reconcile]:
        """The finished reconciles of a controller, oldest first, of one key or of all."""
        return [r for r in self._reconciles if r.controller == controller and (key is None or r.key == key)]

    def lines(self, epoch: datetime) -> Iterator[str]:
        """A line for each reconcile: start (microseconds since the epoch), worker, key, causes, result."""
        for found in self._reconciles:
            at = (found.started - epoch) // MICROSECOND
            yield f"{at} {found.controller}/{found.worker} {found.key} #{found.number} [{found.cause}] {_shown(found)}"

    def running(self, controller: str) -> Sequence[str]:
        """The keys that are being reconciled."""
        return self.observer.running(controller)

    def finished(self, reconcile: Reconcile) -> None:
        """Called by the observer: a reconcile has finished."""
        self._reconciles.append(reconcile)
        if reconcile.error is None:
            self._timeline.add(reconcile.started, _summary, reconcile)
        else:  # formatted at once: the text of an exception may change
            self._timeline.add(reconcile.started, Summary, *_summary(reconcile))

    def informer(self, event: InformerEvent) -> None:
        """Called by the observer: an event of an informer."""
        self.informer_events.append(event)
        if event.kind == "failed" or event.again:
            self._timeline.add(self._now(), Summary, *_informer_summary(event))

    def retire(self) -> None:
        """Detach from the observer, so that controllers that remain do not keep the ledger alive.

        Drops the tracebacks of recorded exceptions, too: their frames refer to their callers, up to the test, which
        would keep the cluster alive until a garbage collection (CPython 3.13 links them when a cancelled task ends).
        """
        self.observer.ledger = None
        for error in (*(one.error for one in self._reconciles), *(event.error for event in self.informer_events)):
            if error is not None:
                _drop_tracebacks(error)


class ReconcileObserver(Observer):
    """The observer of controllers that writes a ledger.

    Raises HotLoop in a controller that reconciles one object more than HOT_LOOP times within one virtual second.
    """

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        self.ledger: Ledger | None = ledger
        self._now = now
        #: by the identity of the run, because replicas of an operator have runs of equal names and ids
        self._running: dict[int, _Running] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._second = 0
        self._this_second: dict[tuple[str, str], int] = {}

    def running(self, controller: str) -> list[str]:
        """The keys that are being reconciled."""
        return [run.who[1] for run in self._running.values() if run.who[0] == controller]

    def reconcile_started(self, run: Run) -> None:
        who = (run.controller, str(run.request))
        self._running[id(run)] = _Running(run, who, self._now())
        self._check_hot_loop(run, who)

    def _check_hot_loop(self, run: Run, who: tuple[str, str]) -> None:
        second = int(run.started)
        if second != self._second:
            self._second = second
            self._this_second.clear()
        times = self._this_second[who] = self._this_second.get(who, 0) + 1
        if times > HOT_LOOP:
            causes = ", ".join(str(cause) for cause in run.causes)
            raise HotLoop(
                f"controller {run.controller!r} reconciled {run.request} more than {HOT_LOOP} times within one virtual "
                f"second; the last time because of: {causes}"
            )

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        opened = self._running.pop(id(run))
        controller, key = who = opened.who
        number = self._counts[who] = self._counts.get(who, 0) + 1
        waited, took = run.started - run.queued_since, outcome.finished - run.started
        found = Reconcile(
            controller=controller,
            key=key,
            number=number,
            worker=run.worker,
            causes=run.causes,
            started=opened.started,
            waiting=timedelta(seconds=waited) if waited > 0 else _NO_TIME,
            duration=timedelta(seconds=took) if took else _NO_TIME,
            label=outcome.label,
            result=outcome.result,
            error=outcome.error,
            retries=run.failures,
            after=None if outcome.requeue_after is None else timedelta(seconds=outcome.requeue_after),
            writes=tuple(opened.writes),
        )
        if self.ledger is not None:
            self.ledger.finished(found)

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        if call.run is None or call.verb not in WRITES:
            return
        opened = self._running.get(id(call.run))
        if opened is not None:
            opened.writes.append(Write(call.verb, call.path, code, _version(call.body), _version(answer)))

    def informer(self, event: InformerEvent) -> None:
        if self.ledger is not None:
            self.ledger.informer(event)


def _summary(found: Reconcile) -> Summary:
    return Summary(found.controller, f"reconcile {found.key} #{found.number} {_shown(found)}", "", found.cause)


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


def _version(obj: Any) -> str:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    return str(meta.get("resourceVersion", "")) if isinstance(meta, dict) else ""


def _shown(reconcile: Reconcile) -> str:
    if reconcile.error is not None:
        after = f", again in {reconcile.after.total_seconds():g} s" if reconcile.after is not None else ""
        return f"failed: {reconcile.error}{after}"
    if reconcile.after is not None:
        return f"ok, again in {reconcile.after.total_seconds():g} s"
    return "ok"
