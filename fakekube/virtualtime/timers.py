"""Timers that fire at whole microseconds, never early, and in the order of their creation at the same microsecond."""

import asyncio
import itertools
import math
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import SECOND

#: A smaller difference to the present, in seconds, is float rounding; a larger one is a real delay.
_NOISE = 1e-7


def grid(when: float, now: int) -> int:
    """The microsecond at which a timer for `when` (seconds) fires; `now` is the present one.

    It is the nearest, so that 3 * 0.1 s is 0.3 s. But a real delay lasts at least one microsecond: the last delay of
    `while time.time() < deadline: await sleep(deadline - time.time())` may be 0.2 µs, and must not be rounded to zero.
    """
    us = round(when * SECOND)
    if us <= now:
        return now + 1 if when - now / SECOND > _NOISE else now
    return us


def grid_later(delay: float, now: int, reading: float) -> tuple[int, float]:
    """As `grid`, for a timer in `delay` seconds: the microsecond, and the exact deadline in seconds.

    Adding in whole microseconds keeps the rounding of `reading + delay` out of the clock: three times 0.1 s then reads
    0.3, not 0.30000000000000004. Delays of up to half a microsecond are added exactly, as they may be such a remainder.
    """
    exact = reading + delay
    if delay * SECOND <= 0.5:
        return grid(exact, now), exact
    us = now + round(delay * SECOND)
    snapped = us / SECOND
    return us, snapped if abs(exact - snapped) < 1e-9 + 4 * math.ulp(exact) else exact


class GridTimer(asyncio.TimerHandle):
    """A timer that fires at a whole microsecond; timers of the same microsecond fire in the order of their creation."""

    __slots__ = ("_clock", "_exact", "_order", "us")

    if TYPE_CHECKING:
        _when: float
        _scheduled: bool

    def __init__(
        self,
        us: int,
        exact: float,
        order: int,
        clock: VirtualClock,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        super().__init__(us / SECOND, callback, args, loop, context)
        self.us: int = us
        self._exact = exact
        self._order = order
        self._clock = clock

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, GridTimer):
            return NotImplemented
        return self._order < other._order if self.us == other.us else self.us < other.us

    def _run(self) -> None:
        self._clock.reach(min(self._exact, (self.us + 0.5) / SECOND))
        super()._run()


#: Numbers the timers of a loop in the order of their creation.
Order = itertools.count
