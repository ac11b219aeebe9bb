"""Detects conflicts that are ignored, so that a write is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import FAR, UPDATES, Doing, Exchange, Scene, Sent
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.texts.places import Line, calling_line, defined_at
from fakekube.struct import Struct, field


class Lost(Struct, frozen=True):
    """A write that was refused and not repeated. `after`: the seconds until the key is requeued, if it is."""

    doing: Doing
    text: str
    after: float | None


class Unrepeated(Struct):
    """The writes of a reconcile that got a conflict and were not repeated, by their paths: the verb, and its line."""

    doing: Doing  # is kept, so that no other reconcile gets its identity
    writes: dict[str, tuple[str, Line | None]] = field(default_factory=dict)


class IgnoredConflicts:
    """Reconciles that got a conflict for a write, did not repeat it, succeeded, and never ran again for that key."""

    levels: Mapping[str, Level] = {"ignored-conflict": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lost: dict[tuple[int, str, str], Lost] = {}
        #: by the identity of the reconcile
        self._unrepeated: dict[int, Unrepeated] = {}

    def rejected(self, doing: Doing, sent: Sent) -> None:
        if sent.code == 409 and sent.verb in UPDATES:
            self._scene.follow(finished=self._finished, called=self._called, verbs=UPDATES)
            found = self._unrepeated.setdefault(id(doing), Unrepeated(doing))
            found.writes[sent.path] = (sent.verb, calling_line())

    def _called(self, doing: Doing, sent: Sent) -> None:
        if sent.code < 300 and id(doing) in self._unrepeated:
            self._unrepeated[id(doing)].writes.pop(sent.path, None)

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        after, found = outcome.requeue_after, self._unrepeated.pop(id(doing), None)
        if found is None or not found.writes or outcome.error is not None or (after is not None and after < FAR):
            self._lost.pop(doing.who, None)
            return
        path, (verb, line) = next(iter(found.writes.items()))
        place = f" ({line})" if line is not None else defined_at(doing.reconciler)
        self._lost[doing.who] = Lost(doing, f"{doing} got a conflict for its {verb} of {path}{place}", after)

    def finish(self) -> None:
        for lost in self._lost.values():
            run = lost.doing.run
            if lost.after is not None:
                self._scene.report(
                    "ignored-conflict",
                    f"{lost.text}, neither repeated it nor failed, and requeued after {lost.after:g} s: the write is "
                    "lost until then",
                )
            elif not lost.doing.operator.is_queued(run.controller, run.request):
                self._scene.report(
                    "ignored-conflict",
                    f"{lost.text} and neither repeated it, failed nor requeued: the write is lost",
                )


#: What clients that compete for a lock write.
_LOCKS = frozenset({"leases", "kopfpeerings", "clusterkopfpeerings"})


#: The client, and the group, resource, namespace and name of the object that it writes.
Place = tuple[str, str, str, str, str]


class Refused(Struct, frozen=True):
    """A write without a reconcile that got a conflict, at a time. `is_dead`: whether the client has been killed."""

    exchange: Exchange
    at: float
    is_dead: Callable[[], bool]


class UnrepeatedConflicts:
    """Updates and patches of clients without reconciles that got a conflict.

    Reported are those after which the client neither writes nor reads the object within five minutes, if the test lasts
    as long. Where several clients compete for an object, that may be intended.
    """

    levels: Mapping[str, Level] = {"unrepeated-conflict": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._refused: dict[Place, Refused] = {}

    def refused(self, exchange: Exchange) -> None:
        place = _place(exchange)
        if place is not None and _is_conflict(exchange):
            self._scene.listen(("update", "patch", "delete"), self._answered)
            self._ended(place, exchange.record.at)
            client = self._scene.runner.client
            self._refused[place] = Refused(exchange, exchange.record.at, lambda: client is not None and client.fenced)

    def _answered(self, exchange: Exchange) -> None:
        if not self._refused or _is_conflict(exchange):  # conflicts are `refused`
            return
        place = _place(exchange)
        if place is not None:
            self._ended(place, exchange.record.at)

    def _ended(self, place: Place, at: float) -> None:
        """Forget a conflict, as the client writes the object again; report it if that comes too late."""
        refused = self._refused.pop(place, None)
        if refused is not None and at > refused.at + FAR:
            self._report(refused)

    def finish(self) -> None:
        now = self._scene.runner.clock.monotonic()
        for refused in self._refused.values():
            if now > refused.at + FAR and self._scene.entry(refused.exchange.info.path) is not None:
                self._report(refused)

    def _report(self, refused: Refused) -> None:
        exchange = refused.exchange
        if not refused.is_dead() and not self._was_read(exchange):
            self._scene.report(
                "unrepeated-conflict",
                f"{exchange.record}, and for five minutes the client has neither written nor read the object again: "
                "the write is lost",
                who=exchange.who,
                key=(exchange.agent, exchange.record.path),
            )

    def _was_read(self, refused: Exchange) -> bool:
        """Whether the client has read the object after the conflict, and may have found that nothing is left to do."""
        first = refused.record
        who = (first.user_agent, first.user, first.group, first.resource, first.namespace, first.name)
        return any(
            one.verb == "get"
            and one.serial > first.serial
            and one.at <= first.at + FAR
            and (one.user_agent, one.user, one.group, one.resource, one.namespace, one.name) == who
            for one in self._scene.runner.log
        )


def _place(exchange: Exchange) -> Place | None:
    """What is written; None for writes of reconciles and of locks."""
    record = exchange.record
    if exchange.doing is not None or record.resource in _LOCKS:
        return None
    return exchange.agent, record.group, record.resource, record.namespace, record.name


def _is_conflict(exchange: Exchange) -> bool:
    return exchange.record.code == 409 and exchange.record.verb in UPDATES


DETECTORS = (
    IgnoredConflicts,
    UnrepeatedConflicts,
)
