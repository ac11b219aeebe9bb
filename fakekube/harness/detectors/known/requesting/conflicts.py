"""Detects conflicts that are ignored, so that a write is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controllerlib.controller import Outcome
from controllerlib.observer import Call
from fakekube.harness.detectors.detector import FAR, UPDATES, Doing, Exchange, Scene
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
    calls: frozenset[str] = UPDATES

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lost: dict[tuple[int, str, str], Lost] = {}
        #: by the identity of the reconcile
        self._unrepeated: dict[int, Unrepeated] = {}

    def called(self, doing: Doing, call: Call, code: int, answer: object) -> None:
        if code == 409:
            found = self._unrepeated.setdefault(id(doing), Unrepeated(doing))
            found.writes[call.path] = (call.verb, calling_line())
        elif code < 300 and id(doing) in self._unrepeated:
            self._unrepeated[id(doing)].writes.pop(call.path, None)

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if not self._unrepeated and not self._lost:
            return
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
    verbs: frozenset[str] = frozenset({"update", "patch", "delete"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the client and the object
        self._refused: dict[tuple[str, str, str, str, str], Refused] = {}

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        is_refused = record.code == 409 and record.verb in ("update", "patch")
        if not (is_refused or self._refused) or exchange.doing is not None or record.resource in _LOCKS:
            return
        place = (exchange.agent, record.group, record.resource, record.namespace, record.name)
        refused = self._refused.get(place)
        if refused is not None and record.at > refused.at + FAR:
            self._report(refused)
        if is_refused:
            client = self._scene.runner.client
            self._refused[place] = Refused(exchange, record.at, lambda: client is not None and client.fenced)
        elif refused is not None:
            del self._refused[place]

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


DETECTORS = (
    IgnoredConflicts,
    UnrepeatedConflicts,
)
