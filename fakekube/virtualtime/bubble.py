"""A bubble: the code of one test that runs under one virtual clock (compare Go's `testing/synctest`)."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import ExitStack
from contextvars import Context
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack
from weakref import WeakMethod

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.clock import EPOCH, VirtualClock
from fakekube.virtualtime.compatibility.requirements import check_python
from fakekube.virtualtime.durations import Duration, TimeUnits, microseconds
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.hotloop import MAX_TURNS
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.network.network import TransportKind
from fakekube.virtualtime.patches.commands.childprocesses import Children
from fakekube.virtualtime.patches.wallclocks.freezer import Freezer
from fakekube.virtualtime.patches.wallclocks.travel import TimeMachine
from fakekube.virtualtime.patching import patched
from fakekube.virtualtime.processes import Processes, ProcessOptions
from fakekube.virtualtime.quiescence import HORIZON, LINGER, PATIENCE
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.shutdown import shutdown
from fakekube.virtualtime.threads.bubblethread import BubbleThread
from fakekube.virtualtime.threads.callers import Place
from fakekube.virtualtime.trace import Note
from fakekube.virtualtime.wallclock import RealWallClock, WallClock
from fakekube.virtualtime.watchdog import Watchdog

T = TypeVar("T")


class Done:
    """An awaitable that is complete: what sync code gets where a coroutine must await."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class Bubble:
    """Owns clock, loop, gate, threads, patches and wall clock of one test. A context manager; one at a time is open.

    `settle`, `advance`, `advance_to` and `advance_until` work in sync and async tests: called from sync code they run
    the loop until they are done; called from a coroutine on the loop they must be awaited.

    stepped: the gate is closed except for rounds, held when the bubble is quiescent. None: not in `run`.
    wall_clock: whether `datetime` and `time` of the code under test read the virtual clock; the library that makes
    them (True: freezegun); or a WallClock.
    transport: "memory" connects clients on the loop by a pipe, "tcp" by a real connection.
    patience, linger: real seconds. horizon: virtual time.
    """

    def __init__(
        self,
        *,
        seed: int | Seed = 0,
        epoch: datetime = EPOCH,
        stepped: bool | None = None,
        wall_clock: bool | Literal["freezegun", "time-machine"] | WallClock = True,
        transport: TransportKind = "memory",
        patience: float = PATIENCE,
        linger: float = LINGER,
        horizon: timedelta = HORIZON,
        max_turns: int = MAX_TURNS,
    ) -> None:
        check_python()
        self.seed: Seed = seed if isinstance(seed, Seed) else Seed(seed)
        self.clock: VirtualClock = VirtualClock(epoch)
        self.gate: Gate = Gate(is_open=stepped is False)
        self.loop: VirtualTimeLoop = VirtualTimeLoop(
            self.clock,
            gate=self.gate,
            transport=transport,
            patience=patience,
            linger=linger,
            horizon=horizon,
            max_turns=max_turns,
        )
        self.trace: list[Note] = []
        #: errors of code under test that it may have caught, and that the test has to raise
        self.failures: list[BaseException] = []
        self._stepped = stepped
        self._wall = _wall_clock(wall_clock)
        self._blocking = Blocking(self.loop)
        self._children = Children(patience)
        self.loop.awaited = self._children.awaited
        self._processes = Processes(self.loop, self._blocking, self._children)
        self._watchdog = Watchdog(self.loop, patience)
        self._was_external = False
        self._leave = ExitStack()
        #: what it was opened for (a test, a module), and what closes it with its cluster, if another has to
        self.opened_by: object = None
        self.closer: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Install the patches.

        RuntimeError if it was opened before, if another is open, or if another library has patched the same.
        """
        if self in _open or self.loop.is_closed():
            raise RuntimeError(f"{self!r} was opened before: make a new bubble")
        with ExitStack() as undo:
            undo.callback(self.loop.close)
            if _open:
                raise RuntimeError("a cluster is open in this process already: close it before you open another one")
            _refuse_running_loop()
            _open.append(self)
            undo.callback(_open.remove, self)
            undo.enter_context(patched(self.loop, self._blocking, self.seed, self._children, self._note_failure))
            self.loop.watch = self._watchdog.start
            undo.callback(self._watchdog.stop)
            self._wall.start(self.clock.now())
            undo.callback(self._wall.stop)
            undo.callback(self.clock.on_move(self._moved))
            self.loop.network.connections.external_moved.add(self._note_external)
            undo.callback(shutdown, self.loop)
            undo.callback(self.end_processes)
            self._leave = undo.pop_all()

    def close(self) -> None:
        """End the remaining threads, tasks and connections, and restore what was patched.

        Raises NotQuiescent or Deadlock for a thread or task that does not end, after everything else is undone.
        """
        try:
            self._leave.close()
        finally:
            self.opened_by = self.closer = None
            self.loop.close()  # also if the bubble was never opened

    def abandon(self) -> None:
        """Close it in place of the code that opened it."""
        (self.closer or self.close)()

    # --- time

    def settle(self) -> Awaitable[None]:
        """Run until the bubble is quiescent; time does not move. Raises NotQuiescent, HotLoop."""
        return self._do(self.loop.settle)

    def advance(self, duration: Duration = 0, **units: Unpack[TimeUnits]) -> Awaitable[None]:
        """Move time by seconds, a timedelta, "1h30m" or hours=, minutes=, ...; stops and settles at each timer."""
        return self._do(partial(self.loop.advance, duration, **units))

    def advance_to(self, moment: datetime) -> Awaitable[None]:
        """Move time to exactly `moment`. ValueError if it is naive or has passed."""
        return self._do(partial(self.loop.advance_to, moment))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """Move time from timer to timer until `predicate()` is true. Raises TimeoutError after `timeout`.

        In a sync test the predicate may use a blocking client. In a coroutine it may be a coroutine function.
        """
        if self.loop.is_running():
            return self.loop.advance_until(predicate, timeout)
        limit = self.clock.us + microseconds(timeout)
        self.settle()
        while not predicate():
            self._do(partial(self.loop.step, limit, timeout))
        return Done()

    def run(self, main: Coroutine[Any, Any, T], context: Context | None = None) -> T:
        """Run an async test on the loop; time moves while it waits. Raises what `main` raises, or Deadlock."""
        self._refuse_threads()
        self.loop.watch()
        if self._stepped is not None or self.gate.is_open():
            return self.loop.run_test(main, context)
        self.gate.open()
        try:
            return self.loop.run_test(main, context)
        finally:
            self.gate.close()

    def why(self) -> str:
        """What is runnable, what waits and where, what is in flight and what holds time: one fact a line."""
        return self.loop.why()

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> Awaitable[None]:
        self._refuse_threads()
        if self.loop.is_running():
            return work()
        self.loop.drive(work())
        return Done()

    def _refuse_threads(self) -> None:
        if not self._blocking.is_test():
            raise RuntimeError("only the test itself may settle or move time: its thread runs the loop")

    # --- threads and processes

    def thread(
        self,
        function: Callable[..., object],
        *args: object,
        name: str | None = None,
        kwargs: Mapping[str, object] | None = None,
    ) -> BubbleThread:
        """Run `function(*args, **kwargs)` in a thread of the bubble; one thread, or the loop, runs at a time."""
        thread = self.loop.threads.start(partial(function, *args, **(kwargs or {})), name)
        thread.joins = WeakMethod(self.join)
        return thread

    def signal(self, thread: BubbleThread, number: int) -> None:
        """Send a signal to a thread that `thread` has started: its handler runs there, where the thread waits.

        Without a handler it ends the thread, as it would end a process.
        """
        self.loop.threads.signal(thread, number)

    def join(self, thread: BubbleThread, timeout: float | None = None) -> Awaitable[None]:
        """Wait until a thread of the bubble ends. Raises TimeoutError after `timeout` virtual seconds.

        An exception of the thread has been passed to `threading.excepthook`, and is the thread's `error`.
        """
        if self._blocking.on_own_loop():
            return self._end_of(thread, timeout)
        where = f"waiting for the end of {thread.name}"
        if not self._blocking.wait(where, lambda: not thread.is_alive(), thread.ended, timeout=timeout):
            raise TimeoutError(f"thread {thread.name} has not ended after {timeout:g} s of virtual time")
        return Done()

    async def _end_of(self, thread: BubbleThread, timeout: float | None) -> None:
        ended = asyncio.Event()
        thread.ended.add(ended.set)
        try:
            if thread.is_alive():
                await asyncio.wait_for(ended.wait(), timeout)
        finally:
            thread.ended.discard(ended.set)

    def end_processes(self) -> None:
        """Kill the processes that code of the bubble has started (`subprocess`, `asyncio`, `run_process`) and that run.

        A wait for one raises BubbleClosed in a thread. If a hot loop was found, the simulated processes are killed,
        too: it would go on in those that have time to clean up. Called when a test ends, before anything else does.
        """
        self._children.kill_all()
        if self.loop.was_hot:
            tasks = self.loop.tasks
            for process in dict.fromkeys(tasks.process(task) for task in tasks.under_test()):
                if process is not None:
                    self.loop.processes.kill(process)

    def run_process(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Any:
        """Run a command to completion, as subprocess.run with text captured. The server answers it; time is held.

        Returns a CompletedProcess, which in a coroutine on the loop must be awaited.
        """
        if self._blocking.on_own_loop():
            return self._processes.run_in_coroutine(argv, **options)
        return self._processes.run(argv, **options)

    # --- external clients and the trace

    @property
    def external(self) -> bool:
        """Whether a client is connected that does not belong to the bubble: time moves by `advance` only.

        Clients of `run_process` do not count: time is held until the command ends.
        """
        return self.loop.network.connections.external > 0 and not self.clock.is_held_endlessly()

    def _note_failure(self, error: BaseException) -> None:
        self.failures.append(error)

    def _note_external(self) -> None:
        if self.external != self._was_external:
            self._was_external = self.external
            self.note(
                "an external client is connected: order and counts are no longer deterministic, time moves only by "
                "advance"
                if self.external
                else "no external client is connected any more"
            )

    @property
    def blocking_calls(self) -> Mapping[Place, int]:
        """The places in coroutines on the loop that made blocking calls to the server, and how many each.

        They are answered in place. On a real machine nothing else on the loop runs meanwhile.
        """
        return self._blocking.calls

    def note(self, text: str) -> None:
        """Add a note to the trace, at the present moment."""
        self.trace.append(Note(self.clock.now(), text))

    def on_blocking_call(self, answered: Callable[[Place], None], waiting: Callable[[str, Place], None]) -> None:
        """Call these with each blocking call on the event loop.

        answered: one to the server, answered in place. waiting: one that waits for something else, or is refused.
        """
        self._blocking.on_answered, self._blocking.on_waiting = answered, waiting

    def on_thread(self, started: Callable[[threading.Thread], None]) -> None:
        """Call `started` with each thread that code of the bubble is about to start."""
        self._blocking.on_thread = started

    def _moved(self) -> None:
        self._wall.move(self.clock.now())

    def __repr__(self) -> str:
        return f"<Bubble {self.clock!r} tasks={len(self.loop.tasks.under_test())} seed={self.seed.value}>"


def opened() -> list[Bubble]:
    """The open bubbles of this process: at most one."""
    return list(_open)


#: The open bubble. Process-wide, because patches and the wall clock affect the process: one bubble is open at a time.
_open: list[Bubble] = []


def _refuse_running_loop() -> None:
    if (running := asyncio._get_running_loop()) is not None:
        raise RuntimeError(
            "a cluster cannot be opened while an event loop runs "
            f"({type(running).__module__}.{type(running).__name__}): it has an event loop of its own, whose time is "
            "virtual. Write the test as `async def` with the fixture `fakekube`, which runs it on the cluster's loop, "
            "or open the cluster in sync code and run coroutines with "
            "`with FakeKube() as fakekube: fakekube.run(main())`"
        )


def _wall_clock(choice: bool | str | WallClock) -> WallClock:
    if isinstance(choice, str):
        return _BY_NAME[choice]()
    if isinstance(choice, bool):
        return Freezer() if choice else RealWallClock()
    return choice


#: The libraries that can freeze the wall clock.
_BY_NAME: dict[str, type[Freezer | TimeMachine]] = {"freezegun": Freezer, "time-machine": TimeMachine}
