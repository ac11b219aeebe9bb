"""An event loop under virtual time: it never waits; when nothing is left to do, time jumps to the next timer."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context
from datetime import datetime, timedelta
from typing import Any, TypeVarTuple

from fakekube.virtualtime import describe
from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import SECOND, Duration, microseconds
from fakekube.virtualtime.errors import Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.hotloop import MAX_TURNS, TurnGuard
from fakekube.virtualtime.pace import Jump, OpenGate, Stuck, Wake, next_step
from fakekube.virtualtime.selector import Events, IdleSelector, Poll
from fakekube.virtualtime.timers import GridTimer, Order, grid, grid_later

Args = TypeVarTuple("Args")

#: How far time may run while the test is blocked: what has not come after a year will not come.
HORIZON = timedelta(days=366)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The loop of a bubble, and the only one who moves its clock.

    Usable alone, too, as the loop factory of pytest-asyncio, anyio or asyncio.Runner.
    """

    # private parts of asyncio that this relies on (the same on CPython 3.11 to 3.13)
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int
    _clock_resolution: float
    _stopping: bool
    _debug: bool

    def __init__(
        self,
        clock: VirtualClock | None = None,
        *,
        gate: Gate | None = None,
        horizon: timedelta = HORIZON,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.gate = gate or Gate()
        selector = IdleSelector()
        super().__init__(selector)
        # half a grid step: `when < time() + resolution` is then exact on the grid, whatever the noise of the floats
        self._clock_resolution = 4e-7
        self._order = Order()
        self._guard = TurnGuard(max_turns)
        self._horizon = microseconds(horizon)
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._blocked_since = 0
        self._in_round = False
        self._round_done = False
        self.clock.attach(self)
        self._idle_selector = selector
        selector.attach(self._turn, self._idle)

    # --- time and timers

    def time(self) -> float:
        return self.clock.monotonic()

    def call_at(
        self, when: float, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self._schedule(grid(when, self.clock.us), when, callback, args, context)

    def call_later(
        self, delay: float, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.TimerHandle:
        us, when = grid_later(delay, self.clock.us, self.clock.monotonic())
        return self._schedule(us, when, callback, args, context)

    def _schedule(
        self,
        us: int,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> asyncio.TimerHandle:
        self._check_closed()  # type: ignore[attr-defined]
        timer = GridTimer(us, when, next(self._order), self.clock, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def upcoming(self) -> Sequence[tuple[int, str]]:
        timers = sorted(timer for timer in self._scheduled if isinstance(timer, GridTimer) and not timer.cancelled())
        return [(timer.us, describe.callback(timer)) for timer in timers]

    def next_timer(self) -> int | None:
        """The microsecond of the next timer; cancelled ones are forgotten on the way."""
        while self._scheduled and self._scheduled[0].cancelled():
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            self._timer_cancelled_count -= 1
        return self._scheduled[0].us if self._scheduled else None  # type: ignore[attr-defined]

    # --- what the test asks for

    async def settle(self) -> None:
        """Wait until the bubble is quiescent; time does not move."""
        await self._reach(self.clock.us)

    async def advance(self, duration: Duration = 0, **units: float) -> None:
        """Move time by this much: stop at each timer on the way, settle there, and settle at the end."""
        await self._reach(self.clock.us + microseconds(duration, **units))

    async def advance_to(self, moment: datetime) -> None:
        """Move time to exactly `moment`, as `advance` does."""
        await self._reach(self._goal(moment))

    async def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> None:
        """Move time from timer to timer until `predicate()` is true; TimeoutError if it is not within `timeout`."""
        limit = self.clock.us + microseconds(timeout)
        while True:
            await self.settle()
            if predicate():
                return
            await self.step(limit, timeout)

    async def step(self, limit: int, timeout: Duration) -> None:
        """Move to the next timer, at most to `limit`; TimeoutError when that is here."""
        if self.clock.us >= limit:
            raise TimeoutError(f"still not so after {timeout} of virtual time\n{self.why()}")
        timer = self.next_timer()
        await self._reach(limit if timer is None else min(timer, limit))

    def _goal(self, moment: datetime) -> int:
        if moment.tzinfo is None:
            raise ValueError("advance_to needs an aware datetime (with a time zone)")
        return self.clock.us + microseconds(moment - self.clock.now())

    async def _reach(self, goal: int) -> None:
        waiter = self.create_future()
        entry = (goal, waiter)
        self._waiters.append(entry)
        try:
            await waiter
        finally:
            if entry in self._waiters:
                self._waiters.remove(entry)

    # --- the heart: one turn, and what comes when nothing is left to do

    def run_forever(self) -> None:
        self.test_moved()
        try:
            super().run_forever()
        finally:
            self._end_round()

    def test_moved(self) -> None:
        """The test itself got on: what happened before is no sign of a hot loop, nor of a blocked test."""
        self._guard.restart()
        self._blocked_since = self.clock.us
        self._round_done = False

    def _turn(self) -> None:
        if (error := self._guard.turn(self._ready)) is not None:
            self._fail(error)

    def _idle(self, poll: Poll) -> Events:
        self._turn()
        while True:
            events = poll(0)
            if events or self._ready or self._stopping or self._is_due():
                return events
            self._act()

    def _is_due(self) -> bool:
        timer = self.next_timer()
        return timer is not None and timer <= self.clock.us

    def _act(self) -> None:
        """The bubble is quiescent: do what follows from that."""
        self._end_round()
        goal = min((goal for goal, _ in self._waiters), default=None)
        round_due = not self._round_done and not self.gate.is_open()
        match next_step(self.clock.us, timer=self.next_timer(), goal=goal, round_due=round_due):
            case OpenGate():
                self._in_round = True
                self._round_done = True
                self.gate.open()
            case Wake():
                self._wake()
            case Jump(us):
                self._jump(us, blocked=goal is None)
            case Stuck():
                raise Deadlock(f"the test waits for something that cannot happen: no timer is set\n{self.why()}")

    def _end_round(self) -> None:
        if self._in_round:
            self._in_round = False
            self.gate.close()

    def _wake(self) -> None:
        now = self.clock.us
        waiting = self._waiters
        self._waiters = [entry for entry in waiting if entry[0] > now]
        for goal, waiter in waiting:
            if goal <= now and not waiter.done():
                waiter.set_result(None)
        self.test_moved()

    def _jump(self, us: int, *, blocked: bool) -> None:
        if blocked and us > self._blocked_since + self._horizon:
            raise Deadlock(
                f"the test has been waiting for {timedelta(microseconds=us - self._blocked_since)} of virtual time; "
                f"beyond the horizon of {timedelta(microseconds=self._horizon)} nothing is expected any more\n"
                f"{self.why()}"
            )
        if us // SECOND != self.clock.us // SECOND:
            self._guard.restart()
        self._round_done = False
        self.clock.move_to(us)

    def _fail(self, error: HotLoop | NotQuiescent) -> None:
        """Tell those who wait for quiescence, or, if the test is blocked elsewhere, whoever runs the loop."""
        if not self._waiters:
            raise error
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(type(error)(*error.args))

    # --- diagnosis

    def why(self) -> str:
        """What is runnable, what is waited for where, what is in flight and what is held: one fact a line."""
        return "\n".join(self._facts())

    def _facts(self) -> Iterator[str]:
        yield f"virtual time: {self.clock.now().isoformat()}"
        yield from _listed("runnable", (describe.callback(handle) for handle in self._ready))
        tasks = (task for task in asyncio.all_tasks(self) if not task.done())
        yield from _listed("waiting", sorted(describe.task(task) for task in tasks))
        yield from _listed("held", self.clock.holds)
        yield from _listed("next", (f"{timer.after} {timer.callback}" for timer in self.clock.next_timers(5)))

    def holds_changed(self) -> None:
        if not self.is_closed():
            self._write_to_self()  # type: ignore[attr-defined]

    def close(self) -> None:
        if not self.is_closed():
            super().close()
            self._idle_selector.detach()


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    for item in items:
        yield f"{title}: {item}"
