"""Detects hot loops: limits the turns of the event loop within one virtual second."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.errors import HotLoop

#: Far above what a test of 50 objects needs in one virtual second; takes some seconds of real time.
MAX_TURNS = 200_000

#: The limit after a hot loop was found: it goes on while the test ends, which takes no seconds of real time then.
TURNS_AFTER_ONE = 20_000

#: Callbacks of the loop itself, which follow from those of the code under test.
_LOOP = "fakekube.virtualtime.loop."

#: How many turns before the limit are sampled for the error message.
_SAMPLED = 500


class TurnGuard:
    """Counts turns since virtual time entered a new second, or since the test itself made progress.

    It counts per second and not per instant, because a loop with back-off moves time by milliseconds.
    """

    def __init__(self, max_turns: int = MAX_TURNS) -> None:
        self._max = max_turns
        #: the number of turns above which `turn` must be called
        self.quiet: int = max_turns - _SAMPLED
        self.turns: int = 0
        #: whether a hot loop was found, here or elsewhere
        self.found: bool = False
        self._busiest: Counter[str] = Counter()
        self._test_steps = 0
        #: the task of an async test: turns that it causes itself are no hot loop
        self.test: asyncio.Task[Any] | None = None

    def restart(self) -> None:
        self.turns = 0
        if self._busiest:
            self._busiest.clear()
            self._test_steps = 0

    def known(self) -> None:
        """A hot loop was found, here or elsewhere: that it goes on is found sooner."""
        self.found = True
        self._max = min(self._max, TURNS_AFTER_ONE)
        self.quiet = self._max - _SAMPLED

    def turn(self, ready: Iterable[asyncio.Handle]) -> HotLoop | None:
        """Samples a turn above `quiet`; returns the error once there were too many."""
        running = (describe.callback(handle) for handle in ready)
        self._busiest.update(what for what in running if not what.startswith(_LOOP))
        self._test_steps += any(describe.owner(handle) is self.test for handle in ready)
        if self.turns <= self._max:
            return None
        if self.test is not None and 0 < self._test_steps < _SAMPLED // 2:
            # the test makes many requests at one instant; if it ran on every turn, it would be spinning itself
            self.restart()
            return None
        busiest = ", ".join(f"{who} ({times}x)" for who, times in self._busiest.most_common(5))
        error = HotLoop(
            f"the loop turned {self.turns} times within one virtual second and time does not advance: something "
            f"triggers itself, for example a reconcile whose own write triggers the next one. Busiest in the last "
            f"{_SAMPLED} turns: {busiest or 'unknown'}"
        )
        self.restart()
        self.known()
        return error
