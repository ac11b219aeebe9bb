"""Detects what is written when everything is reconciled once more after the test."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import Doing, Scene, changed_leaves, shown_path, shown_value
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import at_path, is_number, is_present, texts_of
from fakekube.struct import Struct

#: Collections whose objects record that something happened.
_RECORDS = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})

#: Characters of a value that a finding shows.
SHOWN = 60

Place = tuple[tuple[int, str, str], str, str]


class Write(Struct, frozen=True):
    """A write of a reconcile. `is_number`: it has changed nothing but numbers and times."""

    doing: Doing
    text: str
    is_number: bool


class RestWrites:
    """Collects the writes of two rounds, in which each key is reconciled.

    What only the first round writes should have been written before. What both write, and is a number or a time, is a
    counter or a heartbeat.
    """

    levels: Mapping[str, Level] = {"writes-at-rest": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._rounds: tuple[dict[Place, Write], ...] = ({}, {})

    def written(self, change: Change, doing: Doing, number: int) -> None:
        """A reconcile has changed an object in the round `number`, from 0 on."""
        if change.collection in _RECORDS or not any(cause.kind == "generic" for cause in doing.run.causes):
            return
        write = self._judged(change, doing)
        if write is not None:
            self._rounds[number].setdefault((doing.who, change.collection, change.path), write)

    def _judged(self, change: Change, doing: Doing) -> Write | None:
        what = f"{change.collection.partition('.')[0]} {change.path}"
        if change.before is None or change.after is None:
            return Write(doing, f"{what} is {'created' if change.before is None else 'deleted'}", False)
        before, after = change.before.object, change.after.object
        text = texts_of(self._scene.now())
        changes = [
            (path, at_path(before, path), value)
            for path, value in changed_leaves(before, after)
            if not is_present(value, text)
        ]
        if not changes:
            return None  # a heartbeat, or a loop of timestamps
        path, old, new = changes[0]
        shown = f"{what} is written ({shown_path(path)}: {shown_value(old, SHOWN)} -> {shown_value(new, SHOWN)})"
        return Write(doing, shown, all(is_number(old) and is_number(new) for _, old, new in changes))

    @property
    def has_found(self) -> bool:
        """Whether a second round is needed."""
        return bool(self._rounds[0])

    def judge(self) -> None:
        """Report what was found."""
        again = self._rounds[1]
        for place, write in self._rounds[0].items():
            if not (write.is_number and place in again):
                controller = write.doing.run.controller
                self._scene.report(
                    "writes-at-rest",
                    f"{write.text} when {write.doing.key} is reconciled once more: an event or a requeue was missed, "
                    "a predicate dropped an event, or the reconcile always writes",
                    who=controller,
                    key=(controller, place[1]),
                )

    def finish(self) -> None:
        """Nothing is known before everything has been reconciled once more."""


DETECTORS = (RestWrites,)
