"""Stops and resumes simulated processes (SIGSTOP, SIGCONT), and kills them (SIGKILL)."""

import asyncio
import heapq
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, Protocol, cast

from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.simulatedprocess import ProcessState, SimulatedProcess, process_of
from fakekube.virtualtime.socketaddresses import Route
from fakekube.virtualtime.taskregistry import MAX_CANCELS, TaskRegistry
from fakekube.virtualtime.threads.scheduler import ThreadScheduler

#: How many turns the threads of a killed process have to end.
MAX_THREAD_TURNS = 50


class FreezableLoop(Protocol):
    """The part of an event loop in which handles wait."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    threads: ThreadScheduler
    tasks: TaskRegistry

    def divert(self, active: bool) -> None: ...
    def abort_from(self, routes: Sequence[Route]) -> None: ...
    def create_own_task(self, coro: Any, name: str | None = None) -> asyncio.Task[Any]: ...


def _skipped(loop: FreezableLoop) -> asyncio.Handle:
    """A handle that the loop does not run."""
    handle = asyncio.Handle(_nothing, (), cast("asyncio.AbstractEventLoop", loop))
    handle.cancel()
    return handle


def _nothing() -> None:
    """What a handle calls that is not run."""


class ProcessControl:
    """Takes the handles and timers of stopped processes out of a loop, and puts them back.

    While a process is stopped, new handles in its contexts (the wake-ups of its tasks) wait here.
    """

    def __init__(self, loop: FreezableLoop) -> None:
        self._loop = loop
        #: how many killed processes have tasks that are being cancelled
        self.ending: int = 0
        #: whether a process was killed that had connections, whose clients it can no longer close
        self.left_clients: bool = False
        self._frozen: dict[SimulatedProcess, tuple[list[asyncio.Handle], list[asyncio.TimerHandle]]] = {}

    def holds(self, handle: asyncio.Handle) -> bool:
        """Whether a handle belongs to a stopped process; it waits here then."""
        process = process_of(_context(handle))
        if process is None or process not in self._frozen:
            return False
        self._frozen[process][0].append(handle)
        return True

    def is_empty(self) -> bool:
        return not self._frozen

    def stopped(self) -> Sequence[SimulatedProcess]:
        """The processes none of whose code runs."""
        return tuple(self._frozen)

    def freeze(self, process: SimulatedProcess) -> None:
        """Stop a process: none of its code runs."""
        loop = self._loop
        loop.divert(True)
        ready, timers = self._frozen.setdefault(process, ([], []))
        for number, handle in enumerate(loop._ready):
            if process_of(_context(handle)) is process:
                loop._ready[number] = _skipped(loop)  # a turn of the loop has counted the handles
                ready.append(handle)
        kept = []
        for timer in loop._scheduled:
            if process_of(_context(timer)) is process:
                timer._scheduled = False  # type: ignore[attr-defined]
                timers.append(timer)
            else:
                kept.append(timer)
        loop._scheduled[:] = kept
        heapq.heapify(loop._scheduled)
        loop.threads.freeze(process)

    def thaw(self, process: SimulatedProcess) -> None:
        """Let a process run again; timers that were due meanwhile fire at once, in their order."""
        ready, timers = self._frozen.pop(process, ([], []))
        self._loop._ready.extend(handle for handle in ready if not handle.cancelled())
        for timer in timers:
            if not timer.cancelled():
                heapq.heappush(self._loop._scheduled, timer)
                timer._scheduled = True  # type: ignore[attr-defined]
        self._loop.threads.thaw(process)
        if not self._frozen:
            self._loop.divert(False)

    def stop(self, process: SimulatedProcess) -> None:
        """Stop a process that runs (SIGSTOP). ValueError if it does not run."""
        if not process.runs:
            raise ValueError(f"{process.name} is {process.state.value}: only a process that runs can be stopped")
        process.become(ProcessState.STOPPED)
        self.freeze(process)

    def resume(self, process: SimulatedProcess) -> None:
        """Let a stopped process run again (SIGCONT). ValueError if it is not stopped."""
        if process.state is not ProcessState.STOPPED:
            raise ValueError(f"{process.name} is {process.state.value}: only a stopped process can be resumed")
        process.become(ProcessState.RUNNING)
        self.thaw(process)

    def thaw_all(self) -> None:
        """Let all processes run, so that the bubble can end them."""
        for process in tuple(self._frozen):
            self.thaw(process)

    # --- killing

    def kill(self, process: SimulatedProcess) -> asyncio.Task[None] | None:
        """Kill a process: its connections break, then its tasks and threads end. Returns a task that ends them.

        What does not end after MAX_CANCELS cancellations is left stopped.
        """
        if process.fenced:
            return None
        if process.routes or process.ends:
            self.left_clients = True
            ignore_unclosed()
        was_stopped = process.state is ProcessState.STOPPED
        process.become(ProcessState.KILLED)
        _cut(process)
        self._loop.abort_from(tuple(process.routes))
        callbacks, process.on_kill = process.on_kill, []
        for callback in callbacks:
            callback()
        if was_stopped:
            self.thaw(process)
        self._cancel_tasks(process)
        self._cancel_timers(process)
        return self._loop.create_own_task(self._reap(process), f"end of {process.name}")

    async def _reap(self, process: SimulatedProcess) -> None:
        self.ending += 1
        with warnings.catch_warnings():
            # a coroutine that a dying task has created and cannot start any more is no defect of the operator
            warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
            for _ in range(MAX_CANCELS):
                self._loop.threads.end_threads(process)
                await asyncio.sleep(0)
                if not self._cancel_tasks(process):
                    break
            for _ in range(MAX_THREAD_TURNS):
                if not self._loop.threads.of(process):
                    break
                self._loop.threads.end_threads(process)
                await asyncio.sleep(0)
            self._loop.threads.collect()
        self.ending -= 1
        self._cancel_timers(process)
        if self._loop.tasks.of(process):
            self.freeze(process)

    def _cancel_tasks(self, process: SimulatedProcess) -> bool:
        """Returns whether the process has tasks."""
        tasks = self._loop.tasks.of(process)
        for task in tasks:
            task.cancel()
        return bool(tasks)

    def _cancel_timers(self, process: SimulatedProcess) -> None:
        for timer in tuple(self._loop._scheduled):
            if process_of(_context(timer)) is process:
                timer.cancel()


class ProcessGate:
    """The gate of a bubble for the work queues of one process: it is closed while the process does not run."""

    def __init__(self, gate: Gate, process: SimulatedProcess) -> None:
        self._gate, self._process = gate, process

    def is_open(self) -> bool:
        return self._gate.is_open() and self._process.runs

    def add_listener(self, callback: Callable[[], object]) -> Callable[[], None]:
        """As `Gate.add_listener`; `callback` is not called while the process does not run."""
        return self._gate.add_listener(lambda: callback() if self._process.runs else None)

    def taken(self) -> None:
        self._gate.taken()


def _cut(process: SimulatedProcess) -> None:
    """Close the connections and servers of a killed process, as the kernel does."""
    for end in process.ends:
        end.abort()
    process.ends.clear()
    for server in process.servers:
        server.close()
    process.servers.clear()


def _context(handle: asyncio.Handle) -> Context | None:
    context: Context | None = handle._context  # type: ignore[attr-defined]
    return context


def ignore_unclosed() -> None:
    """Do not warn of the clients of killed processes, which cannot be closed any more, when they are freed."""
    warnings.filterwarnings("ignore", "Unclosed (client session|connector|connection)", ResourceWarning)
