"""Blocking calls under virtual time: the test's thread runs the loop meanwhile, a thread of the bubble parks."""

import _thread
import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic as real_monotonic
from typing import Any, NoReturn, TypeVar

from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.simulatedprocess import current_client
from fakekube.virtualtime.threads.bubblethread import BubbleThread
from fakekube.virtualtime.threads.callers import Place, caller

T = TypeVar("T")

#: A thread whose requests are answered in place lets the loop take a turn at least so often.
_EVERY_TURN = 16

#: Real seconds for which a coroutine may wait for a thread outside of the bubble: until it has started, for example.
LONG = 0.5

#: Name prefix of the threads that wait for external I/O on behalf of the test.
HELPER = "fakekube: "


class Blocking:
    """Lets sync code wait for events of the loop. Created in the test's thread, which owns the loop."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._owner = _thread.get_ident()
        #: called with the place of each blocking call that is answered in place
        self.on_answered: Callable[[Place], None] = _ignore
        #: called with what a coroutine does that blocks the event loop, and the place of that; also if it is refused
        self.on_waiting: Callable[[str, Place], None] = _ignore_place
        #: called with each thread that code of the bubble starts
        self.on_thread: Callable[[threading.Thread], None] = _ignore
        #: how often which place of a coroutine made a blocking call that was answered in place
        self.calls: dict[Place, int] = {}
        self._turns = 0

    def note_call(self) -> None:
        """A coroutine on the loop makes a blocking call that is answered in place."""
        place = caller(sys._getframe(1))
        self.calls[place] = self.calls.get(place, 0) + 1
        self.on_answered(place)

    def note_waiting(self, what: str) -> None:
        """The caller blocks until something has happened outside of the bubble; that is noted in tasks of operators."""
        if self.on_own_loop() and (process := current_client()) is not None:
            task = asyncio.current_task(self._loop)
            if task is not None and self._loop.tasks.process(task) is process:
                self.on_waiting(what, caller(sys._getframe(1)))

    def timed(self, what: str, wait: Callable[[], T]) -> T:
        """Make a wait for a thread outside of the bubble; it is noted if it blocks the loop for long."""
        started = real_monotonic()
        try:
            return wait()
        finally:
            if real_monotonic() - started > LONG:
                self.note_waiting(what)

    def take_turn_if_due(self, where: str) -> None:
        """As `take_turn`, but only now and then while nothing else is ready to run: a switch of threads is slow."""
        self._turns += 1
        if self._turns % _EVERY_TURN == 0 or self._loop._ready or self._loop.threads.ready:
            self.take_turn(where)

    def take_turn(self, where: str) -> None:
        """Let the loop take a turn before a thread goes on: one that never waits must not starve the rest."""
        thread = self._loop.threads.current()
        if thread is not None:
            self._loop.call_soon_threadsafe(self._loop.threads.wake, thread)
            self._loop.threads.park(thread, where)

    def wakes_loop(self) -> object:
        """The socket that wakes the bubble's loop."""
        return self._loop._csock  # type: ignore[attr-defined]

    def from_anywhere(self, callback: Callable[[], None]) -> None:
        """Call `callback` at once if the caller belongs to the bubble, else on the loop."""
        if self.concerns():
            callback()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback)

    def has(self, ident: int) -> bool:
        """Whether the thread with this identifier belongs to the bubble."""
        return ident == self._owner or self._loop.threads.with_ident(ident) is not None

    def is_outside(self, ident: int) -> bool:
        """Whether a thread with this identifier runs, or starts, outside of the bubble. 0 is an unknown one."""
        return not self.has(ident) and (ident == 0 or ident in sys._current_frames())

    def name_of(self, ident: int) -> str:
        """Names a thread in a text. Coroutines run in the thread of the test."""
        if ident == self._owner:
            return "a coroutine" if self._loop.is_running() else "the test"
        if ident and not (self.has(ident) or self.is_outside(ident)):
            return "a thread that has ended"
        thread = self._loop.threads.with_ident(ident) or getattr(threading, "_active", {}).get(ident)
        return f"thread {thread.name}" if thread is not None else "another thread"

    def concerns(self) -> bool:
        """Whether the calling thread belongs to the bubble; all others live in real time."""
        if self._loop.is_closed():
            return False
        return _thread.get_ident() == self._owner or self._loop.threads.current() is not None

    def is_test(self) -> bool:
        return _thread.get_ident() == self._owner

    def on_own_loop(self) -> bool:
        """Whether the caller is a coroutine (or callback) on the bubble's loop."""
        return self.is_test() and self._loop.is_running()

    def refuse_in_coroutine(self, what: str, instead: str) -> None:
        """Raises RuntimeError if the caller runs on an event loop, which could not run while it blocks."""
        if not self.is_test():
            return
        if self._loop.is_running():
            self.on_waiting(f"makes {what}" if what.startswith("a ") else f"calls {what}", caller(sys._getframe(1)))
            raise RuntimeError(
                f"{what} inside a coroutine blocks the event loop: {instead}, or call it in a thread with "
                "`await asyncio.to_thread(...)`"
            )
        if (other := asyncio._get_running_loop()) is not None:
            raise RuntimeError(
                f"{what} inside a coroutine of another event loop ({type(other).__name__}), and the cluster's loop "
                "cannot run while it waits: do not use asyncio.run() here, write the test as `async def`"
            )

    def wait(self, where: str, ready: Callable[[], bool], *notifiers: Notifier, timeout: float | None = None) -> bool:
        """Wait until `ready()`, checked at each notification; returns False after `timeout` virtual seconds."""
        if ready():
            return True
        if self.on_own_loop():
            return self._wait_on_loop(where, ready)
        thread = self._loop.threads.current()
        if thread is not None:
            thread.is_timed = timeout is not None
        wake, wait_once = self._wake_and_wait(thread, where)
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            wake()

        timer = self._loop.call_later(timeout, expire) if timeout is not None else None
        for notifier in notifiers:
            notifier.add(wake)
        try:
            while not ready():
                if expired:
                    return False
                wait_once()
            return True
        finally:
            for notifier in notifiers:
                notifier.discard(wake)
            if timer is not None:
                timer.cancel()

    def _wait_on_loop(self, where: str, ready: Callable[[], bool]) -> bool:
        """A coroutine blocks the loop: threads run meanwhile. Raises RuntimeError if that is not enough."""
        threads = self._loop.threads
        while not ready():
            if not threads.ready:
                self.refuse_wait(where)
            threads.run_ready()
        return True

    def refuse_wait(self, where: str) -> NoReturn:
        """Raises RuntimeError: a coroutine waits for what needs the loop, or time."""
        self.on_waiting(f"blocks, {where},", caller(sys._getframe(1)))
        raise RuntimeError(
            f"a coroutine blocks the event loop ({where}), and what it waits for needs the loop, or time: "
            "await it, or make the call in a thread with `await asyncio.to_thread(...)`"
        )

    def _wake_and_wait(self, thread: BubbleThread | None, where: str) -> tuple[Callable[[], None], Callable[[], None]]:
        threads = self._loop.threads
        if thread is None:
            return self._loop.stop, self._loop.run_on
        return lambda: threads.wake(thread), lambda: threads.park(thread, where)

    def sleep(self, seconds: float) -> None:
        """As `time.sleep` in virtual time: in the test it advances the clock, in a thread it parks."""
        thread = self._loop.threads.current()
        if thread is None:
            self._loop.drive(self._loop.advance(max(seconds, 1e-6)))
        elif seconds > 0:
            self.wait(f"sleeping for {seconds:g} s", lambda: False, timeout=max(seconds, 1e-6))
        else:
            self.take_turn("sleeping for 0 s")

    def outside(self, where: str, call: Callable[[], T]) -> T:
        """Make a call that waits for the real world; the loop runs meanwhile, with time held."""
        thread = self._loop.threads.current()
        if thread is not None:
            with self._loop.threads.outside(thread, where):
                return call()
        return self._run_in_helper(where, call)()

    def _run_in_helper(self, where: str, call: Callable[[], T]) -> Callable[[], T]:
        loop = self._loop
        outcome: Callable[[], T] | None = None

        def finish(result: Callable[[], T]) -> None:
            nonlocal outcome
            outcome = result
            loop.stop()

        def helper() -> None:
            result = _attempt(call)
            with suppress(RuntimeError):  # the test has ended and closed the loop
                loop.call_soon_threadsafe(finish, result)

        with loop.clock.hold(where, endless=True):
            threading.Thread(target=helper, name=HELPER + where, daemon=True).start()
            while outcome is None:
                loop.run_on()
        return outcome


def _ignore(what: object) -> None:
    """The default of `on_answered` and `on_thread`."""


def _ignore_place(what: str, place: Place) -> None:
    """The default of `on_waiting`."""


def _attempt(call: Callable[[], T]) -> Callable[[], T]:
    """Calls `call`; returns a function that returns its result or raises its exception."""
    try:
        result = call()
    except BaseException as error:
        caught = error

        def fail() -> Any:
            raise caught

        return fail
    return lambda: result
