"""A group of tasks that ends as a whole, in the order of creation.

asyncio's TaskGroup cancels its members in the order of a set; here the order is part of the promise that the same seed
gives the same log.
"""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any


class Tasks:
    """`async with Tasks() as tasks: tasks.start(...)`: left when every task ended.

    The first task that fails ends the others and the body; its exception is raised as it is. When the body fails or is
    cancelled, the tasks are cancelled.
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
        """Run `work` as a member; after the group was aborted it is refused (RuntimeError)."""
        if self._parent is None or self._aborting:
            work.close()
            raise RuntimeError("the task group has ended")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        """Cancel every member, oldest first; the group itself goes on and is left as usual."""
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
        if self._cancelled_parent and parent.uncancel() == 0:
            outside.clear()
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
            raise outside.pop()  # popped, so that this frame and the traceback do not refer to each other
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
    """Makes futures for one owner, who lives on one loop at a time.

    Asking asyncio which loop runs is a system call before CPython 3.12, and would be most of the cost.
    """

    __slots__ = ("_loop",)

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def new(self) -> asyncio.Future[None]:
        """A future of the running loop."""
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
        return self._loop.create_future()


class OnceEvent:
    """Something that happens once; waiters are released in the order in which they came."""

    def __init__(self) -> None:
        self._happened = False
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def __repr__(self) -> str:
        return f"<OnceEvent {'set' if self._happened else 'not set'} waiters={len(self._callbacks)}>"

    def is_set(self) -> bool:
        """Whether it happened."""
        return self._happened

    def set(self) -> None:
        """Let it happen; a second time changes nothing."""
        if self._happened:
            return
        self._happened = True
        callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def add_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when it happens (at once if it did); returns what removes it again."""
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
        """Wait until it happens."""
        if self._happened:
            return
        future = asyncio.get_running_loop().create_future()
        remove = self.add_callback(lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            remove()


async def ended(task: "asyncio.Task[Any]") -> None:
    """Wait until `task` ended, however it ended, without ending it when the waiting is cancelled."""
    done = OnceEvent()
    task.add_done_callback(lambda _: done.set())
    await done.wait()
