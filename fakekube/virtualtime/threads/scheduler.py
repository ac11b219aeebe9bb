"""Schedules the threads of a bubble cooperatively: the loop or one thread runs at a time, in a reproducible order.

A thread that would block (in `recv` on a connection of the bubble, or in `time.sleep`) hands control back to the loop
and waits for a lock of its own, not for the kernel. Once a turn, the loop resumes each thread that is ready, in the
order in which they became so. So the code needs no locks, and does not depend on the operating system's scheduler.
"""

import _thread
import asyncio
import concurrent.futures
import contextvars
import gc
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Any, TypeVar

from fakekube.virtualtime.errors import BubbleClosed, NotQuiescent
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current, running_in
from fakekube.virtualtime.threads.bubblethread import INTERRUPTED, BubbleThread, Job, State
from fakekube.virtualtime.threads.callers import caller
from fakekube.virtualtime.threads.stacks import dump, place_of
from fakekube.virtualtime.threads.stranding import strand

T = TypeVar("T")

# the originals, without the patches of a bubble
_start = threading.Thread.start
_join = threading.Thread.join

#: How often BubbleClosed is raised in a thread that catches it.
_MAX_CLOSES = 50

#: The longest real time for which a thread that is being ended may compute, before BubbleClosed is raised in it again.
_CLEAN_UP = 5.0


class ThreadScheduler:
    """All threads of one bubble, and which of them are ready.

    Invariant: only the thread that runs changes this state, except for the atomic append with which `outside` returns.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wake_loop: Callable[[], None], patience: float) -> None:
        self._loop = loop
        self._wake_loop = wake_loop
        self._patience = patience
        #: the threads to resume, in the order in which they became ready
        self.ready: deque[BubbleThread] = deque()
        self._threads: dict[int, BubbleThread] = {}
        self._idle: list[BubbleThread] = []
        self._overdue: list[BubbleThread] = []
        self._numbers = itertools.count(1)
        self._closing = False
        #: whether what threads run with `asyncio.run` was cancelled, because the bubble is about to close
        self.are_cancelled: bool = False
        #: called with each event loop that code under test runs in a thread
        self.on_loop: Callable[[asyncio.AbstractEventLoop], None] | None = None
        #: whether the event loop of a thread has ended with it
        self._loops_ended = False
        #: whether Ctrl-C has ended the wait for a thread, which it has named
        self._interrupted = False
        #: the threads that catch every exception, and where
        self._stubborn: list[str] = []
        #: the threads of stopped processes that became ready
        self._frozen: dict[SimulatedProcess, list[BubbleThread]] = {}

    # --- called by the loop

    def run_ready(self) -> None:
        """Run each ready thread until it parks or ends. Raises NotQuiescent for one that does neither."""
        for _ in range(len(self.ready)):
            thread = self.ready.popleft()
            try:
                suspended = thread.resume(self._patience)
            except KeyboardInterrupt:
                self._overdue.append(thread)
                self._interrupted = True
                raise KeyboardInterrupt(f"while thread {thread.name} ran, at {place_of(thread.real)}") from None
            if suspended:
                thread.join_if_ended(self._patience)
            else:
                self._overdue.append(thread)
                raise NotQuiescent(
                    f"thread {thread.name} neither parked nor ended within {self._patience:g} s. It may be waiting for "
                    "a lock that was created before the cluster (import the module that creates it in the test), or "
                    "for a connection to another server, which the bubble cannot see.\n" + dump()
                )

    def is_empty(self) -> bool:
        return not self._threads

    def busy_reasons(self) -> Iterator[str]:
        """Which threads are neither parked nor ended, for error messages."""
        self._overdue = [thread for thread in self._overdue if _is_overdue(thread)]
        for thread in self._overdue:
            yield f"thread {thread.name} has not parked"
        for thread in self._threads.values():
            if thread.state is State.OUTSIDE:
                yield f"thread {thread.name} is {thread.where}"

    def active(self) -> Iterator[BubbleThread]:
        """The threads that have a job."""
        return (thread for thread in self._threads.values() if thread.state is not State.IDLE)

    def start(self, function: Callable[[], object], name: str | None = None) -> BubbleThread:
        """Run `function` in a new thread; an exception goes to `threading.excepthook`."""
        context = contextvars.copy_context()
        thread = self._launch(
            name or f"bubble-thread-{next(self._numbers)}",
            _guarded(lambda: context.run(function), self.is_cancelled),
            reuse=False,
        )
        thread.is_main = True
        return thread

    def signal(self, thread: BubbleThread, number: int) -> None:
        """Send a signal to a thread, which runs its handler where it waits. Without a handler most signals end it."""
        if thread.is_alive():
            thread.was_signalled = True
            thread.signals.append(number)
            self.wake(thread)

    def serves(self, loop: object) -> bool:
        """Whether these are the threads of `loop` and it is running in this thread."""
        return loop is self._loop and asyncio._get_running_loop() is loop

    def adopt(self, real: threading.Thread) -> None:
        """Make `real`, which is about to be started by the bubble, a thread of the bubble."""
        self._refuse_if_closing()
        thread = self._enter(BubbleThread(real.name, _guarded(real.run, self.is_cancelled)))
        thread.real = real
        # a method, because what instruments threads (Sentry does) calls the function of the method with the thread
        real.run = MethodType(lambda _: self._main(thread, reuse=False), real)  # type: ignore[method-assign]

    def submit(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """The future of `function()`, run in a thread of an unbounded pool. It is cancelled once the bubble closes."""
        future: asyncio.Future[T] = self._loop.create_future()
        if self._closing:  # the tasks of the bubble still run, and end
            future.cancel()
            return future

        def job() -> None:
            if future.cancelled():
                return
            try:
                outcome = function()
            except BubbleClosed:
                self._loop.call_soon_threadsafe(future.cancel)
            except BaseException as error:
                self._loop.call_soon_threadsafe(_fail, future, error)
            else:
                self._loop.call_soon_threadsafe(_succeed, future, outcome)

        if self._idle:
            thread = self._idle.pop()
            thread.job, thread.process = job, current()
            thread.where = "not started"
            self._make_ready(thread)
        else:
            self._launch(f"bubble-worker-{next(self._numbers)}", job, reuse=True)
        return future

    def _launch(self, name: str, job: Job, *, reuse: bool) -> BubbleThread:
        if self._closing:
            raise RuntimeError("the bubble is closing: it starts no new threads")
        thread = self._enter(BubbleThread(name, job))
        thread.real = threading.Thread(target=self._main, args=(thread, reuse), name=name, daemon=True)
        _start(thread.real)
        return thread

    def _enter(self, thread: BubbleThread) -> BubbleThread:
        self._make_ready(thread)
        self._threads[id(thread)] = thread
        return thread

    def find(self, real: threading.Thread) -> BubbleThread | None:
        """The thread of the bubble that `real` runs, if any."""
        return next((thread for thread in self._threads.values() if thread.real is real), None)

    def wake(self, thread: BubbleThread) -> None:
        """Make a parked thread ready; does nothing in any other state, or when all threads are being ended."""
        if thread.state is State.PARKED and not self._closing:
            self._make_ready(thread)

    def _make_ready(self, thread: BubbleThread) -> None:
        thread.state = State.READY
        if thread.process in self._frozen:
            self._frozen[thread.process].append(thread)
        else:
            self.ready.append(thread)

    # --- simulated processes

    def freeze(self, process: SimulatedProcess) -> None:
        """Resume no thread of a stopped process."""
        waiting = self._frozen.setdefault(process, [])
        waiting += [thread for thread in self.ready if thread.process is process]
        self.ready = deque(thread for thread in self.ready if thread.process is not process)

    def thaw(self, process: SimulatedProcess) -> None:
        """Resume the threads of a process again."""
        self.ready.extend(self._frozen.pop(process, ()))

    def of(self, process: SimulatedProcess) -> Sequence[BubbleThread]:
        """The threads of a process that have a job."""
        return [thread for thread in self.active() if thread.process is process]

    def main_of(self, process: SimulatedProcess | None) -> BubbleThread | None:
        """The thread with which a process has begun, if it still runs."""
        if process is None:
            return None
        return next((thread for thread in self.of(process) if thread.is_main), None)

    def end_threads(self, process: SimulatedProcess) -> None:
        """Wake the parked threads of a killed process, in which BubbleClosed is raised."""
        for thread in self.of(process):
            self.wake(thread)

    def close(self) -> None:
        """End all threads: raises BubbleClosed in those that are parked or busy. Raises NotQuiescent naming others."""
        self._closing = True
        self.ready.clear()
        for _ in range(_MAX_CLOSES):  # in rounds, because the tasks of a thread's event loop may wait for other threads
            resumed = [self._raise_closed(thread) for thread in tuple(self._threads.values())]
            if not any(resumed):
                break
        threads = tuple(self._threads.values())
        left = [f"{one.name}, {_place(one)}" for one in threads if not self._interrupt(one)] + self._stubborn
        self.collect()
        self._stubborn.clear()
        self._threads.clear()
        self._overdue.clear()
        self._idle.clear()
        if left and not self._interrupted:
            raise NotQuiescent(
                f"threads do not end: {'; '.join(left)}. They run Python code that catches every exception (`except:` "
                "or `except BaseException:` without `raise`), or wait for something that the bubble cannot see"
            )

    def _raise_closed(self, thread: BubbleThread) -> bool:
        """Returns whether the thread was suspended, and went on until it was suspended again or ended."""
        if thread.state in (State.ENDED, State.OUTSIDE) or (thread.overdue and not thread.was_suspended()):
            return False
        if not thread.resume(min(self._patience, _CLEAN_UP)):
            return False
        thread.join_if_ended(self._patience)
        return True

    def _interrupt(self, thread: BubbleThread) -> bool:
        """Raise BubbleClosed in a thread that runs Python code; returns whether it has ended."""
        real = thread.real
        for _ in range(_MAX_CLOSES):
            if real is None or real.ident is None:
                return False
            if thread.state is State.PARKED:
                thread.resume(INTERRUPTED)
            if thread.state is State.ENDED or (thread.interrupt(real.ident) and not thread.is_alive()):
                thread.join_if_ended(self._patience)
                return True
        return False

    # --- called by threads

    def runs_loop(self, thread: BubbleThread, loop: asyncio.AbstractEventLoop | None) -> None:
        """Called by `thread`, where it waits in a selector: for that of an event loop, if any."""
        if loop is not thread.loop:
            thread.loop = loop
            if loop is not None and self.on_loop is not None:
                self.on_loop(loop)

    def current(self) -> BubbleThread | None:
        """The calling thread if it belongs to the bubble, and is not outside it: then it lives in real time."""
        thread = _current.get(_thread.get_ident())
        return thread if thread is None or thread.state is not State.OUTSIDE else None

    def with_ident(self, ident: int) -> BubbleThread | None:
        """The thread of the bubble with an identifier of the operating system."""
        thread = _current.get(ident)
        return thread if thread is not None and id(thread) in self._threads else None

    def park(self, thread: BubbleThread, where: str) -> None:
        """Called by `thread`: suspend it until `wake` is called."""
        self._refuse_if_closing(thread)
        if not thread.signals:
            thread.where = where
            thread.state = State.PARKED
            thread.suspend()
            thread.wait_until_resumed()
            self._refuse_if_closing(thread)
        if thread.signals:
            thread.handle_signals()

    def let_others_end(self, thread: BubbleThread) -> None:
        """Called by `thread`, whose event loop ends: suspend it until the other threads that end have run."""
        self._loops_ended = True
        thread.state = State.PARKED
        thread.suspend()
        thread.wait_until_resumed()

    @contextmanager
    def outside(self, thread: BubbleThread, where: str) -> Iterator[None]:
        """Called by `thread`: the block waits for the real world; the bubble runs on meanwhile, with time held."""
        self._refuse_if_closing(thread)
        thread.where = where
        thread.state = State.OUTSIDE
        thread.suspend()
        try:
            yield
        finally:
            self._refuse_if_closing()
            self._make_ready(thread)
            self._wake_loop()
            thread.wait_until_resumed()
            self._refuse_if_closing(thread)

    def _refuse_if_closing(self, thread: BubbleThread | None = None) -> None:
        if self._closing:
            self._end(thread or self.current())
            raise BubbleClosed("the bubble of this thread is closed")
        if thread is not None and thread.process is not None and thread.process.fenced:
            self._end(thread)
            raise BubbleClosed(f"{thread.process.name}, the process of this thread, was killed")

    def _end(self, thread: BubbleThread | None) -> None:
        """Called by `thread` before BubbleClosed is raised in it; does not return to one that catches it every time."""
        if thread is None:
            return
        thread.refusals += 1
        if thread.refusals > _MAX_CLOSES:
            if self._closing:
                self._stubborn.append(f"{thread.name}, at {caller(sys._getframe(1))}")
            thread.stranded = True
            self._ended(thread)
            strand(thread.real)

    def collect(self) -> None:
        """Free what the event loops of ended threads have left in reference cycles, while its warnings are ignored."""
        if self._loops_ended:
            self._loops_ended = False
            gc.collect()

    def is_ending(self) -> bool:
        """Whether the calling thread ends, because the bubble closes or its process was killed."""
        process = current()
        return self._closing or (process is not None and process.fenced)

    def is_cancelled(self) -> bool:
        """Whether a cancellation in the calling thread is due to the end of the bubble or of its process."""
        return self.are_cancelled or self.is_ending()

    def _main(self, thread: BubbleThread, reuse: bool) -> None:
        thread.wait_until_resumed()
        ident = _thread.get_ident()
        _current[ident] = thread
        try:
            while thread.job is not None and not self._closing:
                thread.where = "running"
                if thread.process is None or not thread.process.fenced:
                    with running_in(thread.process):
                        thread.error = thread.job()
                thread.job = None
                if reuse and not self._closing:
                    self._rest(thread)
        finally:
            try:
                self._ended(thread)
            finally:
                del _current[ident]

    def _ended(self, thread: BubbleThread) -> None:
        thread.state = State.ENDED
        thread.where = "ended"
        self._threads.pop(id(thread), None)
        try:
            thread.ended.notify()
        finally:
            thread.suspend()

    def _rest(self, thread: BubbleThread) -> None:
        thread.state = State.IDLE
        thread.where = "waiting for a job"
        self._idle.append(thread)
        thread.suspend()
        thread.wait_until_resumed()


#: The threads of all bubbles by thread identifier. Process-wide, as thread identifiers are: an entry lives as long as
#: its thread, and patches look it up on each call.
_current: dict[int, BubbleThread] = {}


def _guarded(function: Callable[[], object], is_cancelled: Callable[[], bool]) -> Job:
    """Runs `function` as `Thread.run` would; calls `threading.excepthook` while the thread still runs in the bubble.

    `is_cancelled`: whether the thread ends with the bubble or its process, and with it the tasks of its own event loop.
    """

    def job() -> BaseException | None:
        try:
            function()
        except (SystemExit, BubbleClosed):
            return None
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError | concurrent.futures.CancelledError) and is_cancelled():
                return None
            args = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(args))
            return error
        return None

    return job


def _place(thread: BubbleThread) -> str:
    """Where a thread is that does not end."""
    return thread.where if thread.state is State.OUTSIDE else f"at {place_of(thread.real)}"


def _is_overdue(thread: BubbleThread) -> bool:
    if thread.was_suspended():
        thread.overdue = False
    return thread.overdue


def _succeed(future: asyncio.Future[T], outcome: T) -> None:
    if not future.done():
        future.set_result(outcome)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, StopIteration):  # Future.set_exception rejects it
        error = RuntimeError(f"the function raised {error!r}")
    future.set_exception(error)
