"""Interrupts code that blocks the event loop: a reconcile that computes for ever, or waits for a lock.

A thread looks at the loop's beat, which changes when a callback begins or ends. If it has not changed for longer than
the patience, the thread sends a signal to the test's thread. Its handler runs between two bytecodes of the very code
that blocks, checks the beat once more and raises LoopBlocked there; a lock or a system call is interrupted, too. The
same from another thread (PyThreadState_SetAsyncExc) could hit the callback after it, or the loop itself.
"""

import _thread
import signal
import threading
import traceback
from types import FrameType
from typing import Any, Protocol

from fakekube.virtualtime.blocking import HELPER
from fakekube.virtualtime.errors import LoopBlocked, NotQuiescent
from fakekube.virtualtime.threads.interrupts import raise_in

# the original, without the patches of a bubble
_start = threading.Thread.start
_join = threading.Thread.join

#: Debuggers wait at their prompt for as long as they like.
_DEBUGGERS = ("IPython", "_pydevd_bundle", "bdb", "cmd", "code", "debugpy", "pdb", "pudb", "pydevd")

#: Real seconds until an interrupted callback that goes on is interrupted again.
_AGAIN = 0.25

#: How often the thread looks within the patience.
_LOOKS = 2

#: What explains that a cancelled task blocks the event loop.
_AFTER_CANCELLATION = (
    ". It was cancelled and goes on: it catches CancelledError in a loop (`except BaseException`?), or its clean-up"
)

#: Frames of a stack that an error shows.
_FRAMES = 12


class Watched(Protocol):
    """The loop, as the watchdog sees it."""

    def beat(self) -> int:
        """A number that changes with each callback; odd while one runs."""

    def fail_with(self, error: BaseException) -> None: ...
    def running(self) -> str: ...
    def runs_cancelled(self) -> bool: ...


class Watchdog:
    """Watches one loop from `start` to `stop`, both called in the thread that runs the loop."""

    def __init__(self, loop: Watched, patience: float) -> None:
        self._loop, self._patience = loop, patience
        self._number: int = _signal_number()
        self._owner = 0
        self._handler: Any = None
        self._thread: threading.Thread | None = None
        self._ending = _thread.allocate_lock()
        self._stuck_at = -1
        self._reported_at = -1
        self._handling = False

    def start(self) -> None:
        if self._thread is not None:
            return
        self._owner = _thread.get_ident()
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(self._number, self._interrupted)
        self._ending.acquire()
        self._thread = threading.Thread(target=self._watch, name=HELPER + "watchdog", daemon=True)
        _start(self._thread)

    def stop(self) -> None:
        if self._thread is None:
            return
        self._ending.release()
        _join(self._thread)
        self._thread = None
        if self._handler is not None:
            signal.signal(self._number, self._handler)
            self._handler = None

    def _watch(self) -> None:
        seen, looks, wait = -1, 0, self._patience / _LOOKS
        while not self._ending.acquire(timeout=wait):
            beat = self._loop.beat()
            if beat != seen or not beat % 2:
                seen, looks, wait = beat, 0, self._patience / _LOOKS
                continue
            looks += 1
            if looks >= _LOOKS:
                self._stuck_at, wait = beat, _AGAIN
                self._interrupt(beat)
        self._ending.release()

    def _interrupt(self, beat: int) -> None:
        if self._handler is not None:
            signal.pthread_kill(self._owner, self._number)
        else:  # Python runs handlers of signals in the main thread only
            self._report(beat, None)
            raise_in(self._owner, LoopBlocked)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        beat = self._loop.beat()
        if self._handling or beat != self._stuck_at or _is_debugged(frame):
            return
        self._handling = True
        try:
            self._report(beat, frame)
        finally:
            self._handling = False
        raise LoopBlocked(f"the event loop was blocked for {self._patience:g} s")

    def _report(self, beat: int, frame: FrameType | None) -> None:
        if beat == self._reported_at:
            return
        self._reported_at = beat
        stack = "".join(traceback.format_stack(frame, _FRAMES)) if frame is not None else ""
        subject = _AFTER_CANCELLATION if self._loop.runs_cancelled() else ": it"
        self._loop.fail_with(
            NotQuiescent(
                f"{self._loop.running()} has blocked the event loop for {self._patience:g} s{subject} computes for "
                f"ever, or waits in a call that is not awaited. It was interrupted here:\n{stack}"
            )
        )


def _signal_number() -> int:
    """A signal that neither applications nor pytest plugins use; where there are no real-time signals, SIGUSR2."""
    first = getattr(signal, "SIGRTMIN", None)
    return int(first) + 11 if first is not None else int(signal.SIGUSR2)


def _is_debugged(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).split(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
