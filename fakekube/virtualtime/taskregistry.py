"""The unfinished tasks of a loop, by simulated process.

`asyncio.all_tasks` is limited to the tasks of the process that calls it, so that an operator which cancels all tasks of
its event loop when it ends (kopf does, `run_tasks` in kopf/_core/reactor/running.py) cancels neither another one, nor
the test, nor the server. It lists no tasks of the harness.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.simulatedprocess import HARNESS, SimulatedProcess, current

#: How often a task that ends is cancelled: one may catch CancelledError, and go on.
MAX_CANCELS = 20


class TaskRegistry:
    """The unfinished tasks of a loop: the process of each (None: the test), and the task that has created it.

    It holds them: an event loop keeps only weak references, and garbage collection would be a random event.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: dict[asyncio.Future[Any], tuple[SimulatedProcess | None, asyncio.Task[Any] | None]] = {}

    def add(self, task: asyncio.Task[Any], process: SimulatedProcess | None) -> None:
        if process is HARNESS:
            _hide(task)
        self._tasks[task] = (process, asyncio.current_task(self._loop))

    def own(self, task: asyncio.Task[Any]) -> None:
        """Make `task` one of the harness; the tasks that it creates are not."""
        _hide(task)
        if task in self._tasks:
            self._tasks[task] = (HARNESS, self._tasks[task][1])

    def discard(self, task: asyncio.Future[Any]) -> SimulatedProcess | None:
        """Remove a task. Returns its process."""
        return self._tasks.pop(task, _UNKNOWN)[0]

    def creator(self, task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
        """The task that has created an unfinished task."""
        return self._tasks[task][1] if task in self._tasks else None

    def process(self, task: asyncio.Task[Any]) -> SimulatedProcess | None:
        """The process of an unfinished task; None for one of the test."""
        return self._tasks.get(task, _UNKNOWN)[0]

    def of(self, process: SimulatedProcess) -> list[asyncio.Task[Any]]:
        """The tasks of a process, in the order of their creation."""
        return _unfinished(task for task, (owner, _) in self._tasks.items() if owner is process)

    def under_test(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not the harness's, in the order of their creation."""
        return _unfinished(task for task, (owner, _) in self._tasks.items() if owner is not HARNESS)

    def visible(self, tasks: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
        """Those of `tasks`, and the running one, that the calling process sees."""
        mine, running = current(), asyncio.current_task(self._loop)
        seen = {task for task in tasks if task not in self._tasks or self._tasks[task][0] is mine}
        return seen if running is None else seen | {running}

    def records(self) -> list[object]:
        """The containers with which the registry refers to tasks."""
        return [self._tasks, *self._tasks.values()]

    def clear(self) -> None:
        self._tasks.clear()

    def __iter__(self) -> Iterator[asyncio.Future[Any]]:
        return iter(tuple(self._tasks))

    def __repr__(self) -> str:
        return f"<TaskRegistry {', '.join(describe.name(task) for task in self.under_test())}>"


_UNKNOWN = (None, None)


def never_log(task: asyncio.Task[Any]) -> None:
    """Log nothing when a task is freed that has not ended."""
    if hasattr(task, "_log_destroy_pending"):
        task._log_destroy_pending = False


def _hide(task: asyncio.Task[Any]) -> None:
    """Remove a task from the list of asyncio, where it has one that can be changed."""
    unregister = getattr(asyncio, "_unregister_task", None)
    if unregister is not None:
        unregister(task)


def _unfinished(tasks: Iterator[asyncio.Future[Any]]) -> list[asyncio.Task[Any]]:
    return [task for task in tasks if isinstance(task, asyncio.Task) and not task.done()]
