"""The checks at the end of a test that need the cluster to run once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.timestamps import TimestampLoops
from fakekube.harness.idempotence import IdempotenceCheck
from fakekube.harness.operator import Operator
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent


class FinalChecks:
    """The detectors finish; then the suspects of a timestamp loop are reconciled once more, a second later.

    With the detector `writes-at-rest`, which is off by default, every key is. Other detectors report nothing meanwhile:
    what the test has set up for the operator may be gone.
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
        detection, timestamps = self._detection, self._detection.timestamps
        at_rest = detection.levels["writes-at-rest"] != "off"
        suspects = timestamps is not None and bool(timestamps.suspects)
        can_run = not self._bubble.loop.is_closed() and not self._bubble.loop.is_running()
        detection.finish()
        if can_run and (at_rest or suspects):
            try:
                if at_rest:
                    self._probe_everything()
                if timestamps is not None and suspects:
                    self._probe_timestamps(timestamps)
            except (Deadlock, HotLoop, NotQuiescent):
                pass  # the test has ended: what cannot be reconciled once more is not judged

    def _probe_timestamps(self, timestamps: TimestampLoops) -> None:
        with self._detection.reporting_only("timestamp-loop"):
            for _ in range(2):
                self._bubble.advance(1)
                timestamps.is_probing = True
                for suspect in list(timestamps.suspects.values()):
                    for operator in self._operators:
                        running = operator.manager is suspect.doing.operator.manager and operator.is_alive
                        if running and timestamps.can_be_probed(suspect):
                            operator[suspect.doing.run.controller].enqueue(suspect.doing.key)
                self._bubble.settle()
                timestamps.is_probing = False
            timestamps.judge()

    def _probe_everything(self) -> None:
        check = self._idempotence(True)
        with self._detection.reporting_only("writes-at-rest"):
            self._bubble.advance(1)
            check.begin()
            self._bubble.settle()
            try:
                check.end()
            except AssertionError as error:
                self._detection.report("writes-at-rest", str(error))
