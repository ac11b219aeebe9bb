"""Detects writers that overwrite each other's values with time in between: at each resync, or every thirty seconds."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import Doing, Scene, Writer, changed_leaves, shown_path, shown_value
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct

#: Rounds after which two writers of a field are reported: each has taken back the other's value so often.
ROUNDS = 3

#: Parts of an object that writers do not fight over: what they tell each other may go to and fro.
_NOT_JUDGED = ("metadata", "status")


class Duel(Struct):
    """A field that two writers set in turn. values: what each sets it to. turns: how often the writer has changed."""

    last: Writer
    values: dict[Writer, object]
    turns: int = 0


class SlowFights:
    """Reports a field outside of metadata and status that two writers set in turn, each to the same value each time.

    What the test writes begins it anew: it may be what they react to.
    """

    levels: Mapping[str, Level] = {"slow-fight": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._writers: dict[tuple[str, str], Writer] = {}
        self._duels: dict[tuple[str, str], dict[tuple[str | int, ...], Duel]] = {}

    def committed(self, change: Change, doing: Doing | None) -> None:
        place = (change.collection, change.path)
        writer = self._scene.writer(doing)
        if writer is None:
            self._writers.clear()
            self._duels.clear()
            return
        if change.before is None or change.after is None:
            self._writers.pop(place, None)
            self._duels.pop(place, None)
            return
        if self._writers.setdefault(place, writer) == writer and place not in self._duels:
            return  # it has one writer
        duels = self._duels.setdefault(place, {})
        for path, value in changed_leaves(change.before.object, change.after.object, _NOT_JUDGED):
            self._fought(place, duels, path, writer, value)

    def _fought(
        self,
        place: tuple[str, str],
        duels: dict[tuple[str | int, ...], Duel],
        path: tuple[str | int, ...],
        writer: Writer,
        value: object,
    ) -> None:
        duel = duels.get(path)
        is_new = duel is None or duel.last == writer or duel.values.get(writer, value) != value
        if duel is None or is_new or (writer not in duel.values and len(duel.values) == 2):
            duels[path] = Duel(writer, {writer: value})
            return
        duel.values[writer] = value
        duel.last = writer
        duel.turns += 1
        if duel.turns == 2 * ROUNDS:
            self._report(place, path, duel)

    def _report(self, place: tuple[str, str], path: tuple[str | int, ...], duel: Duel) -> None:
        (first, one), (second, other) = duel.values.items()
        names = [str(first), str(second)]
        if names[0] == names[1]:
            names[0] += " and another program"
        text = (
            f"{names[0]} and {names[1]} overwrite each other's value of {shown_path(path)} in "
            f"{place[0].partition('.')[0]} {place[1]}: {names[0]} sets {shown_value(one)}, {names[1]} "
            f"{shown_value(other)}, again and again: let one of them own the field"
        )
        self._scene.report("slow-fight", text, who=names[0], key=(place, path))

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (SlowFights,)
