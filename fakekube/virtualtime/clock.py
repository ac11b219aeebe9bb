"""The virtual clock: a count of microseconds that only its event loop moves."""

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic as real_monotonic
from typing import Protocol, TypeVarTuple

from fakekube.struct import Struct
from fakekube.virtualtime.durations import SECOND

Args = TypeVarTuple("Args")

#: The default start of every bubble: with a fixed date, logs are comparable.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Hold(Struct, frozen=True):
    """Why time is held. `endless`: for as long as it takes. `ends`: when it ends at the latest, in real time."""

    reason: str
    endless: bool = False
    ends: float | None = None
    expired: Callable[[], None] | None = None


class Timer(Struct, frozen=True):
    """A pending timer: when it fires, in how long, and what it calls."""

    at: datetime
    after: timedelta
    callback: str


class TimerSource(Protocol):
    """The event loop, as the clock uses it."""

    def call_at(self, when: float, callback: Callable[[*Args], object], *args: *Args) -> asyncio.TimerHandle: ...
    def upcoming(self) -> Sequence[tuple[int, str]]: ...
    def holds_changed(self) -> None: ...


class VirtualClock:
    """The one clock of server, controllers, operator and test.

    Invariant: us/1e6 <= monotonic() < (us+1)/1e6. `monotonic` may be a fraction of a microsecond ahead of `us`, because
    it never reads less than the deadline of a timer that has fired. Otherwise code that waits for `deadline`, and then
    again while `monotonic() < deadline`, would wait for ever, as this clock stands still.
    """

    def __init__(self, epoch: datetime = EPOCH) -> None:
        if epoch.tzinfo is None:
            raise ValueError(f"epoch={epoch!r} is naive: pass an aware datetime, with a time zone")
        #: in UTC: arithmetic in a zone with summer time is that of its wall clocks, which jump
        epoch = epoch.astimezone(UTC)
        self.epoch: datetime = epoch
        self._epoch_seconds = epoch.timestamp()
        #: microseconds since the epoch; only the loop changes it
        self.us: int = 0
        #: what `monotonic()` returns
        self.reading: float = 0.0
        self._now, self._now_us = epoch, 0
        self._listeners: list[Callable[[], None]] = []
        self._holds: dict[object, Hold] = {}
        #: the reasons of holds that real time has ended
        self.expired: list[str] = []
        self._source: TimerSource | None = None

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        if self._now_us != self.us:  # read many times at one instant
            self._now, self._now_us = self.epoch + timedelta(microseconds=self.us), self.us
        return self._now

    def time(self) -> float:
        """The wall clock in seconds since 1970, as `time.time` returns it."""
        return self._epoch_seconds + self.us / SECOND

    def monotonic(self) -> float:
        """Seconds since the epoch; the same number as the loop's `time()`."""
        return self.reading

    def call_at(self, deadline: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` when `monotonic()` reads `deadline`. RuntimeError before the clock has a loop."""
        if self._source is None:
            raise RuntimeError("this clock has no event loop: create a VirtualTimeLoop or a Bubble with it")
        return self._source.call_at(deadline, callback)

    async def sleep_until(self, deadline: float) -> None:
        """Wait until `monotonic()` reads at least `deadline`; yields to the loop once if it already does."""
        loop: object = asyncio.get_running_loop()
        if self._source is None or loop is not self._source:
            raise RuntimeError("this clock belongs to another event loop: call sleep_until() on that loop")
        if deadline <= self.reading:
            await asyncio.sleep(0)
            return
        reached = asyncio.get_running_loop().create_future()
        timer = self._source.call_at(deadline, _resolve, reached)
        try:
            await reached
        finally:
            timer.cancel()

    def on_move(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each move; returns a function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @contextmanager
    def hold(
        self,
        reason: str,
        *,
        endless: bool = False,
        seconds: float | None = None,
        expired: Callable[[], None] | None = None,
    ) -> Iterator[None]:
        """Hold time while something runs that the bubble cannot see. May be called from any thread.

        seconds, expired: `expired` is called on the loop after so many real seconds; it must end the hold.

        Waiting for quiescence raises NotQuiescent if a hold lasts longer than the patience, unless it is `endless` or
        ends after `seconds`.
        """
        token = object()
        ends = real_monotonic() + seconds if seconds is not None else None
        self._holds[token] = Hold(reason, endless or ends is not None, ends, expired)
        try:
            yield
        finally:
            del self._holds[token]
            if self._source is not None:
                self._source.holds_changed()

    @property
    def holds(self) -> Sequence[str]:
        """Why time is held, oldest first."""
        return tuple(hold.reason for hold in self._holds.values())

    def is_held(self) -> bool:
        return bool(self._holds)

    def is_held_endlessly(self) -> bool:
        return any(hold.endless for hold in self._holds.values())

    def busy_reasons(self) -> Iterator[str]:
        return (f"time is held: {hold.reason}" for hold in self._holds.values())

    def expire_holds(self) -> float:
        """Called by the loop while time is held: ends what is overdue; returns how many real seconds remain for others
        (infinity: there are none)."""
        now, rest = real_monotonic(), math.inf
        for hold in tuple(self._holds.values()):
            if hold.ends is None:
                continue
            rest = min(rest, max(0.0, hold.ends - now))
            if hold.ends <= now and hold.expired is not None:
                self.expired.append(hold.reason)
                hold.expired()
        return rest

    def next_timers(self, limit: int = 10) -> Sequence[Timer]:
        """The next timers, at most `limit`, soonest first."""
        upcoming = self._source.upcoming() if self._source is not None else ()
        return tuple(
            Timer(self.epoch + timedelta(microseconds=us), timedelta(microseconds=max(0, us - self.us)), callback)
            for us, callback in upcoming[:limit]
        )

    def attach(self, source: TimerSource) -> None:
        """Called by the loop `source`, which moves this clock from now on; a clock has one loop."""
        if self._source is not None:
            raise RuntimeError("this clock already has an event loop: create a VirtualClock for each loop")
        self._source = source

    def move_to(self, us: int) -> None:
        """Called by the loop: move to `us`, never backwards, and call the listeners."""
        if us <= self.us:
            return
        self.us = us
        self.reading = us / SECOND
        for listener in self._listeners:
            listener()

    def reach(self, reading: float) -> None:
        """Called by the loop when a timer for `reading` fires: `monotonic()` never reads less from now on."""
        if reading > self.reading:
            self.reading = reading

    def __repr__(self) -> str:
        held = f" held={list(self.holds)}" if self._holds else ""
        return f"<VirtualClock {self.now().isoformat()}{held}>"


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
