"""The time of a server that is a process: real, a multiple of it, or moved by steps.

All of it follows from the time of the event loop: the server's clock, the timers of its controllers and kubelets, and
the time-outs of its connections.
"""

from __future__ import annotations

import asyncio
import re
import selectors
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Events = list[tuple[selectors.SelectorKey, int]]

#: Read several times in each request.
_real = time.monotonic  # noqa: TID251 - this is the clock

_SCALE = re.compile(r"x(\d+(?:\.\d+)?)")

#: The rates of the modes that are words.
_WORDS = {"real": 1.0, "stepped": 0.0}


def rate_of(mode: str) -> float:
    """The seconds of a mode that pass in a real second: `real`, `x60`, or `stepped` (0). Raises ValueError."""
    found = _SCALE.fullmatch(mode)
    rate = _WORDS.get(mode) if found is None else float(found[1])
    if rate is None or (found is not None and rate == 0):
        raise ValueError(f"{mode!r} is not a mode of the clock: real, stepped, or a multiple of real time like x60")
    return rate


class NotStepped(Exception):
    """Time moves by itself, or is being moved."""


class PacedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes at a rate, beginning at 0. At the rate 0 it passes by `advance` only."""

    _ready: deque[asyncio.Handle]

    def __init__(self, rate: float = 1.0) -> None:
        self._passed, self._since, self._rate = 0.0, _real(), rate
        self._target: float | None = None
        self._reached: asyncio.Future[None] | None = None
        super().__init__(_PacedSelector(self))

    def time(self) -> float:
        if not self._rate:
            return self._passed
        return self._passed + (_real() - self._since) * self._rate

    @property
    def has_more(self) -> bool:
        """Whether anything else runs in this turn, beside the present callback; what is not known yet runs later."""
        return bool(self._ready)

    @property
    def mode(self) -> str:
        """The mode as text: `real`, `x60` or `stepped`."""
        words = {rate: word for word, rate in _WORDS.items()}
        return words.get(self._rate) or f"x{self._rate:g}"

    def set_mode(self, mode: str) -> None:
        """Let time pass differently from now on. Raises ValueError, and NotStepped while `advance` moves it."""
        rate = rate_of(mode)
        if self._target is not None:
            raise NotStepped("time is being advanced")
        self._passed, self._since, self._rate = self.time(), _real(), rate

    def advance(self, seconds: float) -> asyncio.Future[None]:
        """Move time: each timer runs at its moment, and what it causes before the next one.

        The future is done when nothing of this process is left to do. Raises NotStepped.
        """
        if self._rate:
            raise NotStepped(f"the clock is {self.mode}: time moves by steps only in the mode stepped")
        if self._target is not None:
            raise NotStepped("time is being advanced")
        self._target, self._reached = self._passed + seconds, self.create_future()
        return self._reached

    def end_pacing(self) -> None:
        """Let time pass as real time does, so that time-outs bound the shutdown. An advance fails with NotStepped."""
        self._passed, self._since, self._rate, self._target = self.time(), _real(), 1.0, None
        if self._reached is not None and not self._reached.done():
            self._reached.set_exception(NotStepped("the server stops"))

    def wait(self, poll: Callable[[float | None], Events], timeout: float | None) -> Events:
        """What the selector does when nothing is ready to run: wait for events, or move time to the next timer."""
        if self._rate:
            return poll(None if timeout is None else timeout / self._rate)
        if self._target is None:
            return poll(None)
        if events := poll(0):
            return events
        left = self._target - self._passed
        if timeout is not None and timeout <= left:
            self._passed += timeout
            return []
        self._passed, self._target = self._target, None
        if self._reached is not None and not self._reached.done():
            self._reached.set_result(None)
        return []


class _PacedSelector(selectors.DefaultSelector):
    def __init__(self, loop: PacedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Events:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        return self._loop.wait(super().select, timeout)


class PacedClock:
    """The clock of a process on a PacedLoop. Wall time begins at the machine's, and passes as the loop's does.

    Implements `fakekube.server.systemclock.Clock` and `controllerlib.clock.Clock`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.epoch: datetime = datetime.now(UTC) - timedelta(seconds=loop.time())  # noqa: TID251 - this is the clock

    @property
    def us(self) -> int:
        """Microseconds since the epoch."""
        return round(self._loop.time() * 1_000_000)

    def monotonic(self) -> float:
        return self._loop.time()

    def now(self) -> datetime:
        return self.epoch + timedelta(seconds=self._loop.time())

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_at(deadline, callback)

    async def sleep_until(self, deadline: float) -> None:
        await asyncio.sleep(max(0.0, deadline - self._loop.time()))  # noqa: TID251 - this is the clock
