"""Detects conflicts that a reconcile ignores, so that its write is lost."""

from __future__ import annotations

from dataclasses import dataclass

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import Doing, Scene


@dataclass(frozen=True, slots=True)
class Lost:
    """A write that was refused and not repeated."""

    doing: Doing
    text: str


class IgnoredConflicts:
    """Reconciles that got a conflict for a write, did not repeat it, succeeded, and never ran again for that key."""

    names: tuple[str, ...] = ("ignored-conflict",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lost: dict[tuple[int, str, str], Lost] = {}

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if outcome.error is not None or outcome.requeue_after is not None:
            self._lost.pop(doing.who, None)
            return
        refused: dict[str, str] = {}
        for sent in doing.sent:
            if sent.verb in ("update", "patch"):
                if sent.code == 409:
                    refused[sent.path] = sent.verb
                elif sent.code < 300:
                    refused.pop(sent.path, None)
        if not refused:
            self._lost.pop(doing.who, None)
            return
        path, verb = next(iter(refused.items()))
        self._lost[doing.who] = Lost(doing, f"{doing} got a conflict for its {verb} of {path}")

    def finish(self) -> None:
        for lost in self._lost.values():
            run = lost.doing.run
            if not lost.doing.operator.is_queued(run.controller, run.request):
                self._scene.report(
                    "ignored-conflict",
                    f"{lost.text} and neither repeated it, failed nor requeued: the write is lost",
                )
