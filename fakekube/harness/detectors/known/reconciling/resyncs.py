"""Detects changes that an operator makes only because of a resync."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import CHANGES, PERIODIC, Doing, Scene, Sent, changed_leaves
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import is_present, texts_of, writes_present


class ResyncWrites:
    """Reconciles whose only cause is a resync, and that change something: an event or a requeue was missed before.

    What counts is what the store has changed, not the verb. Writes of the present time do not count, other than that
    of a transition, nor do those while a fault is active.
    """

    levels: Mapping[str, Level] = {"resync-write": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the identity of a reconcile that only a resync has caused: the revision of the store when it started
        self._began: dict[int, int] = {}

    def resynced(self, doing: Doing) -> None:
        if not self._scene.faults and all(cause.kind in PERIODIC for cause in doing.run.causes):
            self._scene.follow(finished=self._finished, called=self._called, verbs=CHANGES)
            self._began[id(doing)] = self._scene.store.revision

    def _called(self, doing: Doing, sent: Sent) -> None:
        if not 200 <= sent.code < 300:
            return
        began, version = self._began.get(id(doing)), sent.after
        if began is None or not version.isdigit() or "/events" in sent.path:
            return
        if writes_present(sent.body, self._scene.now()):
            return
        if sent.verb == "create" or (int(version) > began and self._has_changed(sent.path, int(version))):
            self._scene.report(
                "resync-write",
                f"{doing} made {sent.verb} of {sent.path}, although nothing had changed: an event was missed (is it "
                "watched, does a predicate drop it?), or a requeue",
                key=(doing.who, sent.verb),
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

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        self._began.pop(id(doing), None)

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (ResyncWrites,)
