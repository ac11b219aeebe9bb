"""Detects changes that an operator makes only because of a resync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib.controller import Outcome
from controllerlib.observer import Call
from fakekube.harness.detectors.detector import CHANGES, Doing, Scene, changed_leaves, version_of
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import is_present, texts_of, writes_present

#: Causes for which nothing has changed.
PERIODIC = frozenset({"resync", "relist"})


class ResyncWrites:
    """Reconciles whose only cause is a resync, and that change something: an event or a requeue was missed before.

    What counts is what the store has changed, not the verb. Writes of the present time do not count, other than that
    of a transition, nor do those while a fault is active.
    """

    levels: Mapping[str, Level] = {"resync-write": "warn"}
    calls: frozenset[str] = CHANGES

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the identity of a reconcile that only a resync has caused: the revision of the store when it started
        self._began: dict[int, int] = {}

    def started(self, doing: Doing) -> None:
        causes = doing.run.causes
        if not causes or causes[0].kind not in PERIODIC:  # of most reconciles
            return
        if not self._scene.faults and all(cause.kind in PERIODIC for cause in causes):
            self._began[id(doing)] = self._scene.store.revision

    def called(self, doing: Doing, call: Call, code: int, answer: Any) -> None:
        if not self._began or not 200 <= code < 300:
            return
        began, version = self._began.get(id(doing)), version_of(answer)
        if began is None or not version.isdigit() or "/events" in call.path:
            return
        if writes_present(call.body, self._scene.now()):
            return
        if call.verb == "create" or (int(version) > began and self._has_changed(call.path, int(version))):
            self._scene.report(
                "resync-write",
                f"{doing} made {call.verb} of {call.path}, although nothing had changed: an event was missed (is it "
                "watched, does a predicate drop it?), or a requeue",
                key=(doing.who, call.verb),
            )

    def _has_changed(self, path: str, revision: int) -> bool:
        """Whether the write that made a revision has created the object, or changed more than times."""
        place = self._scene.place(path)
        if place is None:
            return False
        collection = self._scene.store.collection(place[0])
        before, after = collection.at(place[1], revision - 1), collection.at(place[1], revision)
        if after is None or after.revision != revision:
            return False  # compacted
        text = texts_of(self._scene.now())
        return before is None or any(
            not is_present(value, text) for _, value in changed_leaves(before.object, after.object)
        )

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if self._began:
            self._began.pop(id(doing), None)

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (ResyncWrites,)
