"""Programs: code that runs in one bubble and would be processes of its own in a cluster.

A context variable says which program code belongs to; tasks, callbacks and threads inherit it. `asyncio.all_tasks` is
limited to the tasks of the program that calls it, so that a program which cancels all tasks of its event loop when it
ends (kopf does, `run_tasks` in kopf/_core/reactor/running.py) cancels neither another program, nor the test, nor the
server. It lists no tasks of the harness.
"""

import asyncio
from collections.abc import Iterator
from contextvars import Context, ContextVar, copy_context
from typing import Any

from fakekube.virtualtime import describe


class Program:
    """What was started beside a test, by one call. `ended` once the task that it was started with has ended."""

    __slots__ = ("ended", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False

    def __repr__(self) -> str:
        return f"<Program {self.name}{' ended' if self.ended else ''}>"


#: The program of the harness: the server, and the tasks that move time.
HARNESS = Program("fakekube")

_current: ContextVar[Program | None] = ContextVar("fakekube program", default=None)


def current() -> Program | None:
    """The program of the calling code; None for the test itself."""
    return _current.get()


def context_of(program: Program | None) -> Context:
    """A copy of the calling context that belongs to `program`."""
    context = copy_context()
    context.run(_current.set, program)
    return context


def program_in(context: Context | None) -> Program | None:
    """The program of a context; of the calling one without it."""
    return _current.get() if context is None else context.get(_current)


class Tasks:
    """The unfinished tasks of a loop: of which program each is, and which task has created it.

    It holds them: an event loop keeps only weak references, and garbage collection would be a random event.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: dict[asyncio.Future[Any], tuple[Program | None, asyncio.Task[Any] | None]] = {}

    def add(self, task: asyncio.Task[Any], program: Program | None) -> None:
        if program is HARNESS:
            asyncio._unregister_task(task)
        self._tasks[task] = (program, asyncio.current_task(self._loop))

    def own(self, task: asyncio.Task[Any]) -> None:
        """Make `task` one of the harness; the tasks that it creates are not."""
        asyncio._unregister_task(task)
        if task in self._tasks:
            self._tasks[task] = (HARNESS, self._tasks[task][1])

    def discard(self, task: asyncio.Future[Any]) -> None:
        self._tasks.pop(task, None)

    def creator(self, task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
        """The task that has created an unfinished task."""
        return self._tasks[task][1] if task in self._tasks else None

    def of_programs(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not the harness's, in the order of their creation."""
        found = [task for task, (program, _) in self._tasks.items() if program is not HARNESS]
        return [task for task in found if isinstance(task, asyncio.Task) and not task.done()]

    def visible(self, tasks: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
        """Those of `tasks`, and the running one, that the calling program sees."""
        mine, running = _current.get(), asyncio.current_task(self._loop)
        seen = {task for task in tasks if task not in self._tasks or self._tasks[task][0] is mine}
        return seen if running is None else seen | {running}

    def clear(self) -> None:
        self._tasks.clear()

    def __iter__(self) -> Iterator[asyncio.Future[Any]]:
        return iter(tuple(self._tasks))

    def __repr__(self) -> str:
        return f"<Tasks {', '.join(describe.name(task) for task in self.of_programs())}>"
