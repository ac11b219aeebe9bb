"""Patches `asyncio.all_tasks`: on the bubble's loop, a process sees its own tasks."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.patch import Patch

AllTasks = Callable[..., set[asyncio.Task[Any]]]


class TaskListPatches:
    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def patches(self) -> Iterator[Patch]:
        replacement = self._all_tasks(asyncio.all_tasks)
        yield Patch(asyncio.tasks, "all_tasks", replacement)
        yield Patch(asyncio, "all_tasks", replacement)

    def _all_tasks(self, real: AllTasks) -> AllTasks:
        def all_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
            tasks = real(loop)
            if asyncio._get_running_loop() is not self._loop or loop not in (None, self._loop):
                return tasks
            return self._loop.tasks.visible(tasks)

        return all_tasks
