"""Detects operators that ask again and again instead of watching."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import CHANGES, Doing, Exchange, Scene
from fakekube.harness.detectors.levels import Level

#: Equal lists at different times that count as polling, and the longest mean interval in seconds.
LISTS = 10
INTERVAL = 60.0

#: Requeues in a row after less than a second.
REQUEUES = 50


class PolledLists:
    """The same LIST at short intervals, by a client that does not watch the collection, nor tries to.

    Lists are counted for each operator, task or thread. Watches count for all that have the same User-Agent: they may
    be parts of one operator.
    """

    levels: Mapping[str, Level] = {"poll-list": "warn"}
    verbs: frozenset[str] = frozenset({"list", "watch"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._watched: set[tuple[str, str, str]] = set()
        #: by the program, and what it lists: the number of different times, the first and the last
        self._lists: dict[tuple[str, str, str, str, str, str], tuple[int, float, float]] = {}

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        what = (exchange.agent, record.group, record.resource)
        if record.verb == "watch":
            self._watched.add(what)
            return
        if exchange.request.query and exchange.request.option("continue"):
            return
        place = (exchange.client, exchange.who, *what, record.path)
        count, first, last = self._lists.get(place, (0, record.at, -1.0))
        if record.at != last:
            self._lists[place] = (count + 1, first, record.at)

    def denied(self, exchange: Exchange) -> None:
        if exchange.record.verb == "watch":
            self._watched.add((exchange.agent, exchange.record.group, exchange.record.resource))

    def finish(self) -> None:
        for (_, who, *watched, path), (count, first, last) in self._lists.items():
            if count < LISTS or tuple(watched) in self._watched:
                continue
            interval = (last - first) / (count - 1)
            if interval <= INTERVAL:
                self._scene.report(
                    "poll-list",
                    f"lists {path} every {interval:g} s ({count} times) and does not watch it: use an informer or a "
                    "watch",
                    who=who,
                )


class ShortRequeues:
    """Keys that are requeued at once, again and again, by reconciles that write nothing."""

    levels: Mapping[str, Level] = {"short-requeue": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._counts: dict[tuple[int, str, str], int] = {}
        #: by their identity: the reconciles in progress that have changed something
        self._writing: set[int] = set()

    def committed(self, change: Change, doing: Doing | None) -> None:
        if doing is not None and not doing.is_over:
            self._writing.add(id(doing))

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        after, has_written = outcome.requeue_after, id(doing) in self._writing or _was_refused(doing)
        self._writing.discard(id(doing))
        if outcome.error is not None or after is None or after >= 1 or has_written:
            if self._counts:
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
