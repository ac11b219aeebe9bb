"""The threads: of the loop and all threads of a bubble, one runs at a time, and who is next is no accident.

A thread that would block (in `recv` on a connection of the bubble, in `time.sleep`, at its end) gives the baton back
to the loop and waits for its own lock, not for the kernel. The loop hands the baton, once a turn, to each thread that
may go on, in the order in which they became ready. So there is nothing to lock, and nothing depends on the scheduler of
the machine.
"""

import _thread
import asyncio
import contextvars
import enum
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fakekube.virtualtime.errors import BubbleClosed, NotQuiescent
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.threads.stacks import dump

T = TypeVar("T")

#: What a thread does; the error that it ended by, if that is not somebody else's to handle.
Job = Callable[[], BaseException | None]

# as they are without our hooks
_start = threading.Thread.start
_join = threading.Thread.join

#: How often a closing threads tells a thread to end before it is left alone.
_GOODBYES = 20


class State(enum.Enum):
    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    OUTSIDE = "outside the bubble"
    IDLE = "idle"
    ENDED = "ended"


class BubbleThread:
    """A thread of the bubble: what it does, where it is parked, and its two locks.

    `go` is released by whoever hands it the baton, `back` by the thread when it gives the baton back.
    """

    __slots__ = ("_back", "_go", "ended", "error", "job", "lost", "name", "real", "state", "where")

    def __init__(self, name: str, job: Job) -> None:
        self.name = name
        self.job: Job | None = job
        self.state = State.READY
        self.where = "not started"
        self.ended = Notifier()
        self.error: BaseException | None = None
        self.lost = False
        self.real: threading.Thread | None = None
        self._go = _locked()
        self._back = _locked()

    def is_alive(self) -> bool:
        return self.state is not State.ENDED

    def hand_over(self, patience: float) -> bool:
        """Give it the baton; whether it came back within `patience` real seconds."""
        self.state = State.RUNNING
        self._go.release()
        return self._back.acquire(timeout=patience)

    def bury(self, patience: float) -> None:
        """If it has ended, wait until it has really: whoever asks `is_alive` next must not depend on that moment."""
        if self.state is State.ENDED and self.real is not None:
            _join(self.real, patience)

    def came_back(self) -> bool:
        return self._back.acquire(blocking=False)

    def give_back(self) -> None:
        self._back.release()

    def wait_for_baton(self) -> None:
        self._go.acquire()

    def __repr__(self) -> str:
        return f"<BubbleThread {self.name} {self.state.value}: {self.where}>"


def _locked() -> "_thread.LockType":
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


class ThreadScheduler:
    """All threads of one bubble, and who of them may go on.

    Invariant: everything here is changed only by who has the baton, but for `outside`'s way back (one atomic append).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wake_loop: Callable[[], None], patience: float) -> None:
        self._loop = loop
        self._wake_loop = wake_loop
        self._patience = patience
        #: those that may go on, in the order in which they came to that
        self.ready: deque[BubbleThread] = deque()
        self._threads: dict[int, BubbleThread] = {}
        self._idle: list[BubbleThread] = []
        self._lost: list[BubbleThread] = []
        self._numbers = itertools.count(1)
        self._closing = False

    # --- the loop's side

    def run_ready(self) -> None:
        """Let each thread that may go on run until it parks. Raises NotQuiescent for one that does not."""
        for _ in range(len(self.ready)):
            thread = self.ready.popleft()
            if thread.hand_over(self._patience):
                thread.bury(self._patience)
            else:
                thread.lost = True
                self._lost.append(thread)
                raise NotQuiescent(
                    f"thread {thread.name} neither parked nor ended within {self._patience:g} s. It may be waiting "
                    "for a lock or for a connection to somebody else, which the bubble cannot see.\n" + dump()
                )

    def is_empty(self) -> bool:
        return not self._threads

    def busy_reasons(self) -> Iterator[str]:
        """Which threads are neither parked nor ended."""
        self._lost = [thread for thread in self._lost if not _found(thread)]
        for thread in self._lost:
            yield f"thread {thread.name} has not come back"
        for thread in self._threads.values():
            if thread.state is State.OUTSIDE:
                yield f"thread {thread.name} is {thread.where}"

    def active(self) -> Iterator[BubbleThread]:
        """Those that have something to do."""
        return (thread for thread in self._threads.values() if thread.state is not State.IDLE)

    def start(self, function: Callable[[], object], name: str | None = None) -> BubbleThread:
        """A thread of its own; an exception that leaves `function` goes the way of any thread's."""
        context = contextvars.copy_context()
        return self._launch(
            name or f"bubble-thread-{next(self._numbers)}", _guarded(lambda: context.run(function)), reuse=False
        )

    def serves(self, loop: object) -> bool:
        """Whether these are the threads of `loop`, and it is running."""
        return loop is self._loop and asyncio._get_running_loop() is loop

    def adopt(self, real: threading.Thread) -> None:
        """Called by who is about to start `real`, a thread of the bubble or its loop: it becomes one of the bubble."""
        self._refuse_if_closing()
        thread = self._enter(BubbleThread(real.name, _guarded(real.run)))
        thread.real = real
        real.run = lambda: self._main(thread, reuse=False)  # type: ignore[method-assign]

    def submit(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """What `run_in_executor` does: the future of `function()`, run in a thread of an unbounded pool."""
        future: asyncio.Future[T] = self._loop.create_future()

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
            thread.job = job
            thread.where = "not started"
            self._make_ready(thread)
        else:
            self._launch(f"bubble-worker-{next(self._numbers)}", job, reuse=True)
        return future

    def _launch(self, name: str, job: Job, *, reuse: bool) -> BubbleThread:
        if self._closing:
            raise RuntimeError("the bubble is closing: no new threads")
        thread = self._enter(BubbleThread(name, job))
        thread.real = threading.Thread(target=self._main, args=(thread, reuse), name=name, daemon=True)
        _start(thread.real)
        return thread

    def _enter(self, thread: BubbleThread) -> BubbleThread:
        self._make_ready(thread)
        self._threads[id(thread)] = thread
        return thread

    def find(self, real: threading.Thread) -> BubbleThread | None:
        """The bubble's thread that `real` runs, if it does."""
        return next((thread for thread in self._threads.values() if thread.real is real), None)

    def wake(self, thread: BubbleThread) -> None:
        """What a parked thread waited for has come; nothing if it is not parked."""
        if thread.state is State.PARKED:
            self._make_ready(thread)

    def _make_ready(self, thread: BubbleThread) -> None:
        thread.state = State.READY
        self.ready.append(thread)

    def close(self) -> None:
        """End all threads: whoever is parked gets a BubbleClosed where it is. Raises NotQuiescent if one stays."""
        self._closing = True
        self.ready.clear()
        staying = []
        for thread in list(self._threads.values()):
            for _ in range(_GOODBYES):
                if thread.state is State.ENDED or not self._say_goodbye(thread):
                    break
            if thread.state is not State.ENDED:
                staying.append(thread.name)
        self._threads.clear()
        if staying:
            raise NotQuiescent(f"threads do not end: {', '.join(staying)}\n{dump()}")

    def _say_goodbye(self, thread: BubbleThread) -> bool:
        if thread.state is State.OUTSIDE or (thread.lost and not thread.came_back()):
            return False
        if not thread.hand_over(self._patience):
            return False
        thread.bury(self._patience)
        return True

    # --- the threads' side

    def current(self) -> BubbleThread | None:
        """The thread of the bubble that asks, if it is one; one that is outside lives in real time, as strangers do."""
        thread = _current.get(_thread.get_ident())
        return thread if thread is None or thread.state is not State.OUTSIDE else None

    def park(self, thread: BubbleThread, where: str) -> None:
        """Called by `thread`: let the others run until somebody wakes it."""
        self._refuse_if_closing()
        thread.where = where
        thread.state = State.PARKED
        thread.give_back()
        thread.wait_for_baton()
        self._refuse_if_closing()

    @contextmanager
    def outside(self, thread: BubbleThread, where: str) -> Iterator[None]:
        """Called by `thread`: what follows waits for the real world; the bubble goes on, but its time does not."""
        self._refuse_if_closing()
        thread.where = where
        thread.state = State.OUTSIDE
        thread.give_back()
        try:
            yield
        finally:
            self._refuse_if_closing()
            self._make_ready(thread)
            self._wake_loop()
            thread.wait_for_baton()
            self._refuse_if_closing()

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise BubbleClosed("the bubble of this thread is closed")

    def _main(self, thread: BubbleThread, reuse: bool) -> None:
        thread.wait_for_baton()
        ident = _thread.get_ident()
        _current[ident] = thread
        try:
            while thread.job is not None and not self._closing:
                thread.where = "running"
                thread.error = thread.job()
                thread.job = None
                if reuse and not self._closing:
                    self._rest(thread)
        finally:
            thread.state = State.ENDED
            thread.where = "ended"
            self._threads.pop(id(thread), None)
            try:
                thread.ended.notify()
            finally:
                del _current[ident]
                thread.give_back()

    def _rest(self, thread: BubbleThread) -> None:
        thread.state = State.IDLE
        thread.where = "waiting for a job"
        self._idle.append(thread)
        thread.give_back()
        thread.wait_for_baton()


#: The bubble's threads by the identity of the real ones: hooks ask on each call.
_current: dict[int, BubbleThread] = {}


def _guarded(function: Callable[[], object]) -> Job:
    """Runs `function` as threads do: an error goes to `threading.excepthook`, here while the thread has the baton."""

    def job() -> BaseException | None:
        try:
            function()
        except (SystemExit, BubbleClosed):
            return None
        except BaseException as error:
            args = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(args))
            return error
        return None

    return job


def _found(thread: BubbleThread) -> bool:
    if thread.came_back():
        thread.lost = False
    return not thread.lost


def _succeed(future: asyncio.Future[T], outcome: T) -> None:
    if not future.done():
        future.set_result(outcome)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, StopIteration):  # a Future refuses to carry one
        error = RuntimeError(f"the function raised {error!r}")
    future.set_exception(error)
