"""Reconciles: as they are recorded while a test runs, and as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from controllerlib import Result
from controllerlib.controller import Outcome, Run
from controllerlib.workqueue import Cause
from fakekube.harness.records.identity import Identity, Trace

T = TypeVar("T", bound=NamedTuple)


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
    """A reconcile that has not finished. `key`, `trace`: see `Reconcile`; `trace` is empty until it is asked for.

    `writes` has the fields of each Write, one after the other. `outcome` is set at its end.
    """

    __slots__ = ("identity", "key", "outcome", "run", "serial", "started", "trace", "writes")

    outcome: Outcome

    def __init__(self, identity: Identity, run: Run, started: datetime, serial: int) -> None:
        self.identity: Identity = identity
        self.run: Run = run
        self.key: str = str(run.request)
        self.started: datetime = started
        self.serial: int = serial
        self.trace: str = ""
        self.writes: tuple[Any, ...] = ()

    def written(self) -> tuple[Write, ...]:
        """Its writes so far."""
        return _grouped(Write, self.writes)


def compact(running: Running, number: int, previous: int) -> tuple[Any, ...]:
    """A reconcile that has finished as one tuple of numbers and texts, which the garbage collector does not visit again
    and again, as it does objects that refer to others. `number` and `previous`: as in `Reconcile`."""
    facts: tuple[Any, ...] = running.identity + running.run + running.outcome  # unpacked faster than read by name
    (
        operator, incarnation,
        controller, _, _, worker, failures, _, causes, due, began, _,
        label, result, error, after, finished,
    ) = facts  # fmt: skip
    kept: tuple[Any, ...] = (
        operator, incarnation, controller, running.key, number, previous, running.serial, worker, failures,
        running.started, due, began, finished, label, result.requeue_after, result.priority, result.requeue,
        error, after, running.writes,
    )  # fmt: skip
    for cause in causes:
        kept += cause
    return kept


def expanded(kept: tuple[Any, ...]) -> Reconcile:
    """The reconcile of such a tuple."""
    (
        operator, incarnation, controller, key, number, previous, serial, worker, failures,
        started, due, began, finished, label, requeue_after, priority, requeue, error, after, writes, *causes
    ) = kept  # fmt: skip
    return Reconcile(
        operator=operator,
        incarnation=incarnation,
        controller=controller,
        key=key,
        number=number,
        worker=worker,
        causes=_grouped(Cause, causes),
        started=started,
        waiting=timedelta(seconds=max(0.0, began - due)),
        duration=timedelta(seconds=finished - began),
        label=label,
        result=Result(requeue_after, priority, requeue),
        error=error,
        retries=failures,
        after=None if after is None else timedelta(seconds=after),
        writes=_grouped(Write, writes),
        serial=serial,
        previous=previous,
    )


def version_of(obj: Any) -> str:
    """The resourceVersion of an object; "" without one."""
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    version = meta.get("resourceVersion") if isinstance(meta, dict) else None
    return str(version) if version else ""


def _grouped(made: type[T], fields: Sequence[Any]) -> tuple[T, ...]:
    """The tuples whose fields follow one another."""
    size = len(made._fields)
    return tuple([made._make(fields[at : at + size]) for at in range(0, len(fields), size)])
