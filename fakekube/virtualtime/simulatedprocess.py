"""Simulated processes: the code of one bubble that would run in processes of its own in a cluster.

The tasks, threads, timers and connections of an operator are one process, which can be stopped and killed. Those of the
harness (the server, and what moves time) are another. A context variable says to which process code belongs; tasks,
callbacks and threads inherit it.
"""

import asyncio
import enum
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Protocol

from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.socketaddresses import Route


class ProcessState(enum.Enum):
    RUNNING = "running"
    STOPPED = "stopped"
    KILLED = "killed"


class Closing(Protocol):
    """An end of a connection."""

    def abort(self) -> None: ...
    def is_closing(self) -> bool: ...


class SimulatedProcess:
    """One incarnation of an operator, or a task or thread that was started beside a test.

    `fenced_requests` has what it tried after it was killed: requests and connections, which had no effect.
    """

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.state: ProcessState = ProcessState.RUNNING
        self.runs: bool = True
        self.fenced: bool = False
        """Whether it has been killed: its requests have no effect."""
        self.ended: bool = False
        """Whether the task that it was started with has ended."""
        self.routes: dict[Route, None] = {}
        """Its connections to servers of the loop: its addresses, and the ports of the servers."""
        self.ends: list[Closing] = []
        """The ends of its connections through pipes."""
        self.servers: list[asyncio.Server] = []
        """The servers that it has started on the loop."""
        self.fenced_requests: list[str] = []
        self.on_kill: list[Callable[[], None]] = []
        """Called when it is killed, before its tasks end."""

    def become(self, state: ProcessState) -> None:
        """Called by `processcontrol`: change the state. The two flags are read with every request."""
        self.state = state
        self.runs, self.fenced = state is ProcessState.RUNNING, state is ProcessState.KILLED

    def refuse(self, what: str) -> BaseException:
        """Record a request that has no effect. Returns the exception that ends the code which makes it."""
        self.fenced_requests.append(what)
        return asyncio.CancelledError(f"{self.name} was killed: {what}")

    def refuse_in_thread(self, what: str) -> BaseException:
        """As `refuse`, for a thread."""
        self.fenced_requests.append(what)
        return BubbleClosed(f"{self.name} was killed: {what}")

    def __repr__(self) -> str:
        return f"<SimulatedProcess {self.name} {self.state.value}{' ended' if self.ended else ''}>"


#: The process of the harness: the server, and the tasks that move time. It is never stopped or killed.
HARNESS = SimulatedProcess("fakekube")

_current: ContextVar[SimulatedProcess | None] = ContextVar("fakekube_process", default=None)


def current() -> SimulatedProcess | None:
    """The process whose code runs; None for the test."""
    return _current.get()


def current_client() -> SimulatedProcess | None:
    """The process whose code runs, if it can be stopped and killed; None for the test and the harness."""
    process = _current.get()
    return None if process is HARNESS else process


def process_of(context: Context | None) -> SimulatedProcess | None:
    """The process of a context (None: the present one)."""
    return _current.get() if context is None else context.get(_current)


def context_of(process: SimulatedProcess) -> Context:
    """A copy of the calling context that belongs to `process`."""
    context = copy_context()
    context.run(_current.set, process)
    return context


@contextmanager
def running_in(process: SimulatedProcess | None) -> Generator[None, None, None]:
    """The block belongs to `process` (None: to the test)."""
    token = _current.set(process)
    try:
        yield
    finally:
        _current.reset(token)
