"""Detects changes that an operator makes only because of a resync."""

from __future__ import annotations

from typing import Any

from controllerlib.observer import Call
from fakekube.harness.detectors.detector import CHANGES, Doing, Scene, version_of
from fakekube.harness.detectors.timestamps import present_fields

#: Causes for which nothing has changed.
PERIODIC = frozenset({"resync", "relist"})


class ResyncWrites:
    """Reconciles whose only cause is a resync, and that change something: an event or a requeue was missed before.

    Writes of the present time do not count, nor do those while a fault is active.
    """

    names: tuple[str, ...] = ("resync-write",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def called(self, doing: Doing, call: Call, code: int, answer: Any) -> None:
        if call.verb not in CHANGES or not 200 <= code < 300 or not doing.run.causes:
            return
        if any(cause.kind not in PERIODIC for cause in doing.run.causes) or self._scene.faults:
            return
        if code == 200 and version_of(answer) == version_of(call.body):
            return
        if call.verb == "patch" or "/events" in call.path or present_fields(call.body, self._scene.now()):
            return
        self._scene.report(
            "resync-write",
            f"{doing} made {call.verb} of {call.path}, although nothing had changed: an event was missed (is it "
            "watched, does a predicate drop it?), or a requeue",
            key=(doing.who, call.verb),
        )

    def finish(self) -> None:
        """Nothing is left to report."""
