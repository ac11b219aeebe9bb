"""Simulated processes: the tasks, threads, timers and connections of one operator, which can be stopped and killed.

Code belongs to the process in whose context it was started: tasks, callbacks and threads inherit it.
"""

import asyncio
import enum
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any, Protocol

from fakekube.virtualtime.errors import BubbleClosed

Address = tuple[str, int]


class ProcessState(enum.Enum):
    RUNNING = "running"
    STOPPED = "stopped"
    KILLED = "killed"


class Closing(Protocol):
    """An end of a connection."""

    def abort(self) -> None: ...
    def is_closing(self) -> bool: ...


class SimulatedProcess:
    """One incarnation of an operator.

    `fenced_requests` has what it tried after it was killed: requests and connections, which had no effect.
    """

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.state: ProcessState = ProcessState.RUNNING
        self.runs: bool = True
        self.fenced: bool = False
        """Whether it has been killed: its requests have no effect."""
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.addresses: dict[Address, None] = {}
        """The addresses from which it has connected to servers of the loop."""
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

    def ended(self, task: asyncio.Task[Any]) -> None:
        """Called when one of its tasks ends. A killed process reports no exceptions."""
        self.tasks.pop(task, None)
        if self.fenced and not task.cancelled():
            task.exception()  # retrieved

    def refuse(self, what: str) -> BaseException:
        """Record a request that has no effect. Returns the exception that ends the code which makes it."""
        self.fenced_requests.append(what)
        return asyncio.CancelledError(f"{self.name} was killed: {what}")

    def refuse_in_thread(self, what: str) -> BaseException:
        """As `refuse`, for a thread."""
        self.fenced_requests.append(what)
        return BubbleClosed(f"{self.name} was killed: {what}")

    def __repr__(self) -> str:
        return f"<SimulatedProcess {self.name} {self.state.value} tasks={len(self.tasks)}>"


_current: ContextVar[SimulatedProcess | None] = ContextVar("fakekube_process", default=None)


def current() -> SimulatedProcess | None:
    """The process whose code runs; None for the test and the server."""
    return _current.get()


def process_of(context: Context | None) -> SimulatedProcess | None:
    """The process of a context (None: the present one)."""
    return _current.get() if context is None else context.get(_current)


def entered(context: Context, process: SimulatedProcess | None) -> Context:
    """The context, which belongs to `process` from now on (None: to no process, as the server's own tasks)."""
    context.run(_current.set, process)
    return context


@contextmanager
def running_in(process: SimulatedProcess | None) -> Generator[None, None, None]:
    """The block belongs to `process`."""
    token = _current.set(process)
    try:
        yield
    finally:
        _current.reset(token)
