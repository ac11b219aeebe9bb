"""Detects conflicts that a reconcile ignores, so that its write is lost."""

from __future__ import annotations

from dataclasses import dataclass

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import Doing, Scene

#: Seconds after which a requeue is no answer to a conflict.
FAR = 300.0


@dataclass(frozen=True, slots=True)
class Lost:
    """A write that was refused and not repeated. `after`: the seconds until the key is requeued, if it is."""

    doing: Doing
    text: str
    after: float | None


class IgnoredConflicts:
    """Reconciles that got a conflict for a write, did not repeat it, succeeded, and never ran again for that key."""

    names: tuple[str, ...] = ("ignored-conflict",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lost: dict[tuple[int, str, str], Lost] = {}

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        after = outcome.requeue_after
        if outcome.error is not None or (after is not None and after < FAR):
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
        self._lost[doing.who] = Lost(doing, f"{doing} got a conflict for its {verb} of {path}", after)

    def finish(self) -> None:
        for lost in self._lost.values():
            run = lost.doing.run
            if lost.after is not None:
                self._scene.report(
                    "ignored-conflict",
                    f"{lost.text}, neither repeated it nor failed, and requeued after {lost.after:g} s: the write is "
                    "lost until then",
                )
            elif not lost.doing.operator.is_queued(run.controller, run.request):
                self._scene.report(
                    "ignored-conflict",
                    f"{lost.text} and neither repeated it, failed nor requeued: the write is lost",
                )
