"""Detects clients without reconciles that trigger themselves: operators on kopf, kubernetes_asyncio and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.harness.detectors.detector import Exchange, Scene, changed_leaves, shown_path
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import Field, at_path, is_number, is_present, present_fields, texts_of
from fakekube.server.clients import ClientProcess
from fakekube.struct import Struct
from fakekube.virtualtime.errors import HotLoop

#: Writes of one object in a row, each at most SHORT seconds after the one before.
LIMIT = 100
SHORT = 1.0

#: Fields that a finding names.
SHOWN = 3


class Series(Struct):
    """Changes of one object by one client in a row, without one by another client between them.

    `names`: the client by its User-Agent, and the task or thread that it runs in. `fields`: those of the last change.
    `is_idle`: all changes were of times and counters.
    """

    names: frozenset[str]
    revision: int
    began: float
    at: float
    times: int = 1
    fields: tuple[Field, ...] = ()
    is_idle: bool = True
    #: the body and the present times of the last change, if it has any
    stamped: tuple[object, tuple[Field, ...]] | None = None
    process: ClientProcess | None = None

    def is_by_client_of(self, exchange: Exchange) -> bool:
        """Whether the client is the same. Operators may have one User-Agent or name, and one may have several."""
        if self.process is not None and exchange.process is not None:
            return self.process is exchange.process
        return bool(self.names & _names(exchange))


class ClientLoops:
    """Series of writes of an object by a client that watches its kind.

    A hundred at one instant, or a hundred of only times and counters with delays of less than a second, are a loop.
    One that writes the present time ends where time stands still, because the second write changes nothing: it is
    recognized by that second write.
    """

    levels: Mapping[str, Level] = {"hot-loop": "error", "timestamp-loop": "error"}
    verbs: frozenset[str] = frozenset({"update", "patch", "watch"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._watched: set[tuple[str, str, str]] = set()
        #: by the group, resource, namespace and name of the object
        self._series: dict[tuple[str, str, str, str], Series] = {}

    def answered_alone(self, exchange: Exchange) -> None:
        if exchange.record.code != 200:
            return
        info, record = exchange.info, exchange.record
        if record.verb == "watch":
            self._watched |= {(name, record.group, record.resource) for name in _names(exchange)}
        elif self._watched and any((one, record.group, record.resource) in self._watched for one in _names(exchange)):
            place = (record.group, record.resource, info.namespace, info.name)
            if exchange.changed:
                self._changed(exchange, place)
            else:
                self._repeated(exchange, self._series.get(place))

    def _changed(self, exchange: Exchange, place: tuple[str, str, str, str]) -> None:
        record = exchange.record
        fields = present_fields(exchange.body(), self._scene.now())
        stamped = (_content(exchange.body()), fields) if fields else None
        series, entries = self._series.get(place), self._versions(exchange)
        if entries is None:
            return
        before, after = entries
        if (
            series is None
            or series.revision != before.revision
            or not series.is_by_client_of(exchange)
            or record.at > series.at + SHORT
        ):
            names, at = _names(exchange), record.at
            self._series[place] = Series(names, after.revision, at, at, stamped=stamped, process=exchange.process)
            return
        text = texts_of(self._scene.now())
        changes = [
            (path, value, at_path(before.object, path)) for path, value in changed_leaves(before.object, after.object)
        ]
        series.stamped = stamped or (series.stamped if series.at == record.at else None)
        series.times, series.revision, series.at = series.times + 1, after.revision, record.at
        series.fields = tuple(path for path, _, _ in changes)
        series.is_idle = series.is_idle and all(
            is_present(new, text) or (is_number(new) and is_number(old)) for _, new, old in changes
        )
        if series.times == LIMIT:
            self._judge(series, record.path, exchange.who)

    def _versions(self, exchange: Exchange) -> tuple[Any, Any] | None:
        place = self._scene.place(exchange.info.path)
        if place is None:
            return None
        collection, revision = self._scene.store.collection(place[0]), exchange.record.revision
        before, after = collection.at(place[1], revision - 1), collection.at(place[1], revision)
        return None if before is None or after is None else (before, after)

    def _judge(self, series: Series, path: str, who: str) -> None:
        lasted = series.at - series.began
        text = (
            f"{who} has written {path} {series.times} times in a row within {lasted:g} s, and watches it: its "
            f"own writes trigger the next ones; the last has changed {_shown(series.fields)}"
        )
        if lasted == 0:
            self._scene.fail("hot-loop", HotLoop(text))
        elif series.is_idle:
            self._scene.report("hot-loop", text, key=(series.names, path))

    def _repeated(self, exchange: Exchange, series: Series | None) -> None:
        """A write that has changed nothing."""
        record = exchange.record
        if series is None or series.stamped is None or not series.is_by_client_of(exchange) or series.at != record.at:
            return
        body, fields = series.stamped
        if body == _content(exchange.body()):
            self._scene.report(
                "timestamp-loop",
                f"writes the present time to {_shown(fields)} of {record.path} again after its own write, which it "
                "watches; it ends here only because virtual time stands still",
                who=exchange.who,
                key=(exchange.agent, record.path),
            )

    def finish(self) -> None:
        """Nothing is left to report."""


def _content(body: Any) -> Any:
    """A body without its resourceVersion."""
    if not isinstance(body, Mapping) or not isinstance(body.get("metadata"), Mapping):
        return body
    return {**body, "metadata": {key: one for key, one in body["metadata"].items() if key != "resourceVersion"}}


def _names(exchange: Exchange) -> frozenset[str]:
    """The User-Agent of a client, and the task or thread in which it runs, which may have several."""
    return frozenset(name for name in (exchange.agent, exchange.client) if name)


def _shown(fields: tuple[Field, ...]) -> str:
    return ", ".join(map(shown_path, fields[:SHOWN]))


DETECTORS = (ClientLoops,)
