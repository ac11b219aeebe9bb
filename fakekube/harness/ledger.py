"""Every reconcile with its causes: how often, when and why (the third promise of the design)."""

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
from fakekube.harness.timeline import Timeline, Told
from fakekube.virtualtime.errors import HotLoop

_NO_TIME = timedelta()

#: Reconciles of one object by one controller within one virtual second beyond which it is a hot loop.
HOT_LOOP = 1_000


class Write(NamedTuple):
    """A write request that a reconcile made, and how it was answered (code 0: not at all).

    `before` and `after`: the object's resourceVersion as it was sent (in the body, where it had one) and as answered.
    """

    verb: str
    path: str
    code: int
    before: str = ""
    after: str = ""


class Reconcile(NamedTuple):
    """One run of a reconciler (a tuple, not a dataclass: one is made for every run).

    `key` is `namespace/name`; `causes` everything that asked for it since the run before; `waiting` the time between
    being due and being started; `after` when it was asked for again, None where it was not.
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
        """The kinds of its causes, each once, in the order in which they came: `added`, `updated+resync`."""
        if len(self.causes) == 1:
            return self.causes[0].kind
        return "+".join(dict.fromkeys(cause.kind for cause in self.causes)) or "unknown"

    def __str__(self) -> str:
        outcome = f"{type(self.error).__name__}: {self.error}" if self.error is not None else self.label
        return f"{self.controller} {self.key} #{self.number} [{self.cause}] {outcome}"


@dataclass(slots=True)
class _Open:
    """A run that has not ended."""

    run: Run
    #: controller, and what it reconciles
    who: tuple[str, str]
    started: datetime
    writes: list[Write] = field(default_factory=list)


class Ledger:
    """Keeps each reconcile that the controllers of its `observer` make, and tells the timeline of it."""

    def __init__(self, now: Callable[[], datetime], timeline: Timeline) -> None:
        self._now, self._timeline = now, timeline
        self._reconciles: list[Reconcile] = []
        self.informer_events: list[InformerEvent] = []
        self.observer = Recorder(self, now)

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(self._reconciles)

    def __len__(self) -> int:
        return len(self._reconciles)

    def reconciles(self, controller: str, key: str | None = None) -> list[Reconcile]:
        """The finished reconciles of a controller, oldest first; of one key where it is given."""
        return [r for r in self._reconciles if r.controller == controller and (key is None or r.key == key)]

    def lines(self, epoch: datetime) -> Iterator[str]:
        """Each reconcile: when it started (microseconds since the epoch), which worker, what, why, how it ended."""
        for found in self._reconciles:
            at = (found.started - epoch) // MICROSECOND
            yield f"{at} {found.controller}/{found.worker} {found.key} #{found.number} [{found.cause}] {_shown(found)}"

    def running(self, controller: str) -> Sequence[str]:
        """Keys that are being reconciled now."""
        return self.observer.running(controller)

    def finished(self, reconcile: Reconcile) -> None:
        """The recorder's: one reconcile more."""
        self._reconciles.append(reconcile)
        if reconcile.error is None:
            self._timeline.add(reconcile.started, _told, reconcile)
        else:  # what an error says of itself may change
            self._timeline.add(reconcile.started, Told, *_told(reconcile))

    def informer(self, event: InformerEvent) -> None:
        """The recorder's: an informer did something."""
        self.informer_events.append(event)
        if event.kind == "failed" or event.again:
            self._timeline.add(self._now(), Told, *_told_of_informer(event))

    def retire(self) -> None:
        """Hear of nothing more: what is left of controllers holds the recorder, but not what it has told."""
        self.observer.ledger = None


class Recorder(Observer):
    """Listens to controllers, and tells a ledger of what they have done.

    Raises HotLoop out of a controller that reconciles one object more than HOT_LOOP times within a virtual second.
    """

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        self.ledger: Ledger | None = ledger
        self._now = now
        #: by the identity of the run: two replicas of an operator have runs of the same names and ids
        self._open: dict[int, _Open] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._second = 0
        self._heat: dict[tuple[str, str], int] = {}

    def running(self, controller: str) -> list[str]:
        """Keys that are being reconciled now."""
        return [run.who[1] for run in self._open.values() if run.who[0] == controller]

    def reconcile_started(self, run: Run) -> None:
        who = (run.controller, str(run.request))
        self._open[id(run)] = _Open(run, who, self._now())
        self._check_heat(run, who)

    def _check_heat(self, run: Run, who: tuple[str, str]) -> None:
        second = int(run.started)
        if second != self._second:
            self._second = second
            self._heat.clear()
        times = self._heat[who] = self._heat.get(who, 0) + 1
        if times > HOT_LOOP:
            causes = ", ".join(str(cause) for cause in run.causes)
            raise HotLoop(
                f"controller {run.controller!r} reconciled {run.request} more than {HOT_LOOP} times within one virtual "
                f"second; the last time because of: {causes}"
            )

    def reconcile_finished(self, run: Run, outcome: Outcome) -> None:
        opened = self._open.pop(id(run))
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
        opened = self._open.get(id(call.run))
        if opened is not None:
            opened.writes.append(Write(call.verb, call.path, code, _version(call.body), _version(answer)))

    def informer(self, event: InformerEvent) -> None:
        if self.ledger is not None:
            self.ledger.informer(event)


def _told(found: Reconcile) -> Told:
    return Told(found.controller, f"reconcile {found.key} #{found.number} {_shown(found)}", "", found.cause)


def _told_of_informer(event: InformerEvent) -> Told:
    what = f"informer {event.informer} {event.kind}"
    return Told("controllerlib", what, event.resource_version, str(event.error or ""))


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
