"""Records every reconcile with its time, causes and result."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import Protocol

from controllerlib.controller import Run
from controllerlib.observer import InformerEvent
from fakekube.harness.records.entry import MICROSECOND, ObjectKey, Summary
from fakekube.harness.records.identity import CLUSTER, Identities, Identity
from fakekube.harness.records.kept import Records
from fakekube.harness.records.reconciles import Finished, Reconcile, Running
from fakekube.harness.records.story import Story
from fakekube.harness.timeline import Timeline

#: The numbers of reconciles, of those that only renewed a lease or a node, and of informer events, that are kept.
LIMIT, HEARTBEATS, INFORMER_LIMIT = 50_000, 1_000, 10_000

#: The number of finished reconciles that are numbered and kept together.
TOGETHER = 64

_NEVER = (0, 0)


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
        self._others: Finished = Finished(LIMIT)
        self._heartbeats: Finished = Finished(HEARTBEATS)
        self._observers: list[OperatorObserver] = []
        self.informer_events: deque[InformerEvent] = deque(maxlen=INFORMER_LIMIT)
        self.identities: Identities = Identities()
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
        #: finished, and not kept yet
        self._fresh: list[Running] = []
        #: by operator, then by controller and key: how often it was reconciled, and the serial of the latest reconcile
        self._latest: dict[Identity, dict[tuple[str, str], tuple[int, int]]] = {}
        #: the serial, the text and the exception of each failure of those that are kept
        self._failures: deque[tuple[int, str, BaseException]] = deque(maxlen=LIMIT + LIMIT // 8)
        self._leave = ExitStack()
        self._leave.callback(timeline.on_read(self._keep))
        timeline.attach(_Rows(self._others, self._failures, self.identities, timeline.resource))
        unfinished = _UnfinishedRows(self, timeline.resource)
        timeline.attach(unfinished)
        self._leave.callback(unfinished.retire)

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(self._kept())

    def _kept(self) -> Sequence[Reconcile]:
        self._keep()
        if not self._heartbeats:
            return self._others.read()
        return sorted([*self._others.read(), *self._heartbeats.read()], key=_finished)

    @property
    def dropped(self) -> int:
        """How many reconciles are no longer kept."""
        self._keep()
        return self._others.dropped + self._heartbeats.dropped

    def __len__(self) -> int:
        """How many reconciles have finished, whether they are kept or not."""
        return self.dropped + len(self._others) + len(self._heartbeats)

    def reconciles(
        self, controller: str | None = None, key: str | None = None, *, operator: str = "", incarnation: int = 0
    ) -> Records[Reconcile]:
        """The finished reconciles, oldest first: of one controller, key, operator, incarnation, or of all.

        Its `dropped` counts those that are no longer kept.
        """
        found = [
            r
            for r in self._kept()
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
        self._keep()
        found: dict[str, int] = {}
        for identity in (observer.identity for observer in self._matching(operator, incarnation)):
            for (name, key), (times, _) in self._latest[identity].items():
                if name == controller:
                    found[key] = found.get(key, 0) + times
        return found

    def lines(self, epoch: datetime) -> Iterator[tuple[int, str]]:
        """A line for each reconcile, with its serial: start (microseconds since the epoch), worker, key, result."""
        for found in self._kept():
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
        self._keep()
        return self.identities.kind(identity, controller)

    def unfinished(self) -> Iterator[tuple[Running, int, int]]:
        """The reconciles that have not finished, each with its number and the serial of the one before it."""
        self._keep()
        for observer in self._observers:
            for one in observer.unfinished():
                times, previous = self._latest[one.identity].get((one.run.controller, str(one.run.request)), _NEVER)
                yield one, times + 1, previous

    def attach(self, observer: OperatorObserver) -> None:
        """Called by a new observer."""
        self._observers.append(observer)
        self._latest[observer.identity] = {}

    def finished(self, running: Running) -> None:
        """Called by an observer: a reconcile has finished."""
        self._fresh.append(running)
        error = running.outcome.error
        if error is None and self.on_finished is None:
            if len(self._fresh) >= TOGETHER:
                self._keep()
            return
        self._keep()
        found = (self._heartbeats if running.writes and _is_heartbeat(running) else self._others).latest()
        if self.on_finished is not None:
            self.on_finished(found)
        if error is not None:
            if self.on_error is not None:
                self.on_error(error)
            # formatted at once: the text of an exception may change
            self._failures.append((running.serial, _shown(found), error))

    def _keep(self) -> None:
        """Number and keep the reconciles that have finished: many at once, which takes less time than one at a time."""
        fresh, self._fresh = self._fresh, []
        others: list[tuple[Running, str, int, int]] = []
        heartbeats: list[tuple[Running, str, int, int]] = []
        for running in fresh:
            run, latest = running.run, self._latest[running.identity]
            key = str(run.request)
            who = (run.controller, key)
            times, previous = latest.get(who, _NEVER)
            latest[who] = times + 1, running.serial
            if not times:
                self._first(running, key)
            kept = heartbeats if running.writes and _is_heartbeat(running) else others
            kept.append((running, key, times + 1, previous))
        self._others.extend(others)
        self._heartbeats.extend(heartbeats)

    def _first(self, running: Running, key: str) -> None:
        identity, controller = running.identity, running.run.controller
        self.identities.has_controller(identity, controller)
        for cause in running.run.causes:
            if cause.name and key == (f"{cause.namespace}/{cause.name}" if cause.namespace else cause.name):
                self.identities.reconciles(identity, controller, cause.api_version, cause.object_kind)
                return

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
        self._keep()
        self._leave.close()
        self.on_started = self.on_finished = self.on_error = None
        self.waiting_for = _unknown
        for observer in self._observers:
            observer.retire()
        of_informers = (event.error for event in self.informer_events if event.error is not None)
        for error in (*(error for _, _, error in self._failures), *of_informers):
            _drop_tracebacks(error)


#: The paths of leases, and of the statuses of nodes, which kubelets write every 5 minutes.
_RENEWED = re.compile(r"/leases/|^/api/v1/nodes/[^/]+/status$")

#: The kinds of causes that follow from the previous reconcile of the key.
_OWN = frozenset({"requeue_after", "requeue", "retry"})


class _Rows:
    """The rows of reconciles in the timeline."""

    def __init__(
        self,
        kept: Finished,
        failures: Iterable[tuple[int, str, BaseException]],
        identities: Identities,
        resource: Callable[[str, str, str, str], ObjectKey],
    ) -> None:
        self._kept, self._failures, self._identities, self._resource = kept, failures, identities, resource

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def dropped(self) -> int:
        return self._kept.dropped

    def rows(self) -> Iterator[tuple[int, datetime, Callable[[], Summary]]]:
        """The serial and the time of each, and what formats it."""
        failures = {serial: text for serial, text, _ in self._failures}
        for found in self._kept.read():
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
        run, identities, key = running.run, ledger.identities, str(running.run.request)
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


def _finished(reconcile: Reconcile) -> datetime:
    return reconcile.started + reconcile.duration


def _is_heartbeat(found: Running) -> bool:
    """Whether a periodic reconcile has only renewed a lease, or the heartbeat of a simulated node: their row counts it.

    Other controllers may write the status of a node for other reasons.
    """
    _, path, *_ = found.writes
    if "/leases/" not in path and found.identity.operator != CLUSTER:
        return False
    if found.outcome.error is not None or not all(cause.kind == "requeue_after" for cause in found.run.causes):
        return False
    return all(one.code == 200 and _RENEWED.search(one.path) and one.verb != "delete" for one in found.written())


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
