"""An event loop under virtual time: it never waits; when nothing is left to do, time jumps to the next timer."""

import asyncio
import functools
import heapq
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import Context
from datetime import datetime, timedelta
from time import monotonic as real_monotonic
from typing import Any, TypeVar, TypeVarTuple

from fakekube.virtualtime import describe
from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import SECOND, Duration, microseconds
from fakekube.virtualtime.errors import Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.hotloop import MAX_TURNS, TurnGuard
from fakekube.virtualtime.idleselector import Events, IdleSelector, Poll
from fakekube.virtualtime.network.network import TransportKind
from fakekube.virtualtime.network.transports import NetworkLoop
from fakekube.virtualtime.nextstep import Deadlocked, Jump, OpenGate, Wake, next_step
from fakekube.virtualtime.threads.executors import Pools
from fakekube.virtualtime.threads.scheduler import ThreadScheduler
from fakekube.virtualtime.threads.stacks import dump
from fakekube.virtualtime.timers import GridTimer, Order, grid, grid_later

T = TypeVar("T")
Args = TypeVarTuple("Args")

#: How far time may run while the test is blocked: what has not come after a year will not come.
HORIZON = timedelta(days=366)

#: Real seconds within which whatever is busy must have got on. Long on purpose: a bubble that went on without a thread
#: which is merely slow (an overloaded machine) would give another result than the run before; so it fails instead.
PATIENCE = 30.0

#: Real seconds for which nothing must have moved on the connections of external clients, whose work cannot be seen.
LINGER = 0.1

#: Real seconds after which a wait for the real world looks around again.
_GLANCE = 0.25


class VirtualTimeLoop(NetworkLoop):
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
    _default_executor: Executor | None
    _signal_handlers: dict[int, asyncio.Handle]
    _closed = True  # until it is made: one that could not be made is not "unclosed"

    def __init__(
        self,
        clock: VirtualClock | None = None,
        *,
        gate: Gate | None = None,
        transport: TransportKind = "memory",
        patience: float = PATIENCE,
        linger: float = LINGER,
        horizon: timedelta = HORIZON,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.clock.attach(self)
        self.gate = gate or Gate()
        selector = IdleSelector()
        super().__init__(selector, transport)
        # half a grid step: `when < time() + resolution` is then exact on the grid, whatever the noise of the floats
        self._clock_resolution = 4e-7
        self._order = Order()
        self._guard = TurnGuard(max_turns)
        self._horizon = microseconds(horizon)
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._blocked_since = 0
        self._round_done = False
        self._patience = patience
        self._linger = linger
        self._external_moved = 0.0
        self._tasks: set[asyncio.Future[Any]] = set()
        self.threads = ThreadScheduler(self, self.holds_changed, patience)
        self.network.connections.external_moved.add(self._note_external)
        self._pools = Pools(self.threads.submit)
        self._idle_selector = selector
        selector.attach(self._turn, self._idle)

    # --- time and timers

    def time(self) -> float:
        return self.clock.reading

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
        while self._scheduled and self._scheduled[0]._cancelled:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            self._timer_cancelled_count -= 1
        return self._scheduled[0].us if self._scheduled else None  # type: ignore[attr-defined]

    # --- tasks

    def create_task(self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:
        """A task that lives until it is done, held or not: when the garbage collector comes is no part of a test."""
        task = super().create_task(coro, **options)
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

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
            answer = predicate()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await self.step(limit, timeout)

    async def step(self, limit: int, timeout: Duration) -> None:
        """Move to the next timer, at most to `limit`; TimeoutError when that is here."""
        if self.clock.us >= limit:
            raise TimeoutError(f"still not so after {_shown(timeout)} of virtual time\n{self.why()}")
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

    # --- threads

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Args], T], *args: *Args) -> asyncio.Future[T]:
        """Run it in a thread of the bubble; other executors than thread pools run as they do, under a hold."""
        self._check_closed()  # type: ignore[attr-defined]
        job = functools.partial(func, *args)
        pool = executor or self._default_executor
        if pool is None:
            return self.threads.submit(job)
        if isinstance(pool, ThreadPoolExecutor):
            return self._pools.submit(pool, job)
        held = ExitStack()
        held.enter_context(self.clock.hold(f"a job of {type(pool).__name__}"))
        future = asyncio.wrap_future(pool.submit(job), loop=self)
        future.add_done_callback(lambda _: held.close())
        return future

    def _check_thread(self) -> None:
        # asyncio's debug mode; a thread that has the baton is as good as the loop's own
        if self.threads.current() is None:
            super()._check_thread()  # type: ignore[misc]

    def call_soon_threadsafe(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        if self.threads.current() is None:
            return super().call_soon_threadsafe(callback, *args, context=context)
        # a thread of the bubble: the loop stands still, and looks before it does anything else
        self._check_closed()  # type: ignore[attr-defined]
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    # --- signals

    def add_signal_handler(self, sig: int, callback: Callable[[*Args], object], *args: *Args) -> None:
        super().add_signal_handler(sig, callback, *args)
        self._idle_selector.awaits_signals = True

    def remove_signal_handler(self, sig: int) -> bool:
        removed = super().remove_signal_handler(sig)
        self._idle_selector.awaits_signals = bool(self._signal_handlers)
        return removed

    # --- being run by sync code

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end from sync code; nothing of it stays behind when that fails."""
        task = self.create_task(work)
        try:
            return self.run_until_complete(task)
        except BaseException:
            task.cancel()
            raise

    def run_test(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` as the test; when that fails from outside (a Deadlock), `main` is cancelled and ends first."""
        task = self.create_task(main, name="test")
        self._guard.test = task
        try:
            return self.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                with suppress(BaseException):
                    self.run_until_complete(task)
            raise
        finally:
            self._guard.test = None

    # --- the heart: one turn, and what comes when nothing is left to do

    def run_forever(self) -> None:
        self.test_moved()
        try:
            super().run_forever()
        finally:
            self.gate.end_round()

    def test_moved(self) -> None:
        """The test itself got on: what happened before is no sign of a hot loop, nor of a blocked test."""
        self._guard.restart()
        self._blocked_since = self.clock.us
        self._round_done = False

    def _turn(self) -> None:
        """One busy turn is over: threads may go on, and somebody may be running hot."""
        guard = self._guard
        guard.turns += 1
        if guard.turns > guard.quiet and (error := guard.turn(self._ready)) is not None:
            self._fail(error)
        if self.threads.ready:
            self._run_threads()

    def _run_threads(self) -> None:
        try:
            self.threads.run_ready()
        except NotQuiescent as error:
            self._fail(error)

    def _idle(self, poll: Poll) -> Events:
        """Nothing is runnable on the loop itself: the rule by which time may move, in its order."""
        busy_since: float | None = None
        while True:
            self._turn()
            events = poll(0)
            if events or self._ready or self._stopping or self._is_due():
                return events
            if self.threads.ready:
                continue
            if reasons := self._unrest():
                now = real_monotonic()
                busy_since = now if busy_since is None else busy_since
                events = poll(self._patiently(reasons, busy_since + self._patience - now))
            elif (rest := self._lingering()) > 0:
                events = poll(rest)
            else:
                self._act()
                busy_since = None
            if events or self._ready:
                return events

    def _unrest(self) -> list[str]:
        """Why the bubble is not quiescent, though the loop has nothing to do."""
        threads, connections, clock = self.threads, self.network.connections, self.clock
        if threads.is_empty() and connections.is_empty() and not clock.is_held():
            return []
        reasons = [*threads.busy_reasons(), *connections.busy_reasons(), *clock.busy_reasons()]
        if not reasons and not self._waiters and connections.external and not self._round_is_due():
            # time never moves by itself under the eyes of somebody who lives in real time
            reasons.append("the test waits, and while an external client is connected only advance() moves time")
        return reasons

    def _patiently(self, reasons: list[str], left: float) -> float:
        """How long to wait for the real world; fails when the patience is used up."""
        if left <= 0 and not self.clock.is_held_endlessly():
            self._fail(
                NotQuiescent(f"busy for {self._patience:g} s: {'; '.join(reasons)}\n{self.why()}\n{dump()}"),
            )
            return 0
        return min(_GLANCE, max(left, 0.01))

    def _lingering(self) -> float:
        """How long external clients still have to be watched before it counts as quiet, in real seconds."""
        if not self.network.connections.external:
            return 0
        return self._external_moved + self._linger - real_monotonic()

    def _note_external(self) -> None:
        self._external_moved = real_monotonic()

    def _is_due(self) -> bool:
        timer = self.next_timer()
        return timer is not None and timer <= self.clock.us

    def _act(self) -> None:
        """The bubble is quiescent: do what follows from that."""
        if self.gate.in_round:
            self.gate.next_one()
            if self._ready or self.threads.ready:
                return
        if self.gate.end_round():
            self._round_done = False
            return  # to those who were kept waiting by the round
        goal = min(self._waiters, key=_goal_of)[0] if self._waiters else None
        step = next_step(self.clock.us, timer=self.next_timer(), goal=goal, round_due=self._round_is_due())
        match step:
            case OpenGate():
                self._round_done = True
                self.gate.begin_round(one_by_one=not self.network.connections.external)
                if not self._ready and not self.threads.ready:
                    self._act()  # nobody came through: it is as quiet as before
            case Wake():
                self._wake()
            case Jump(us):
                self._jump(us, blocked=goal is None)
            case Deadlocked():
                raise Deadlock(f"the test waits for something that cannot happen: no timer is set\n{self.why()}")

    def _round_is_due(self) -> bool:
        return not self._round_done and not self.gate.is_open()

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
        tasks = (task for task in asyncio.all_tasks(self) if not (task.done() or _is_own(task)))
        yield from _listed("waiting", sorted(describe.task(task) for task in tasks))
        yield from _listed("thread", map(repr, self.threads.active()))
        yield from _listed("connection", map(repr, self.network.connections))
        yield from _listed("held", self.clock.holds)
        yield from _listed("next", (f"{timer.after} {timer.callback}" for timer in self.clock.next_timers(5)))

    def holds_changed(self) -> None:
        if not self.is_closed():
            self._write_to_self()  # type: ignore[attr-defined]

    def close(self) -> None:
        if not self.is_closed():
            try:
                self.threads.close()
            finally:
                super().close()
                self._tasks.clear()
                self._idle_selector.detach()


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    for item in items:
        yield f"{title}: {item}"


def _goal_of(waiter: tuple[int, asyncio.Future[None]]) -> int:
    return waiter[0]


def _shown(timeout: Duration) -> str:
    return f"{timeout:g} s" if isinstance(timeout, int | float) else str(timeout)


def _is_own(task: asyncio.Task[Any]) -> bool:
    """Whether a task is the loop's own way to move time, which nobody waits for but the test."""
    return getattr(task.get_coro(), "__qualname__", "").startswith("VirtualTimeLoop.")
