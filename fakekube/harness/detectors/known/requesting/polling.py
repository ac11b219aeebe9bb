"""Detects operators that ask again and again instead of watching."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import CHANGES, SHORT, Doing, Exchange, Scene
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct

#: Lists at different times that a watch would have saved, altogether and in an hour.
SAVED = 8
SAVED_IN_AN_HOUR = 100

#: Seconds after which a watch is opened again, at the earliest (client-go: minWatchTimeout).
RENEWAL = 300.0

#: Requeues in a row after less than a second.
REQUEUES = 50


class Polled(Struct):
    """Lists of one path by one program: how many at different times, when, and how many a watch would have saved.

    revision: of the collection at the last list. is_idle: whether a watch would have saved the last list, as far as is
    known.
    """

    first: float
    last: float
    revision: int
    times: int = 1
    idle: int = 0
    is_idle: bool = False

    def add(self, at: float, revision: int) -> None:
        """Count a list."""
        self.idle += self.is_idle
        self.is_idle = revision == self.revision
        self.times, self.last, self.revision = self.times + 1, at, revision

    @property
    def saved(self) -> float:
        """The requests that a watch would have saved, without those that it makes itself."""
        return self.idle + self.is_idle - (self.last - self.first) / RENEWAL


class PolledLists:
    """The same LIST at short intervals, by a client that does not watch the collection, nor tries to.

    Counted is what a watch would have saved: lists after which the program has nothing to do. Nothing has changed in
    the collection since the list before, the program writes nothing at the same instant (a handler of kopf that is
    tried again writes its progress), and no reconcile is tried again. Lists are counted for each operator, task or
    thread. Watches count for all that have the same User-Agent: they may be parts of one operator.
    """

    levels: Mapping[str, Level] = {"poll-list": "warn"}
    verbs: frozenset[str] = frozenset({"list", "watch"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._watched: set[tuple[str, str, str]] = set()
        #: by the program, and what it lists
        self._lists: dict[tuple[str, str, str, str, str, str], Polled] = {}
        #: by the program: when it has listed something, and what it has listed then
        self._latest: dict[str, tuple[float, list[Polled]]] = {}

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        if record.verb == "list":
            self._listed(exchange)
        elif record.verb == "watch":
            self._watched.add((exchange.agent, record.group, record.resource))

    def _wrote(self, exchange: Exchange) -> None:
        record = exchange.record
        if record.resource != "leases":
            at, listed = self._latest.get(exchange.program, (0.0, ()))
            if at == record.at:
                for polled in listed:
                    polled.is_idle = False

    def _listed(self, exchange: Exchange) -> None:
        record, doing = exchange.record, exchange.doing
        if exchange.request.query and exchange.request.option("continue"):
            return
        if doing is not None and any(cause.kind == "retry" for cause in doing.run.causes):
            return
        place = (exchange.client, exchange.who, exchange.agent, record.group, record.resource, record.path)
        revision = self._scene.store.collection(exchange.info.qualified).revision
        polled = self._lists.get(place)
        if polled is None:
            self._lists[place] = Polled(record.at, record.at, revision)
        elif record.at != polled.last:
            polled.add(record.at, revision)
            self._scene.listen((*CHANGES, "delete"), self._wrote)
            at, listed = self._latest.get(exchange.program, (0.0, []))
            self._latest[exchange.program] = record.at, [*listed, polled] if at == record.at else [polled]

    def denied(self, exchange: Exchange) -> None:
        if exchange.record.verb == "watch":
            self._watched.add((exchange.agent, exchange.record.group, exchange.record.resource))

    def finish(self) -> None:
        for (_, who, *watched, path), polled in self._lists.items():
            lasted = polled.last - polled.first
            if tuple(watched) in self._watched or polled.saved < max(SAVED, lasted * SAVED_IN_AN_HOUR / 3600):
                continue
            self._scene.report(
                "poll-list",
                f"lists {path} every {lasted / (polled.times - 1):g} s ({polled.times} times) and does not watch it: a "
                f"watch would have saved {polled.saved:.0f} of these requests; use one, or an informer",
                who=who,
            )

    def retire(self) -> None:
        self._latest.clear()


class ShortRequeues:
    """Keys that are requeued at once, again and again, by reconciles that write nothing."""

    levels: Mapping[str, Level] = {"short-requeue": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._counts: dict[tuple[int, str, str], int] = {}

    def requeued(self, doing: Doing, outcome: Outcome) -> None:
        self._scene.follow(finished=self._finished)  # which is called for this reconcile, too

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        after = outcome.requeue_after
        if outcome.error is not None or after is None or after >= SHORT or doing.has_changed or _was_refused(doing):
            self._counts.pop(doing.who, None)
            return
        times = self._counts[doing.who] = self._counts.get(doing.who, 0) + 1
        if times == REQUEUES:
            self._scene.report(
                "short-requeue",
                f"{doing.key} was requeued {times} times in a row after less than a second ({after:g} s), and nothing "
                "was written: watch what it waits for, or wait longer",
                who=doing.run.controller,
                key=doing.who,
            )

    def finish(self) -> None:
        """Nothing is left to report."""


class PlainWatches:
    """Watches without bookmarks, or that do not resume from a resourceVersion."""

    levels: Mapping[str, Level] = {"plain-watch": "off"}
    verbs: frozenset[str] = frozenset({"watch"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def answered(self, exchange: Exchange) -> None:
        request, record = exchange.request, exchange.record
        lacks = []
        if request.option("allowWatchBookmarks") not in ("true", "1"):
            lacks.append("allowWatchBookmarks")
        if not request.option("resourceVersion") and request.option("sendInitialEvents") not in ("true", "1"):
            lacks.append("resourceVersion")
        if lacks:
            self._scene.report("plain-watch", f"watches {record.path} without {' and '.join(lacks)}", who=exchange.who)

    def finish(self) -> None:
        """Nothing is left to report."""


def _was_refused(doing: Doing) -> bool:
    return any(sent.code >= 400 and (sent.verb in CHANGES or sent.verb == "delete") for sent in doing.sent)


DETECTORS = (
    PlainWatches,
    PolledLists,
    ShortRequeues,
)
