"""The checks at the end of a test that need the cluster to run once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.isolation import isolated
from fakekube.harness.detectors.known.reconciling.restwrites import RestWrites
from fakekube.harness.detectors.known.reconciling.timestamps import Suspect, TimestampLoops
from fakekube.harness.operators.operator import ControllerView, Operator
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent

#: Keys that are due within as many seconds are not reconciled once more: nothing was missed that is not made up for.
SOON = 600.0

#: More keys than this are not reconciled once more: that would take noticeable time.
MANY = 200


class FinalChecks:
    """The detectors finish; then keys are reconciled once more, a second later, and again after another second.

    These are the suspects of a timestamp loop, and for `writes-at-rest` all keys, unless something is disturbed: a
    fault is armed, a watch held, an operator stopped; or the test fails by another finding, which may be the reason of
    these. No other detector reports anything meanwhile, and nothing outside is reached: what the test has set up for
    the operator may be gone.
    """

    def __init__(self, detection: Detection, bubble: Bubble, operators: Sequence[Operator], is_disturbed: bool) -> None:
        self._detection, self._bubble, self._operators = detection, bubble, operators
        self._is_disturbed = is_disturbed

    def run(self) -> None:
        detection = self._detection
        detection.finish()
        if self._bubble.loop.is_closed() or self._bubble.loop.is_running():
            return
        timestamps, rest = detection.first(TimestampLoops), detection.first(RestWrites)
        if self._is_disturbed or detection.has_errors or detection.scene.runner.apiserver.faults.rules:
            rest = None
        keys = list(islice(self._keys_at_rest(), MANY + 1)) if rest is not None else []
        if not keys or len(keys) > MANY:
            rest = None
        if rest is None and (timestamps is None or not timestamps.suspects):
            return
        with isolated(self._bubble.loop.network), suppress(Deadlock, HotLoop, NotQuiescent):  # then it is not judged
            self._probe(timestamps, rest, keys)

    def _probe(
        self, timestamps: TimestampLoops | None, rest: RestWrites | None, keys: Sequence[tuple[ControllerView, str]]
    ) -> None:
        with self._detection.reporting_only("timestamp-loop", "writes-at-rest"):
            for number in range(2):
                suspects = list(self._suspects(timestamps)) if timestamps is not None else []
                if not suspects and (rest is None or (number and not rest.has_found)):
                    break
                self._bubble.advance(1)
                self._round(timestamps, rest, number, [*suspects, *(keys if rest is not None else ())])
            if timestamps is not None:
                timestamps.judge()
            if rest is not None:
                rest.judge()

    def _round(
        self,
        timestamps: TimestampLoops | None,
        rest: RestWrites | None,
        number: int,
        keys: Sequence[tuple[ControllerView, str]],
    ) -> None:
        def written(change: Change) -> None:
            doing = self._detection.doing()
            if rest is not None and doing is not None:
                rest.written(change, doing, number)

        remove = self._detection.scene.runner.on_write(written)
        if timestamps is not None:
            timestamps.is_probing = True
        try:
            for view, key in keys:
                view.enqueue(key)
            self._bubble.settle()
        finally:
            remove()
            if timestamps is not None:
                timestamps.is_probing = False

    def _suspects(self, timestamps: TimestampLoops) -> Iterator[tuple[ControllerView, str]]:
        for suspect in timestamps.suspects.values():
            operator = self._operator_of(suspect)
            if operator is not None and timestamps.can_be_probed(suspect):
                yield operator[suspect.doing.run.controller], suspect.doing.key

    def _operator_of(self, suspect: Suspect) -> Operator | None:
        manager = suspect.doing.operator.manager
        return next((one for one in self._operators if one.manager is manager and one.is_alive), None)

    def _keys_at_rest(self) -> Iterator[tuple[ControllerView, str]]:
        for operator in self._operators:
            if operator.is_alive and operator.process.runs:
                for view in operator.views():
                    reconciled = view.keys()
                    yield from ((view, key) for key in reconciled if not view.is_due_within(key, SOON))
