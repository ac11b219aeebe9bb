"""A thread of a bubble: what it runs, where it is parked, and the locks by which it is resumed and suspended."""

import _thread
import asyncio
import enum
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakMethod

from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current
from fakekube.virtualtime.threads.interrupts import interrupt

#: What a thread runs; it returns the exception that ended it, unless a future has received that.
Job = Callable[[], BaseException | None]

# the original, without the patches of a bubble
_join = threading.Thread.join

#: Signals that a process ignores unless it has a handler.
_IGNORED = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)

#: Real seconds in which a thread ends after an exception was raised in it.
INTERRUPTED = 0.01

#: Real seconds after which a wait for a thread looks for signals.
_SIGNALS_SEEN = 0.5


class State(enum.Enum):
    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    OUTSIDE = "outside the bubble"
    IDLE = "idle"
    ENDED = "ended"


class BubbleThread:
    """A thread of the bubble: what it runs, where it is parked, and its two locks.

    The scheduler releases `_resumed` to let the thread run; the thread releases `_suspended` when it parks or ends.
    """

    __slots__ = (
        "_resumed",
        "_suspended",
        "ended",
        "error",
        "handlers",
        "is_main",
        "is_timed",
        "job",
        "joins",
        "loop",
        "name",
        "overdue",
        "process",
        "real",
        "refusals",
        "signals",
        "state",
        "stranded",
        "wakeup_fd",
        "was_signalled",
        "where",
    )

    def __init__(self, name: str, job: Job) -> None:
        self.name: str = name
        self.job: Job | None = job
        self.state: State = State.READY
        self.where: str = "not started"
        #: whether its present wait ends after some time
        self.is_timed: bool = False
        self.ended: Notifier = Notifier()
        self.error: BaseException | None = None
        self.overdue: bool = False
        self.real: threading.Thread | None = None
        #: how often BubbleClosed was raised in it
        self.refusals: int = 0
        #: whether it has ended for the bubble only: the real thread catches every exception, and is suspended for ever
        self.stranded: bool = False
        #: whether it stands for the main thread of a process; then it has handlers of signals
        self.is_main: bool = False
        self.handlers: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
        self.signals: deque[int] = deque()
        self.wakeup_fd: int = -1
        #: whether a signal was sent to it, which may have ended it
        self.was_signalled: bool = False
        self.process: SimulatedProcess | None = current()
        #: the event loop of its own that ran when it waited last
        self.loop: asyncio.AbstractEventLoop | None = None
        self._resumed = _locked()
        self._suspended = _locked()

        #: what waits for its end: a weak reference to `Bubble.join`
        self.joins: WeakMethod[Callable[..., Awaitable[None]]] | None = None

    def is_alive(self) -> bool:
        return self.state is not State.ENDED

    def join(self, timeout: float | None = None) -> Awaitable[None]:
        """Wait until it ends; in a coroutine it must be awaited. Raises TimeoutError after `timeout` virtual seconds.

        An exception of the thread has been passed to `threading.excepthook`, and is its `error`.
        """
        joins = self.joins() if self.joins is not None else None
        if joins is None:
            raise RuntimeError(f"thread {self.name}: its cluster is closed")
        return joins(self, timeout)

    def resume(self, patience: float) -> bool:
        """Let it run; returns whether it was suspended or ended within `patience` real seconds.

        It is overdue if it was not, also when Ctrl-C ends the wait.
        """
        self.state, self.overdue = State.RUNNING, True
        self._resumed.release()
        suspended = _acquire(self._suspended, patience)
        self.overdue = not suspended
        return suspended

    def interrupt(self, ident: int) -> bool:
        """Raise BubbleClosed in it; returns whether it was suspended or ended soon after."""
        return interrupt(ident, BubbleClosed, self._suspended, INTERRUPTED)

    def join_if_ended(self, patience: float) -> None:
        """Join the real thread if this one has ended, so that `Thread.is_alive` is False from now on."""
        if self.state is State.ENDED and self.real is not None and not self.stranded:
            _join(self.real, patience)

    def was_suspended(self) -> bool:
        return self._suspended.acquire(blocking=False)

    def suspend(self) -> None:
        self._suspended.release()

    def wait_until_resumed(self) -> None:
        self._resumed.acquire()

    def handle_signals(self) -> None:
        """Called by the thread, where it would wait: run the handlers of the signals that were sent to it."""
        while self.signals:
            number = self.signals.popleft()
            handler = self.handlers.get(number)
            if callable(handler):
                if self.wakeup_fd >= 0:
                    os.write(self.wakeup_fd, bytes([number]))
                handler(number, sys._getframe(1))
            elif self.dies_of(number):
                raise SystemExit(128 + number)

    def dies_of(self, number: int) -> bool:
        """Whether a signal ends the process of which it is the main thread, as it has no handler for it."""
        handler = self.handlers.get(number)
        return not callable(handler) and handler is not signal.SIG_IGN and number not in _IGNORED

    def __repr__(self) -> str:
        return f"<BubbleThread {self.name} {self.state.value}: {self.where}>"


def _acquire(lock: "_thread.LockType", seconds: float) -> bool:
    """As `lock.acquire(timeout=seconds)`, but Ctrl-C ends it within half a second.

    A signal is handled after the wait if it comes when the waiting thread has released the interpreter and does not
    yet wait in the kernel. With few cores that is likely, since the thread that was resumed runs at this moment.
    """
    while seconds > _SIGNALS_SEEN:
        if lock.acquire(timeout=_SIGNALS_SEEN):
            return True
        seconds -= _SIGNALS_SEEN
    return lock.acquire(timeout=seconds)


def _locked() -> "_thread.LockType":
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
