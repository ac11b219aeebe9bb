"""Time and chance as the rest of the package sees them: injected, never asked for elsewhere."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, TypeVar

__all__ = ["Alarm", "Clock", "Deadline", "SystemClock", "Timer", "sleep", "wait_for"]


T = TypeVar("T")

_running_loop = asyncio._get_running_loop


class Timer(Protocol):
    """What was asked of a clock, and can still be called off."""

    def cancel(self) -> None:
        """Do not call; nothing when it has been called."""
        ...


class Clock(Protocol):
    """Monotonic seconds, wall time, and two ways to wait (k8s.io/utils/clock)."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def now(self) -> datetime:
        """The wall time: aware, UTC."""
        ...

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when `monotonic()` reads `deadline`."""
        ...

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `monotonic()` reads `deadline`."""
        ...


class SystemClock:
    """The running loop's time and the machine's wall clock; a virtual-time loop below moves it too."""

    def monotonic(self) -> float:
        """Seconds of the running loop; without one, of the machine (which asyncio's own loops count, too)."""
        loop = _running_loop()
        return loop.time() if loop is not None else time.monotonic()

    def now(self) -> datetime:
        """The wall time: aware, UTC."""
        return datetime.now(UTC)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """A timer of the running loop."""
        return asyncio.get_running_loop().call_at(deadline, callback)

    async def sleep_until(self, deadline: float) -> None:
        """Wait until the loop's time is `deadline`; in the past: one turn of the loop."""
        loop = asyncio.get_running_loop()
        if deadline <= loop.time():
            await asyncio.sleep(0)
            return
        woken = loop.create_future()
        timer = loop.call_at(deadline, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()


def monotonic_reader(clock: Clock) -> Callable[[], float]:
    """`clock.monotonic` for who stays on the running loop: the loop's own time where the clock would ask for that."""
    loop = _running_loop()
    return loop.time if type(clock) is SystemClock and loop is not None else clock.monotonic


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait `seconds` of `clock`."""
    await clock.sleep_until(clock.monotonic() + seconds)


async def pause() -> None:
    """Let everything else that can run have one turn of the loop."""
    await asyncio.sleep(0)


class Alarm:
    """Calls `ring` when the clock reaches a moment; one moment at a time, nothing kept while it is off."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock, self._ring = clock, ring
        self._at: float | None = None
        self._timer: Timer | None = None

    def set(self, deadline: float | None) -> None:
        """Ring at `deadline`, None turns it off. A moment set before that is earlier stays: it may ring too soon."""
        if deadline is None:
            self.off()
        elif self._at is None or deadline < self._at:
            self.off()
            self._at = deadline
            self._timer = self._clock.call_at(deadline, self._reached)

    def off(self) -> None:
        """Ring no more."""
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reached(self) -> None:
        self._at = self._timer = None
        self._ring()


class Deadline:
    """`async with Deadline(clock, at):` cancels the body at `at` and raises TimeoutError (asyncio.timeout on a Clock).

    None never fires. `expired` tells whether it was this deadline that ended the body.
    """

    expired: bool

    def __init__(self, clock: Clock, at: float | None) -> None:
        self._clock, self._at = clock, at
        self._alarm: Alarm | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self.expired = False

    async def __aenter__(self) -> "Deadline":
        self._task = asyncio.current_task()
        if self._at is not None and self._task is not None:
            self._cancelling = self._task.cancelling()
            self._alarm = Alarm(self._clock, self._expire)
            self._alarm.set(self._at)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._alarm is not None:
            self._alarm.off()
        if (
            self.expired
            and self._task is not None
            and self._task.uncancel() <= self._cancelling
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError from error

    def _expire(self) -> None:
        if self._task is not None:
            self.expired = True
            self._task.cancel()


async def wait_for(clock: Clock, awaitable: Awaitable[T], deadline: float | None) -> T:
    """What `awaitable` gives; it is cancelled and TimeoutError raised when the clock reaches `deadline`."""
    async with Deadline(clock, deadline):
        return await awaitable
