"""Names tasks in findings as the code under test knows them: a runnable, a task with a name, or its coroutine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from fakekube.harness.detectors.remains.coroutines import is_ours, named
from fakekube.harness.detectors.runnables import runnable

#: The names that asyncio gives to tasks.
_DEFAULT = re.compile(r"Task-\d+")


def title(task: asyncio.Task[Any]) -> str:
    """The runnable that a task runs, or the name that the code has given to the task."""
    if (found := runnable(task)) is not None:
        return str(found)
    name = task.get_name()
    return "a task" if _DEFAULT.fullmatch(name) else f"the task {name}"


def work_in_progress(creator: Callable[[asyncio.Task[Any]], asyncio.Task[Any] | None]) -> str:
    """What the running task does: a task of the code under test, or else the runnable that has created it.

    creator: returns the task that has created an unfinished task.
    """
    task = asyncio.current_task()
    while task is not None:
        if (found := runnable(task)) is not None:
            return str(found)
        if not is_ours(task.get_coro()):
            return f"a task of {named(task.get_coro())}"
        task = creator(task)
    return "a task"
