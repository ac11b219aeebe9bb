"""Detects controllers that overwrite each other's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import Doing, Scene, Writer, changed_leaves, shown_path, shown_value
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct, field
from fakekube.virtualtime.errors import HotLoop

#: Changes of one object in turn after which its writers are judged: a hundred rounds of two.
LIMIT = 200

#: Seconds after which another change of an object does not follow from the one before.
SHORT = 1.0

#: The changes that are compared.
_COMPARED = 8

#: Fields that the text names.
_SHOWN = 3


class Series(Struct):
    """Changes of one object by writers in turn. recent: the last ones, shortly before they are judged."""

    writer: Writer
    at: float
    turns: int = 0
    recent: list[tuple[Writer, Change, Doing | None]] = field(default_factory=list)


class Overwritten(NamedTuple):
    """A field that two writers set to a value each, again and again."""

    path: tuple[str | int, ...]
    values: tuple[object, object]


class Fights:
    """Ends operators whose controllers overwrite the same field of an object, each with its own value, in a loop.

    The test is no such writer: an operator that repairs what a test changes is what the test looks for. Controllers
    that take turns with different fields or with new values are none either, they may be a protocol; if it does not
    end, it is found as a hot loop later.
    """

    levels: Mapping[str, Level] = {"hot-loop": "error"}
    raises: bool = True

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._series: dict[tuple[str, str], Series] = {}
        #: what to raise in the next reconcile of an operator's controller
        self._found: dict[tuple[int, str], str] = {}

    def _started(self, doing: Doing) -> None:
        if (text := self._found.get((id(doing.operator), doing.run.controller))) is not None:
            self._found.clear()  # the other one has nothing to fight with any more
            raise HotLoop(text)

    def committed(self, change: Change, doing: Doing | None) -> None:
        place = (change.collection, change.path)
        if change.before is None or change.after is None or (writer := self._scene.writer(doing)) is None:
            self._series.pop(place, None)
            return
        at, series = self._scene.runner.clock.monotonic(), self._series.get(place)
        if series is None or at > series.at + SHORT:
            self._series[place] = Series(writer, at)
            return
        series.at = at
        if series.writer == writer:
            return
        series.writer, series.turns = writer, series.turns + 1
        if series.turns > LIMIT - _COMPARED:
            series.recent.append((writer, change, doing))
            if series.turns == LIMIT:
                self._judge(place, series)
                del self._series[place]

    def _judge(self, place: tuple[str, str], series: Series) -> None:
        for first, second in _pairs(dict.fromkeys(writer for writer, _, _ in series.recent)):
            fields = _overwritten(series.recent, first, second)
            if fields:
                self._report(place, series, (first, second), fields)
                return

    def _report(
        self,
        place: tuple[str, str],
        series: Series,
        writers: tuple[Writer, Writer],
        fields: Sequence[Overwritten],
    ) -> None:
        what = f"{place[0].partition('.')[0]} {place[1]}"
        names = [repr(one.controller or one.client) for one in writers]
        if names[0] == names[1] and writers[0].client != writers[1].client:
            names = [f"{name} of {one.client}" for name, one in zip(names, writers, strict=True)]
        elif names[0] == names[1]:
            names = [f"{number} program named {names[0]}" for number in ("one", "another")]
        sets = "; ".join(
            f"{names[0]} sets {shown_path(one.path)} to {shown_value(one.values[0])}, {names[1]} to "
            f"{shown_value(one.values[1])}"
            for one in fields[:_SHOWN]
        )
        text = (
            f"{names[0]} and {names[1]} overwrite each other's values in {what}: {sets}; {LIMIT // 2} times each, and "
            "each write triggers the other: let one of them own the field"
        )
        reconciles = [doing for writer, _, doing in series.recent if doing is not None and writer in writers]
        self._scene.follow(started=self._started)
        for doing in reconciles:
            self._found[id(doing.operator), doing.run.controller] = text
        if not reconciles:
            self._scene.fail("hot-loop", HotLoop(text))

    def finish(self) -> None:
        """Nothing is left to report."""


def _pairs(writers: dict[Writer, None]) -> Iterator[tuple[Writer, Writer]]:
    found = list(writers)
    for number, first in enumerate(found):
        yield from ((first, second) for second in found[number + 1 :])


def _overwritten(
    recent: Sequence[tuple[Writer, Change, Doing | None]], first: Writer, second: Writer
) -> Sequence[Overwritten]:
    """The fields that each of two writers has set to its own value with each of its changes."""
    values = [_values([change for who, change, _ in recent if who == writer]) for writer in (first, second)]
    return [
        Overwritten(path, (value, values[1][path]))
        for path, value in values[0].items()
        if path in values[1] and values[1][path] != value
    ]


def _values(changes: Sequence[Change]) -> dict[tuple[str | int, ...], object]:
    """The fields that all changes have set to one value."""
    found: dict[tuple[str | int, ...], object] = {}
    for number, change in enumerate(changes):
        assert change.before is not None
        assert change.after is not None
        made = dict(changed_leaves(change.before.object, change.after.object))
        kept = made if number == 0 else {path: value for path, value in found.items() if made.get(path, _NONE) == value}
        found = kept
    return found


_NONE = object()


DETECTORS = (Fights,)
