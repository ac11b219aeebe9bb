"""The checks at the end of a test that need the cluster to run once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakekube.harness.detectors.detection import Detection
from fakekube.harness.idempotence import IdempotenceCheck
from fakekube.harness.operator import Operator
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent


class FinalChecks:
    """Reconciles the suspects of a timestamp loop once more, a second later; then the detectors finish.

    With the detector `writes-at-rest`, which is off by default, every key is reconciled once more.
    """

    def __init__(
        self,
        detection: Detection,
        bubble: Bubble,
        operators: Sequence[Operator],
        idempotence: Callable[[bool], IdempotenceCheck],
    ) -> None:
        self._detection, self._bubble, self._operators = detection, bubble, operators
        self._idempotence = idempotence

    def run(self) -> None:
        detection = self._detection
        at_rest = detection.levels["writes-at-rest"] != "off"
        suspects = detection.timestamps is not None and bool(detection.timestamps.suspects)
        if (at_rest or suspects) and not self._bubble.loop.is_closed() and not self._bubble.loop.is_running():
            try:
                with detection.step():
                    if suspects:
                        self._probe_timestamps()
                    if at_rest:
                        self._probe_everything()
            except (Deadlock, HotLoop, NotQuiescent):
                pass  # the test has ended: what cannot be reconciled once more is not judged
        detection.finish()

    def _probe_timestamps(self) -> None:
        timestamps = self._detection.timestamps
        assert timestamps is not None
        timestamps.is_probing = True
        self._bubble.advance(1)
        for suspect in list(timestamps.suspects.values()):
            for operator in self._operators:
                if operator.manager is suspect.operator.manager and operator.is_running:
                    operator[suspect.controller].enqueue(suspect.key)
        self._bubble.settle()
        timestamps.is_probing = False

    def _probe_everything(self) -> None:
        check = self._idempotence(True)
        self._bubble.advance(1)
        check.begin()
        self._bubble.settle()
        try:
            check.end()
        except AssertionError as error:
            self._detection.report("writes-at-rest", str(error))
