"""Descriptions of tasks and callbacks for error messages: what they are and where they wait."""

import asyncio
import functools
import os
from collections.abc import Coroutine
from types import FrameType
from typing import Any


def callback(handle: asyncio.Handle) -> str:
    """What a handle runs: the task that it resumes, or the function."""
    task = owner(handle)
    return f"task {name(task)}" if task is not None else _function(getattr(handle, "_callback", None))


def owner(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """The task that a handle resumes, if any."""
    bound = getattr(getattr(handle, "_callback", None), "__self__", None)
    return bound if isinstance(bound, asyncio.Task) else None


def _function(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    qualname = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{qualname}" if module else qualname


def name(task: asyncio.Task[Any]) -> str:
    """The name of a task and of its coroutine."""
    coroutine = task.get_coro()
    return f"{task.get_name()} ({getattr(coroutine, '__qualname__', type(coroutine).__qualname__)})"


def number(task: asyncio.Task[Any]) -> tuple[int, str]:
    """A key that sorts tasks by creation, as far as their default names (`Task-12`) show it."""
    title = task.get_name()
    digits = title.rpartition("-")[2]
    return (int(digits) if digits.isdigit() else 0), title


def task(task: asyncio.Task[Any]) -> str:
    """One line: the task and where it is suspended."""
    frame = _innermost(task.get_coro())
    if frame is None:
        return name(task)
    code = frame.f_code
    return f"{name(task)} at {os.path.basename(code.co_filename)}:{frame.f_lineno} in {code.co_qualname}"


def _innermost(coroutine: object) -> FrameType | None:
    """The innermost frame of a suspended coroutine that is not one of asyncio's own."""
    frame: FrameType | None = None
    waiting: Any = coroutine
    while isinstance(waiting, Coroutine):
        if getattr(waiting, "cr_running", False):
            return frame
        here = getattr(waiting, "cr_frame", None)
        if here is not None and (frame is None or not here.f_globals.get("__name__", "").startswith("asyncio.")):
            frame = here
        waiting = getattr(waiting, "cr_await", None)
    return frame


def running(task: asyncio.Task[Any] | None) -> str:
    """What an event loop runs, for error messages."""
    return f"task {name(task)}" if task is not None else "a callback"
