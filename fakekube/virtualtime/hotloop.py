"""The guard against Zeno: a cap on the turns of the loop within one virtual second."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.errors import HotLoop

#: Two orders of magnitude above what a test of 50 objects does in one virtual second; some seconds of real time.
MAX_TURNS = 200_000

#: How many of the last turns before the cap are looked at to tell who is busy.
_SAMPLED = 500


class TurnGuard:
    """Counts turns since virtual time last entered a new second, or since the test itself last moved.

    Per second and not per instant: a loop with back-off moves time, by milliseconds.
    """

    def __init__(self, max_turns: int = MAX_TURNS) -> None:
        self._max = max_turns
        #: so many are nothing special; beyond, `turn` has to look
        self.quiet = max_turns - _SAMPLED
        self.turns = 0
        self._busiest: Counter[str] = Counter()
        self._test_steps = 0
        #: the task that is the test: what it does itself, step by step, is no loop of somebody else
        self.test: asyncio.Task[Any] | None = None

    def restart(self) -> None:
        self.turns = 0
        if self._busiest:
            self._busiest.clear()
            self._test_steps = 0

    def turn(self, ready: Iterable[asyncio.Handle]) -> HotLoop | None:
        """Look at a turn that was counted (`turns`) and is beyond `quiet`; the error when it was one too many."""
        self._busiest.update(describe.callback(handle) for handle in ready)
        self._test_steps += any(describe.owner(handle) is self.test for handle in ready)
        if self.turns <= self._max:
            return None
        if self.test is not None and 0 < self._test_steps < _SAMPLED // 2:
            # the test is busy: it makes many requests at one instant. (On every turn: it spins, and waits for nothing.)
            self.restart()
            return None
        busiest = ", ".join(f"{who} ({times}x)" for who, times in self._busiest.most_common(5))
        error = HotLoop(
            f"the loop turned {self.turns} times within one virtual second and time does not get on: something "
            f"triggers itself, for example a reconcile whose own write starts the next one. Busiest in the last "
            f"{_SAMPLED} turns: {busiest or 'nothing that has a name'}"
        )
        self.restart()
        return error
