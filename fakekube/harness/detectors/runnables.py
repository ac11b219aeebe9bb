"""The runnables of controllerlib's managers, by the tasks that run them."""

from __future__ import annotations

import asyncio
from typing import Any

from fakekube.struct import Struct

#: The coroutine of controllerlib's managers that runs a runnable. Its task has the name "GROUP runnable NAME";
#: "runnable NAME" if it needs to lead.
_RUNS = "RunnableGroup._run"


class Runnable(Struct, frozen=True):
    """A runnable of a manager. `leads`: whether it needs to lead."""

    name: str
    leads: bool

    def __str__(self) -> str:
        return f"the runnable {self.name}"


def runnable(task: asyncio.Task[Any]) -> Runnable | None:
    """The runnable that a task runs, if any."""
    if getattr(task.get_coro(), "__qualname__", "") != _RUNS:
        return None
    group, _, name = task.get_name().partition("runnable ")
    return Runnable(name, leads=not group)
