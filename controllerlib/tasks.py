"""Task groups, events and futures with a defined order.

asyncio's TaskGroup cancels its tasks in the order of a set; here the order is that of creation, so that the same seed
produces the same log.
"""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

#: Exceptions that end the process. asyncio raises them from the event loop.
ENDINGS = (KeyboardInterrupt, SystemExit)


class Tasks:
    """A task group: `async with Tasks() as tasks: tasks.start(...)` ends when every task has ended.

    The first task that fails cancels the others and the body, and its exception is raised unchanged (no
    ExceptionGroup). If the body fails or is cancelled, the tasks are cancelled.
    """

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._parent: asyncio.Task[Any] | None = None
        self._error: BaseException | None = None
        self._idle: asyncio.Future[None] | None = None
        self._leaving = self._aborting = self._cancelled_parent = False

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run `work` as a task of the group; raises RuntimeError when the group has ended or was aborted."""
        if self._parent is None or self._aborting:
            work.close()
            raise RuntimeError("the task group has ended")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        """Cancel every task, oldest first. The group itself continues and ends as usual."""
        for task in list(self._tasks):
            task.cancel()

    async def __aenter__(self) -> "Tasks":
        self._parent = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving = True
        parent = self._parent
        assert parent is not None
        outside = [error] if isinstance(error, asyncio.CancelledError) else []
        if self._cancelled_parent:  # for the error of a task, which is raised instead
            parent.uncancel()
        if error is not None:
            self._abort()
        while self._tasks:
            self._idle = asyncio.get_running_loop().create_future()
            try:
                await self._idle
            except asyncio.CancelledError as again:
                outside = [again]
                self._abort()
        self._aborting, self._parent = True, None
        if outside and self._error is None:
            del error, trace, parent
            raise outside.pop()  # popped: otherwise frame and traceback form a cycle
        if self._error is not None and (error is None or isinstance(error, asyncio.CancelledError)):
            raise self._error

    def _abort(self) -> None:
        self._aborting = True
        self.cancel()

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        del self._tasks[task]
        if not self._tasks and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        error = None if task.cancelled() else task.exception()
        if error is None or self._error is not None:
            return
        self._error = error
        if self._leaving:
            self._abort()
        elif not self._aborting:
            self._abort()
            assert self._parent is not None
            self._cancelled_parent = True
            self._parent.cancel()


class Futures:
    """Creates futures for an owner that uses one event loop at a time.

    It remembers the loop, because before CPython 3.12 asyncio.get_running_loop makes a system call (os.getpid).
    """

    __slots__ = ("_loop",)

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def new(self) -> asyncio.Future[None]:
        """Return a new future of the running loop."""
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
        return self._loop.create_future()


class OnceEvent:
    """An event that is set once, with callbacks; waiters are released in the order in which they started to wait."""

    def __init__(self) -> None:
        self._happened = False
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def __repr__(self) -> str:
        return f"<OnceEvent {'set' if self._happened else 'not set'} waiters={len(self._callbacks)}>"

    def is_set(self) -> bool:
        """Return whether the event is set."""
        return self._happened

    def set(self) -> None:
        """Set the event; no effect if it is set already."""
        if self._happened:
            return
        self._happened = True
        callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def add_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the event is set, immediately if it is already. Returns a function that removes it."""
        if self._happened:
            callback()
            return lambda: None
        self._next += 1
        token = self._next
        self._callbacks[token] = callback

        def remove() -> None:
            self._callbacks.pop(token, None)

        return remove

    async def wait(self) -> None:
        """Wait until the event is set."""
        if self._happened:
            return
        future = asyncio.get_running_loop().create_future()
        remove = self.add_callback(lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            remove()


def is_from_outside(failure: BaseException, task: "asyncio.Task[Any] | None") -> bool:
    """Return whether `failure`, caught in `task`, is its cancellation, or the end of its coroutine.

    A coroutine is closed by GeneratorExit when its event loop has ended. The code that it awaits may raise these
    exceptions by itself, too.
    """
    if isinstance(failure, asyncio.CancelledError):
        return task is None or task.cancelling() > 0
    if not isinstance(failure, GeneratorExit):
        return False
    try:
        return asyncio.current_task() is not task
    except RuntimeError:  # no event loop runs
        return True


async def ended(task: "asyncio.Task[Any]") -> None:
    """Wait until `task` has ended, with any outcome. Cancelling the wait does not cancel `task`."""
    done = OnceEvent()
    task.add_done_callback(lambda _: done.set())
    await done.wait()
