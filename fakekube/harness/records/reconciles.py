"""Reconciles: as they are recorded while a test runs, and as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from controllerlib import Result
from controllerlib.controller import Outcome, Run
from controllerlib.workqueue import Cause
from fakekube.harness.records.identity import Identity, Trace
from fakekube.harness.records.kept import Bounded


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
    again, None if it was not. `serial` orders it among all records; `previous` is the serial of the reconcile of the
    same key before it (0: none). Its requests are `requests(trace=reconcile.trace)`.
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
    serial: int
    previous: int

    @property
    def trace(self) -> str:
        """What the records of its requests have as `trace`."""
        return str(Trace(Identity(self.operator, self.incarnation), self.controller, self.serial))

    @property
    def cause(self) -> str:
        """The kinds of its causes, each once, in the order in which they occurred: `added`, `updated+resync`."""
        if len(self.causes) == 1:
            return self.causes[0].kind
        return "+".join(dict.fromkeys(cause.kind for cause in self.causes)) or "unknown"

    @property
    def because(self) -> str:
        """Its causes with the object and its resourceVersion: `updated ConfigMap default/a@57 + generic`."""
        return " + ".join(dict.fromkeys(map(str, self.causes))) or "unknown"

    def __str__(self) -> str:
        outcome = f"{type(self.error).__name__}: {self.error}" if self.error is not None else self.label
        return f"{self.controller} {self.key} #{self.number} [{self.because}] {outcome}"


class Running:
    """A reconcile that has not finished, or has and was not read since.

    Its `Reconcile` is made when it is read, because most are not. `key`, `outcome`, `number` and `previous` are set at
    its end; see `Reconcile`.
    """

    __slots__ = ("identity", "key", "number", "outcome", "previous", "run", "serial", "started", "trace", "writes")

    key: str
    outcome: Outcome
    number: int
    previous: int

    def __init__(self, identity: Identity, run: Run, started: datetime, serial: int) -> None:
        self.identity, self.run, self.started, self.serial = identity, run, started, serial
        self.trace: str = ""
        self.writes: list[Write] | None = None

    def reconcile(self) -> Reconcile:
        """The record of it, once it has finished."""
        run, outcome, after = self.run, self.outcome, self.outcome.requeue_after
        return Reconcile(
            operator=self.identity.operator,
            incarnation=self.identity.incarnation,
            controller=run.controller,
            key=self.key,
            number=self.number,
            worker=run.worker,
            causes=run.causes,
            started=self.started,
            waiting=timedelta(seconds=max(0.0, run.started - run.queued_since)),
            duration=timedelta(seconds=outcome.finished - run.started),
            label=outcome.label,
            result=outcome.result,
            error=outcome.error,
            retries=run.failures,
            after=None if after is None else timedelta(seconds=after),
            writes=tuple(self.writes or ()),
            serial=self.serial,
            previous=self.previous,
        )


class Finished:
    """The finished reconciles, oldest first: at least the last `limit`, and at most an eighth more."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[Running | Reconcile] = Bounded(limit)
        self.append: Callable[[Running], None] = self._kept.append

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept.items)

    @property
    def dropped(self) -> int:
        return self._kept.dropped

    def errors(self) -> Iterator[BaseException]:
        """The exceptions of those that have failed."""
        for one in self._kept.items:
            error = one.error if isinstance(one, Reconcile) else one.outcome.error
            if error is not None:
                yield error

    def read(self) -> Sequence[Reconcile]:
        """Those that are kept."""
        items = self._kept.items
        for number in range(len(items) - 1, -1, -1):
            one = items[number]
            if isinstance(one, Reconcile):
                break  # those before it were read together with it
            items[number] = one.reconcile()
        return cast("list[Reconcile]", items)
