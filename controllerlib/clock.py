"""The clock that is injected everywhere: monotonic and wall time, and waiting on them (k8s.io/utils/clock)."""

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
    """A callback scheduled on a clock."""

    def cancel(self) -> None:
        """Cancel the callback; no effect if it has run already."""
        ...


class Clock(Protocol):
    """Monotonic seconds, wall time, and two ways to wait (k8s.io/utils/clock)."""

    def monotonic(self) -> float:
        """Return the seconds since some fixed moment; never decreases."""
        ...

    def now(self) -> datetime:
        """Return the wall time: timezone-aware, UTC."""
        ...

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Schedule `callback` for the time at which `monotonic()` returns `deadline`."""
        ...

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `monotonic()` returns `deadline`."""
        ...


class SystemClock:
    """The time of the running event loop and the system's wall clock. A virtual-time loop therefore controls it as
    well.
    """

    def monotonic(self) -> float:
        """Return the time of the running loop; without one, the system's monotonic time, which asyncio's own loops use
        too.
        """
        loop = _running_loop()
        return loop.time() if loop is not None else time.monotonic()

    def now(self) -> datetime:
        """Return the wall time: timezone-aware, UTC."""
        return datetime.now(UTC)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Schedule `callback` on the running loop."""
        return asyncio.get_running_loop().call_at(deadline, callback)

    async def sleep_until(self, deadline: float) -> None:
        """Wait until the loop's time is `deadline`; yields to the loop once if that has passed already."""
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
    """Return a function that reads `clock.monotonic()`; for SystemClock the faster `time` of the running loop."""
    loop = _running_loop()
    return loop.time if type(clock) is SystemClock and loop is not None else clock.monotonic


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait for `seconds` of `clock`."""
    await clock.sleep_until(clock.monotonic() + seconds)


async def pause() -> None:
    """Yield to the event loop once, so that everything that is ready can run."""
    await asyncio.sleep(0)


class Alarm:
    """Calls `ring` at a deadline of a clock. At most one deadline is set at a time."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock, self._ring = clock, ring
        self._at: float | None = None
        self._timer: Timer | None = None

    def set(self, deadline: float | None) -> None:
        """Set the deadline; None cancels it. An earlier deadline that is already set is kept, so it may ring early."""
        if deadline is None:
            self.off()
        elif self._at is None or deadline < self._at:
            self.off()
            self._at = deadline
            self._timer = self._clock.call_at(deadline, self._reached)

    def off(self) -> None:
        """Cancel the deadline."""
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reached(self) -> None:
        self._at = self._timer = None
        self._ring()


class Deadline:
    """`async with Deadline(clock, at):` cancels the body at `at` and raises TimeoutError, as asyncio.timeout does.

    With None it never fires. `expired` is whether this deadline ended the body.
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
    """Wait for `awaitable` and return its result; at `deadline` it is cancelled and TimeoutError is raised."""
    async with Deadline(clock, deadline):
        return await awaitable
