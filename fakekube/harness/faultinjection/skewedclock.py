"""A clock whose wall time can be set, as on one machine of several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from fakekube.virtualtime import VirtualClock


class SkewedClock:
    """The cluster's clock with another wall time; monotonic time and timers are the same."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.skew: timedelta = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self.skew if self.skew else self._clock.now()

    def monotonic(self) -> float:
        return self._clock.reading

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._clock.call_at(deadline, callback)

    async def sleep_until(self, deadline: float) -> None:
        await self._clock.sleep_until(deadline)

    def __repr__(self) -> str:
        return f"<SkewedClock {self.now().isoformat()} skew={self.skew}>"
