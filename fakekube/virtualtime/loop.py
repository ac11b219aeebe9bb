"""An event loop under virtual time: it never blocks; when nothing is left to run, time jumps to the next timer."""

import asyncio
import functools
import heapq
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import Context
from datetime import datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack, cast

from fakekube.virtualtime import describe
from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import Duration, TimeUnits, microseconds
from fakekube.virtualtime.errors import HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.hotloop import MAX_TURNS
from fakekube.virtualtime.idleselector import IdleSelector
from fakekube.virtualtime.network.network import TransportKind, allowed
from fakekube.virtualtime.network.transports import NetworkLoop
from fakekube.virtualtime.processcontrol import ProcessControl, ignore_unclosed
from fakekube.virtualtime.quiescence import HORIZON, LINGER, PATIENCE, Quiescence
from fakekube.virtualtime.simulatedprocess import HARNESS, SimulatedProcess, context_of, process_of
from fakekube.virtualtime.socketaddresses import Route, route
from fakekube.virtualtime.taskregistry import TaskRegistry
from fakekube.virtualtime.threads.executors import Pools
from fakekube.virtualtime.threads.scheduler import ThreadScheduler
from fakekube.virtualtime.timers import GridTimer, Order, grid, grid_later

T = TypeVar("T")
Args = TypeVarTuple("Args")


class VirtualTimeLoop(NetworkLoop):
    """The event loop of a bubble; nothing else moves the bubble's clock.

    Works without a bubble, too, as the loop factory of pytest-asyncio, anyio or asyncio.Runner.
    """

    # private attributes of asyncio's loops that this class uses (tests/test_canaries.py checks each)
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int
    _clock_resolution: float
    _stopping: bool
    _default_executor: Executor | None
    _call_soon: Callable[..., asyncio.Handle]
    _signal_handlers: dict[int, asyncio.Handle]
    _closed = True  # until __init__ succeeds: BaseEventLoop.__del__ warns about a loop that is not closed

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
        self.clock: VirtualClock = clock or VirtualClock()
        self.clock.attach(self)
        self.gate: Gate = gate or Gate()
        selector = IdleSelector()
        super().__init__(selector, transport)
        # less than half a microsecond: `when < time() + resolution` is then exact on the grid despite float rounding
        self._clock_resolution = 4e-7
        self._order = Order()
        #: the unfinished tasks, and the process of each
        self.tasks: TaskRegistry = TaskRegistry(self)
        #: replaces callbacks of timers that would end the process
        self.disarm: Callable[[Callable[..., object]], Callable[..., object]] = _unchanged
        #: called before the first code under test runs on the loop: starts the watchdog, which an idle cluster spares
        self.watch: Callable[[], None] = _nothing
        #: the child processes for which code of the bubble waits, as `why` names them
        self.awaited: Callable[[], Sequence[str]] = tuple
        #: called with each new task, where it is created
        self.on_task: Callable[[asyncio.Task[Any]], None] | None = None
        self.on_task_failure: Callable[[asyncio.Task[Any]], None] | None = None
        #: exceptions that are raised from the loop when they end a task, for example the outcome of a test
        self.fatal_errors: tuple[type[BaseException], ...] = ()
        #: what the loop raises when the present callback returns, and what it has raised last
        self._fatal: BaseException | None = None
        self._raised: BaseException | None = None
        self.threads: ThreadScheduler = ThreadScheduler(self, self.holds_changed, patience)
        self.processes: ProcessControl = ProcessControl(self)
        self._pools = Pools(self.threads.submit)
        self._quiescence = Quiescence(
            self, self.clock, self.gate, self.threads, self.network.connections,
            patience=patience, linger=linger, horizon=horizon, max_turns=max_turns,
        )  # fmt: skip
        self._idle_selector = selector
        selector.attach(self._quiescence.turn, self._quiescence.idle)

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
        callback = self.disarm(callback)
        timer = GridTimer(us, when, next(self._order), self.clock, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def upcoming(self) -> Sequence[tuple[int, str]]:
        """The pending timers, soonest first: when each fires (microseconds) and what it calls."""
        timers = sorted(timer for timer in self._scheduled if isinstance(timer, GridTimer) and not timer.cancelled())
        return [(timer.us, describe.callback(timer)) for timer in timers]

    def is_at_rest(self) -> bool:
        """Whether nothing runs, and neither a callback nor a thread is ready to."""
        return not (self.has_work() or self.is_running())

    def has_work(self) -> bool:
        """Whether a callback or a thread is ready to run."""
        return bool(self._ready or self.threads.ready)

    def next_timer(self) -> int | None:
        """When the next timer fires, in microseconds; drops cancelled timers that come before it."""
        while self._scheduled and self._scheduled[0]._cancelled:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            self._timer_cancelled_count -= 1
        return self._scheduled[0].us if self._scheduled else None  # type: ignore[attr-defined]

    # --- tasks

    def create_task(self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:
        """As asyncio's, but the loop holds the task until it is done, and records its process."""
        task = super().create_task(coro, **options)
        if not task.done():
            self.tasks.add(task, process_of(options.get("context")))
            task.add_done_callback(self._task_done)
            if self.on_task is not None:
                self.on_task(task)
        return task

    def create_own_task(self, coro: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        """A task of the harness, as are the tasks that it creates: code under test can neither list nor cancel them."""
        return self.create_task(coro, name=name, context=context_of(HARNESS))

    def start_process(self, coro: Coroutine[Any, Any, T], process: SimulatedProcess, name: str = "") -> asyncio.Task[T]:
        """A task that is a process of its own, with the tasks that it creates. `name`: that of the task."""
        self.watch()
        process.ended = False
        task = self.create_task(coro, name=name or process.name, context=context_of(process))
        task.add_done_callback(lambda _: setattr(process, "ended", True))
        return task

    def _task_done(self, task: asyncio.Future[Any]) -> None:
        process = self.tasks.discard(task)
        if task.cancelled():
            # drop the exception that the task keeps: since CPython 3.13, its frames refer to those that run the loop,
            # and thereby to the test
            task._make_cancelled_error()  # type: ignore[attr-defined]
        error: BaseException | None = getattr(task, "_exception", None)  # `exception()` would mark it as retrieved
        if error is not None and isinstance(error, self.fatal_errors):
            self.fail_with(error)
            task.exception()  # retrieved: the loop raises it
        elif isinstance(error, KeyboardInterrupt | SystemExit):  # asyncio has raised it from the loop
            task.exception()
        elif error is not None and self.on_task_failure is not None and isinstance(task, asyncio.Task):
            self.on_task_failure(task)
        if process is not None and process.fenced and not task.cancelled():
            task.exception()  # retrieved: a killed process reports no exceptions

    @property
    def was_hot(self) -> bool:
        """Whether a hot loop was found."""
        return self._quiescence.guard.found

    def fail_with(self, error: BaseException) -> None:
        """Raise `error` where the test waits for quiescence, else from the loop after the present callback."""
        if isinstance(error, HotLoop):
            self._quiescence.guard.known()
        if isinstance(error, NotQuiescent) and self._quiescence.fail_waiters(error):
            return
        if error is not self._raised and self._fatal is None:
            self._fatal = error
            self.stop()

    # --- simulated processes

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """As of `asyncio`, but for clients of killed processes, which can no longer be closed, when they are freed."""
        if not (self.processes.left_clients and str(context.get("message", "")).startswith("Unclosed ")):
            super().call_exception_handler(context)

    def divert(self, active: bool) -> None:
        """Called by `processes`: whether new callbacks may belong to a stopped process."""
        if active:
            self._call_soon = self._call_soon_unless_stopped
        else:
            self.__dict__.pop("_call_soon", None)

    def _call_soon_unless_stopped(
        self, callback: Callable[..., object], args: Sequence[Any], context: Context | None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if not self.processes.holds(handle):
            self._ready.append(handle)
        return handle

    def abort_from(self, routes: Sequence[Route]) -> None:
        """Called by `processes`: break these connections, which servers of the loop have accepted."""
        transports: Mapping[int, Any] = self._transports  # type: ignore[attr-defined]
        for transport in tuple(transports.values()):
            if route(transport.get_extra_info("peername"), transport.get_extra_info("sockname")) in routes:
                transport.abort()

    # --- moving time

    def at_rest(self, callback: Callable[[bool], bool] | None) -> None:
        """Call `callback` before time moves (True) or the test is woken (False); if it returns true, something goes on
        first."""
        self._quiescence.at_rest = callback

    async def settle(self) -> None:
        """Wait until the bubble is quiescent; time does not move."""
        await self._quiescence.reach(self.clock.us)

    async def advance(self, duration: Duration = 0, **units: Unpack[TimeUnits]) -> None:
        """Move time by `duration`; stop and settle at each timer on the way, and at the end."""
        await self._quiescence.reach(self.clock.us + microseconds(duration, **units))

    async def advance_to(self, moment: datetime) -> None:
        """Move time to exactly `moment`, as `advance` does. ValueError if it is naive or has passed."""
        if moment.tzinfo is None:
            raise ValueError(f"moment={moment!r} is naive: pass an aware datetime, with a time zone")
        now = self.clock.now()
        if moment < now:
            raise ValueError(f"moment={moment.isoformat()} has passed: the clock reads {now.isoformat()}")
        await self._quiescence.reach(self.clock.us + microseconds(moment - now))

    async def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> None:
        """Move time from timer to timer until `predicate()` is true. Raises TimeoutError after `timeout`."""
        limit = self.clock.us + microseconds(timeout)
        while True:
            await self.settle()
            answer = predicate()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await self.step(limit, timeout)

    async def step(self, limit: int, timeout: Duration) -> None:
        """Move to the next timer, at most to `limit` (microseconds). Raises TimeoutError if the clock is there."""
        await self._quiescence.step(limit, timeout)

    # --- threads

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Args], T], *args: *Args) -> asyncio.Future[T]:
        """Run `func` in a thread of the bubble. Executors other than thread pools run it themselves, with time held."""
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
        # asyncio's debug mode; while a thread of the bubble runs, the loop does not
        if self.threads.current() is None:
            super()._check_thread()  # type: ignore[misc]

    def call_soon_threadsafe(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        if self.threads.current() is None:
            return super().call_soon_threadsafe(callback, *args, context=context)
        # a thread of the bubble: the loop is suspended, and looks at `_ready` before anything else
        self._check_closed()  # type: ignore[attr-defined]
        handle = asyncio.Handle(callback, args, self, context)
        if self.processes.is_empty() or not self.processes.holds(handle):
            self._ready.append(handle)
        return handle

    # --- signals of the operating system

    def add_signal_handler(self, sig: int, callback: Callable[[*Args], object], *args: *Args) -> None:
        super().add_signal_handler(sig, callback, *args)
        self._idle_selector.awaits_signals = True

    def remove_signal_handler(self, sig: int) -> bool:
        removed = super().remove_signal_handler(sig)
        self._idle_selector.awaits_signals = bool(self._signal_handlers)
        return removed

    # --- running from sync code

    def run_forever(self) -> None:
        self._quiescence.test_moved()
        try:
            super().run_forever()
        finally:
            self.gate.end_round()
        if self._fatal is not None:
            error, self._fatal = self._fatal, None
            self._raised = error
            raise error

    def run_until_complete(self, future: Any) -> Any:
        """As asyncio's, but a KeyboardInterrupt or SystemExit leaves the loop once, not again in each awaiting task."""
        task = asyncio.ensure_future(future, loop=self)
        while True:
            try:
                return super().run_until_complete(task)
            except (KeyboardInterrupt, SystemExit) as error:
                if error is self._raised and not task.done():
                    continue
                self._raised = error
                raise

    def run_on(self) -> None:
        """Run until something calls `stop`; raises an interruption once, as `run_until_complete` does."""
        try:
            self.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            if error is not self._raised:
                self._raised = error
                raise

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to completion from sync code; cancel it if that fails."""
        task = self.create_task(work)
        self.tasks.own(task)
        try:
            return cast("T", self.run_until_complete(task))
        except BaseException:
            task.cancel()
            raise

    def run_test(self, main: Coroutine[Any, Any, T], context: Context | None = None) -> T:
        """Run `main` as the test. If the loop itself raises (a Deadlock), `main` is cancelled and awaited first."""
        task = self.create_task(main, name="test", context=context)
        self.tasks.own(task)
        guard = self._quiescence.guard
        before, guard.test = guard.test, task
        try:
            return cast("T", self.run_until_complete(task))
        except BaseException:
            if not task.done():
                task.cancel()
                with suppress(BaseException):
                    self.run_until_complete(task)
            raise
        finally:
            guard.test = before

    def runs_test(self) -> bool:
        """Whether the loop runs an async test."""
        return self._quiescence.guard.test is not None

    # --- diagnosis

    def beat(self) -> int:
        """A number that changes with each turn; odd while callbacks run."""
        return self._idle_selector.beat if self.is_running() else 0

    def running(self) -> str:
        """What runs at present, for error messages."""
        return describe.running(asyncio.current_task(self))

    def runs_cancelled(self) -> bool:
        """Whether a task runs at present that was cancelled before."""
        return (task := asyncio.current_task(self)) is not None and task.cancelling() > 0

    def why(self) -> str:
        """What is runnable, what waits and where, what is in flight and what holds time: one fact a line."""
        return "\n".join(self._facts())

    def _facts(self) -> Iterator[str]:
        yield f"virtual time: {self.clock.now().isoformat()}"
        yield from _listed("runnable", (describe.callback(handle) for handle in self._ready))
        tasks = (
            task for task in self.tasks if isinstance(task, asyncio.Task) and not (task.done() or _moves_time(task))
        )
        yield from _listed("waiting", sorted(describe.task(task) for task in tasks))
        yield from _listed("process", map(repr, self.processes.stopped()))
        yield from _listed("thread", map(repr, self.threads.active()))
        yield from _listed("connection", map(repr, self.network.connections))
        yield from _listed("held", self.clock.holds)
        yield from _listed("next", (f"{timer.after} {timer.callback}" for timer in self.clock.next_timers(5)))

    def holds_changed(self) -> None:
        """Wake the loop: a hold on time was released."""
        if not self.is_closed():
            self._write_to_self()  # type: ignore[attr-defined]

    def close(self) -> None:
        if not self.is_closed():
            try:
                self.threads.close()
            finally:
                super().close()
                self.tasks.clear()
                self.watch, self.disarm, self.on_task, self.on_task_failure = _nothing, _unchanged, None, None
                self.network.outside = allowed
                self._fatal, self._raised = None, None
                self._idle_selector.detach()
                if self.processes.left_clients:
                    ignore_unclosed()  # the filters may be those of another phase of the test by now


def _nothing() -> None:
    return None


def _unchanged(callback: Callable[..., object]) -> Callable[..., object]:
    return callback


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    for item in items:
        yield f"{title}: {item}"


def _moves_time(task: asyncio.Task[Any]) -> bool:
    """Whether a task runs `settle` or `advance` for a sync test, and is therefore not worth reporting."""
    return getattr(task.get_coro(), "__qualname__", "").startswith("VirtualTimeLoop.")
