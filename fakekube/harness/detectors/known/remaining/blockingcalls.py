"""Detects coroutines that block the event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakekube.harness.detectors.detector import Doing, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.virtualtime.threads.callers import Place


class BlockingCalls:
    """Calls in a coroutine that block, while the test waits or in a reconcile."""

    levels: Mapping[str, Level] = {"blocking-call": "error", "blocking-request": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._doing: Callable[[], Doing | None] = _nothing
        self._in_step: Callable[[], bool] = bool

    def open(self, surroundings: Surroundings) -> None:
        self._doing, self._in_step = surroundings.doing, surroundings.in_step
        surroundings.bubble.on_blocking_call(self._requested, self._waited)

    def _requested(self, place: Place) -> None:
        self._report(
            "blocking-request",
            f"{place} makes a blocking call to the API server in a coroutine: nothing else on the event loop runs "
            "until it is answered; use an async client or a thread",
            place,
        )

    def _waited(self, what: str, place: Place) -> None:
        self._report(
            "blocking-call",
            f"{place} {what} in a coroutine: nothing else on the event loop runs meanwhile; use what can be awaited, "
            "or a thread",
            place,
        )

    def _report(self, detector: str, text: str, place: Place) -> None:
        doing = self._doing()
        if doing is not None:
            self._scene.report(detector, f"{doing}, {text}", key=place)
        elif self._in_step():
            self._scene.report(detector, text, key=place)

    def finish(self) -> None:
        """Nothing is left to report."""

    def retire(self) -> None:
        self._doing, self._in_step = _nothing, bool


def _nothing() -> Doing | None:
    return None


DETECTORS = (BlockingCalls,)
