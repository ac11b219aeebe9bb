"""Timers on a grid of microseconds: first come first served among equals, and never early."""

import asyncio
import itertools
import math
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import SECOND

#: A difference to "now" above this is meant (a real, if tiny, delay), below it is the noise of adding floats.
_NOISE = 1e-7


def grid(when: float, now: int) -> int:
    """The microsecond at which a timer for `when` (seconds) fires, `now` being the present one.

    The nearest, so that 3 * 0.1 s is 0.3 s; but a real delay, however short, lasts at least one: `while time.time() <
    deadline: await sleep(deadline - time.time())` asks for 0.2 µs in the end and would not end if that were none.
    """
    us = round(when * SECOND)
    if us <= now:
        return now + 1 if when - now / SECOND > _NOISE else now
    return us


def grid_later(delay: float, now: int, reading: float) -> tuple[int, float]:
    """As `grid`, for a timer in `delay` seconds: the microsecond, and the exact deadline that it stands for.

    Adding on the grid keeps the noise of `reading + delay` out of the clock (three times 0.1 s then reads 0.3, not
    0.30000000000000004) unless the delay is so short that it may be a rest of such noise, asked for on purpose.
    """
    exact = reading + delay
    if delay * SECOND < 0.5:
        return grid(exact, now), exact
    us = now + round(delay * SECOND)
    snapped = us / SECOND
    return us, snapped if abs(exact - snapped) < 1e-9 + 4 * math.ulp(exact) else exact


class GridTimer(asyncio.TimerHandle):
    """A timer that is due at a whole microsecond; among equals the first made fires first."""

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
        self.us = us
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


#: Numbers the timers of a loop; `next` on it is the order of their making.
Order = itertools.count
