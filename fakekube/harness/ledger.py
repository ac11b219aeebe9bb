"""Records every reconcile with its time, causes and result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

from controllerlib.controller import Run
from controllerlib.observer import InformerEvent
from fakekube.harness.records.entry import MICROSECOND, ObjectKey, Summary
from fakekube.harness.records.finished import LIMIT, Finished
from fakekube.harness.records.identity import CLUSTER, Identities, Identity
from fakekube.harness.records.kept import Records
from fakekube.harness.records.reconciles import Reconcile, Running
from fakekube.harness.records.story import Story
from fakekube.harness.timeline import Timeline

#: The number of informer events that are kept.
INFORMER_LIMIT = 10_000


class OperatorObserver(Protocol):
    """What the ledger reads from the observer of an operator."""

    identity: Identity

    def running(self, controller: str) -> Sequence[str]:
        """The keys that are being reconciled."""
        ...

    def unfinished(self) -> Sequence[Running]:
        """The reconciles that have not finished."""
        ...

    def retire(self) -> None:
        """Detach from the ledger."""
        ...


class Ledger:
    """Records the reconciles of all operators, and adds them to the timeline."""

    def __init__(self, now: Callable[[], datetime], timeline: Timeline, serials: Iterator[int]) -> None:
        self._timeline = timeline
        self.now: Callable[[], datetime] = now
        self.epoch: datetime = timeline.epoch
        self._observers: list[OperatorObserver] = []
        self.informer_events: deque[InformerEvent] = deque(maxlen=INFORMER_LIMIT)
        self.identities: Identities = Identities()
        self._finished: Finished = Finished(self.identities)
        self._inspected: set[str] = set()
        self.on_started: Callable[[Identity, str, str], None] | None = None
        """Called when a reconcile begins: the operator, the controller, the key."""
        self.on_finished: Callable[[Reconcile], None] | None = None
        """Called when a reconcile has ended."""
        self.on_error: Callable[[BaseException], None] | None = None
        """Called with the exception of a reconcile."""
        self.waiting_for: Callable[[Run], str] = _unknown
        """Returns where a reconcile in progress waits, if that is known."""
        self.next_serial: Callable[[], int] = serials.__next__
        #: the serial, the text and the exception of each failure of those that are kept
        self._failures: deque[tuple[int, str, BaseException]] = deque(maxlen=LIMIT + LIMIT // 8)
        timeline.attach(_Rows(self._finished, self._failures, self.identities, timeline.resource))
        self._unfinished = _UnfinishedRows(self, timeline.resource)
        timeline.attach(self._unfinished)

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(self._finished.read())

    @property
    def dropped(self) -> int:
        """How many reconciles are no longer kept."""
        return self._finished.dropped

    def __len__(self) -> int:
        """How many reconciles have finished, whether they are kept or not."""
        return self._finished.total()

    def reconciles(
        self, controller: str | None = None, key: str | None = None, *, operator: str = "", incarnation: int = 0
    ) -> Records[Reconcile]:
        """The finished reconciles, oldest first: of one controller, key, operator, incarnation, or of all.

        Its `dropped` counts those that are no longer kept.
        """
        found = [
            r
            for r in self._finished.read()
            if (controller is None or r.controller == controller)
            and (key is None or r.key == key)
            and (not operator or r.operator == operator)
            and (not incarnation or r.incarnation == incarnation)
        ]
        if not self.dropped:
            return Records(found)
        if controller is None:
            return Records(found, self.dropped)
        counts = self.counts(controller, operator=operator, incarnation=incarnation)
        return Records(found, (sum(counts.values()) if key is None else counts.get(key, 0)) - len(found))

    def inspect_errors(self, name: str) -> None:
        """Note that the test reads the errors of a controller, or the permissions of a user: it checks them itself."""
        self._inspected.add(name)

    def inspected(self) -> frozenset[str]:
        """The controllers and users whose errors the test checks itself."""
        return frozenset(self._inspected)

    def counts(self, controller: str, *, operator: str = "", incarnation: int = 0) -> dict[str, int]:
        """How often each key was reconciled, in the order of their first reconcile; all count, kept or not."""
        found: dict[str, int] = {}
        for identity in (observer.identity for observer in self._matching(operator, incarnation)):
            for (name, key), (times, _) in self._finished.counts(identity).items():
                if name == controller:
                    found[key] = found.get(key, 0) + times
        return found

    def lines(self, epoch: datetime) -> Iterator[tuple[int, str]]:
        """A line for each reconcile, with its serial: start (microseconds since the epoch), worker, key, result."""
        for found in self._finished.read():
            at, lane = (found.started - epoch) // MICROSECOND, _lane(self.identities, found)
            what = f"{lane}/{found.worker} {found.key} #{found.number} [{found.cause}] {_shown(found)}"
            yield found.serial, f"{at} {what}"

    def running(self, controller: str, *, operator: str = "", incarnation: int = 0) -> Sequence[str]:
        """The keys that are being reconciled, by all operators or one."""
        return [key for observer in self._matching(operator, incarnation) for key in observer.running(controller)]

    def _matching(self, operator: str, incarnation: int) -> Iterator[OperatorObserver]:
        for observer in self._observers:
            identity = observer.identity
            if operator in ("", identity.operator) and incarnation in (0, identity.incarnation):
                yield observer

    def why(self, reconcile: Reconcile) -> Story:
        """A reconcile and the chain of its causes. Raises LookupError if the timeline does not have it any more."""
        return self._timeline.why(reconcile)

    def kind(self, identity: Identity, controller: str) -> tuple[str, str] | None:
        """The apiVersion and kind of the keys of an operator's controller, if they are known."""
        self._finished.complete()
        return self.identities.kind(identity, controller)

    def unfinished(self) -> Iterator[tuple[Running, int, int]]:
        """The reconciles that have not finished, each with its number and the serial of the one before it."""
        for observer in self._observers:
            for one in observer.unfinished():
                times, previous = self._finished.before(one)
                yield one, times + 1, previous

    def attach(self, observer: OperatorObserver) -> None:
        """Called by a new observer."""
        self._observers.append(observer)

    def finished(self, running: Running) -> None:
        """Called by an observer: a reconcile has finished."""
        error = running.outcome.error
        if error is None and self.on_finished is None:
            self._finished.add(running)
            return
        found = self._finished.added(running)
        if self.on_finished is not None:
            self.on_finished(found)
        if error is not None:
            if self.on_error is not None:
                self.on_error(error)
            # formatted at once: the text of an exception may change
            self._failures.append((running.serial, _shown(found), error))

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
        self._unfinished.retire()
        self.on_started = self.on_finished = self.on_error = None
        self.waiting_for = _unknown
        for observer in self._observers:
            observer.retire()
        of_informers = (event.error for event in self.informer_events if event.error is not None)
        for error in (*(error for _, _, error in self._failures), *of_informers):
            _drop_tracebacks(error)


#: The kinds of causes that follow from the previous reconcile of the key.
_OWN = frozenset({"requeue_after", "requeue", "retry"})


class _Rows:
    """The rows of reconciles in the timeline."""

    def __init__(
        self,
        finished: Finished,
        failures: Iterable[tuple[int, str, BaseException]],
        identities: Identities,
        resource: Callable[[str, str, str, str], ObjectKey],
    ) -> None:
        self._finished, self._failures, self._identities, self._resource = finished, failures, identities, resource

    def __len__(self) -> int:
        return len(self._finished)

    @property
    def dropped(self) -> int:
        return self._finished.others_dropped

    def rows(self) -> Iterator[tuple[int, datetime, Callable[[], Summary]]]:
        """The serial and the time of each, and what formats it."""
        failures = {serial: text for serial, text, _ in self._failures}
        for found in self._finished.others:
            shown = failures.get(found.serial, "")
            yield found.serial, found.started, partial(_summary, self._identities, found, shown, self._resource)


class _UnfinishedRows:
    """The rows of reconciles that have not finished; after the end of the cluster, those that never have."""

    dropped: int = 0

    def __init__(self, ledger: Ledger, resource: Callable[[str, str, str, str], ObjectKey]) -> None:
        self._ledger: Ledger | None = ledger
        self._resource = resource
        self._left: list[tuple[int, datetime, Callable[[], Summary]]] = []

    def __len__(self) -> int:
        return len(self._left) if self._ledger is None else sum(1 for _ in self._ledger.unfinished())

    def rows(self) -> Iterator[tuple[int, datetime, Callable[[], Summary]]]:
        yield from self._left
        if self._ledger is not None:
            for one in self._ledger.unfinished():
                yield one[0].serial, one[0].started, partial(self._summary, self._ledger, *one)

    def retire(self) -> None:
        """Detach from the ledger."""
        self._left = [(serial, at, partial(_same, summarize())) for serial, at, summarize in self.rows()]
        self._ledger = None

    def _summary(self, ledger: Ledger, running: Running, number: int, previous: int) -> Summary:
        run, identities, key = running.run, ledger.identities, running.key
        waiting = ledger.waiting_for(run)
        return Summary(
            identities.lane(running.identity, run.controller),
            f"reconcile {key} #{number} has not ended{f': it waits for {waiting}' if waiting else ''}",
            cause=" + ".join(dict.fromkeys(map(str, run.causes))) or "unknown",
            kind="reconcile",
            object=_key(self._resource, identities.kind(running.identity, run.controller), key),
            because=(previous,) if any(cause.kind in _OWN for cause in run.causes) else (),
            reacted_to=tuple(int(one.resource_version) for one in run.causes if one.resource_version.isdigit()),
        )


def _same(summary: Summary) -> Summary:
    """A row that does not change any more."""
    return summary


def _unknown(run: Run) -> str:
    """Nothing is known of where a reconcile waits."""
    return ""


def _summary(
    identities: Identities, found: Reconcile, shown: str, resource: Callable[[str, str, str, str], ObjectKey]
) -> Summary:
    facts = [
        ("controller", found.controller),
        ("operator", str(Identity(found.operator, found.incarnation))),
        ("key", found.key),
        ("number", str(found.number)),
        ("worker", str(found.worker)),
        ("result", found.label),
        ("waited", f"{found.waiting.total_seconds():g} s"),
        ("took", f"{found.duration.total_seconds():g} s"),
        *(("cause", str(cause)) for cause in found.causes),
        *(("wrote", f"{write.verb} {write.path} -> {write.code}") for write in found.writes),
    ]
    kind = identities.kind(Identity(found.operator, found.incarnation), found.controller)
    return Summary(
        _lane(identities, found),
        f"reconcile {found.key} #{found.number} {shown or _shown(found)}",
        cause=found.because,
        kind="reconcile",
        object=_key(resource, kind, found.key),
        because=(found.previous,) if any(cause.kind in _OWN for cause in found.causes) else (),
        reacted_to=tuple(int(one.resource_version) for one in found.causes if one.resource_version.isdigit()),
        facts=tuple(facts),
        failed=found.error is not None,
        duration=found.duration,
        system=found.operator == CLUSTER,
    )


def _key(
    resource: Callable[[str, str, str, str], ObjectKey], kind: tuple[str, str] | None, key: str
) -> ObjectKey | None:
    if kind is None:
        return None
    namespace, _, name = key.rpartition("/")
    try:
        return resource(*kind, namespace, name)
    except LookupError:  # the kind is not served, or not any more
        return ObjectKey(kind[0].rpartition("/")[0], kind[1], namespace, name)


def _lane(identities: Identities, found: Reconcile) -> str:
    return identities.lane(Identity(found.operator, found.incarnation), found.controller)


def _informer_summary(event: InformerEvent) -> Summary:
    what = f"informer {event.informer} {event.kind}"
    cause = str(event.error or "")
    return Summary("controllerlib", what, event.resource_version, cause, "informer", failed=event.kind == "failed")


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
