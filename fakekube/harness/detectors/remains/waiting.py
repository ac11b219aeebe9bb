"""What tasks wait for, if no timer and no connection ends their wait, and whether anything else can."""

from __future__ import annotations

import asyncio
import gc
import threading
import types
from collections.abc import Iterable, Iterator, Sequence
from contextvars import Context
from pathlib import Path
from typing import Any

from fakekube.harness.detectors.texts.places import is_of_library
from fakekube.struct import Struct
from fakekube.virtualtime.patches.threadwaits import frames_of
from fakekube.virtualtime.patches.threadwaits import wait_of as wait_of_thread
from fakekube.virtualtime.threads.bubblethread import BubbleThread

#: Modules whose waits are named by the code that calls them.
_PRIMITIVES = ("asyncio.", "anyio.")

#: What refers to no objects of an operator, or to all of them.
_OPAQUE = (
    type, types.ModuleType, types.CodeType, types.BuiltinFunctionType, Context, asyncio.AbstractEventLoop, str, bytes,
    int, float, types.NoneType,
)  # fmt: skip

#: The most objects that one search visits.
_MOST = 3_000

#: Primitives that only those can release that hold them.
_HELD = (asyncio.Lock, asyncio.Semaphore)


class Wait(Struct, frozen=True):
    """A wait that no timer and no connection ends. what, place: for a text. objects: those that would end it."""

    what: str
    place: str
    objects: tuple[object, ...]
    is_lock: bool

    def __str__(self) -> str:
        return f"{self.what} ({self.place})"


class Waits:
    """The waits of the tasks and threads of a bubble at this moment."""

    def __init__(self, tasks: Sequence[asyncio.Task[Any]], threads: Sequence[BubbleThread]) -> None:
        """tasks: the unfinished ones that are not the harness's, of all event loops."""
        self._tasks, self._threads = tasks, threads

    def of(self, task: asyncio.Task[Any], seen: frozenset[int] = frozenset()) -> Wait | None:
        """What a task waits for; None if it may go on by itself, or if that is not known."""
        future = getattr(task, "_fut_waiter", None)
        if future is None or future.done() or id(task) in seen:
            return None
        loop = task.get_loop()
        if _reaches(loop._scheduled, (future, task), 4):  # type: ignore[attr-defined]
            return None
        inner = [future] if isinstance(future, asyncio.Task) else [one for one in self._tasks if _calls(one, future)]
        inner = [one for one in inner if one is not task and not one.done()]
        if inner:
            waits = [self.of(one, seen | {id(task)}) for one in inner]
            return next(iter(waits), None) if all(waits) else None
        for thread in self._threads:
            if _reaches(_jobs(thread), (future,), 14):
                return self.of_thread(thread)
        return _wait_for(task, future)

    def of_thread(self, thread: BubbleThread) -> Wait | None:
        """What a thread waits for, likewise."""
        found = wait_of_thread(thread)
        return None if found is None else Wait(found.what, found.place, found.objects, found.is_lock)

    def may_be_ended(self, wait: Wait) -> bool:
        """Whether a timer, or a task or thread of the code under test that can go on, refers to what a wait is for.

        A lock is released only by what has acquired it.
        """
        if wait.is_lock and not isinstance(wait.objects[-1], _HELD):
            return self._is_held_by_active(wait)
        loops = {id(task.get_loop()): task.get_loop() for task in self._tasks}
        if any(_reaches(loop._scheduled, wait.objects, 6) for loop in loops.values()):  # type: ignore[attr-defined]
            return True
        for task in self._tasks:
            coros = [one for one in _chain(task.get_coro()) if _is_tested(one)]
            if coros and _could_end(coros, wait) and _reaches(coros, wait.objects, 6) and self.of(task) is None:
                return True
        return any(
            _reaches(_locals(thread), wait.objects, 6) for thread in self._threads if wait_of_thread(thread) is None
        )

    def _is_held_by_active(self, wait: Wait) -> bool:
        """Whether the thread that holds a lock can go on."""
        owners = {thread.real.ident: thread for thread in self._threads if thread.real is not None}
        seen: set[int] = set()
        owner = next((one.owner for one in wait.objects if hasattr(one, "owner")), 0)
        if owner == threading.get_ident():
            return True  # a coroutine holds it
        while owner in owners and owner not in seen:
            seen.add(owner)
            found = wait_of_thread(owners[owner])
            if found is None or not found.is_lock:
                return True
            owner = found.owner
        return False


def is_shared(objects: Iterable[object]) -> bool:
    """Whether anything but the code that waits for them refers to objects."""
    kinds = (types.FrameType, types.CoroutineType, types.MethodType, types.AsyncGeneratorType)
    return any(
        not isinstance(other, kinds) and not _is_own(other, one)
        for one in objects
        if not isinstance(one, asyncio.Future)
        for other in gc.get_referrers(one)
        if other is not objects
    )


def handlers_of_kopf(task: asyncio.Task[Any]) -> str:
    """The handler of kopf that a task calls; empty if it calls none, or a daemon, which may wait for ever."""
    chain = list(_chain(task.get_coro()))
    names = [(getattr(_frame(one), "f_globals", {}).get("__name__", ""), _name(one)) for one in chain]
    if ("kopf._core.engines.daemons", "_daemon") in names:
        return ""
    for one, name in zip(chain, names, strict=True):
        frame = _frame(one)
        if name == ("kopf._core.actions.invocation", "invoke") and frame is not None:
            return getattr(frame.f_locals.get("fn"), "__qualname__", "a handler")
    return ""


def _wait_for(task: asyncio.Task[Any], future: asyncio.Future[Any]) -> Wait | None:
    """The wait of a task for a future that is neither a task nor a job of a thread."""
    objects: list[object] = [future]
    what = "a future"
    place = ""
    for one in reversed(list(_chain(task.get_coro()))):
        frame = _frame(one)
        if frame is None:
            continue
        if not frame.f_globals.get("__name__", "").startswith(_PRIMITIVES):
            if is_of_library(frame.f_code.co_filename):
                return None  # a client, which waits for an answer
            place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_qualname}"
            break
        owner = frame.f_locals.get("self")
        if type(owner).__module__.startswith(("asyncio.locks", "asyncio.queues", "asyncio.mixins")):
            what = f"an asyncio.{type(owner).__name__}"
            objects.append(owner)
    return Wait(what, place, tuple(objects), isinstance(objects[-1], _HELD)) if place else None


def _could_end(coros: Sequence[Any], wait: Wait) -> bool:
    """Whether code can release a lock: it has acquired it with `async with`, or calls its methods."""
    if not wait.is_lock:
        return True
    lock = wait.objects[-1]
    for one in coros:
        names = getattr(getattr(one, "cr_code", None), "co_names", ())
        held = (r for r in gc.get_referents(one) if isinstance(r, types.MethodType) and r.__name__ == "__aexit__")
        if "release" in names or any(method.__self__ is lock for method in held):
            return True
    return False


def _is_own(other: object, one: object) -> bool:
    """Whether a referrer of a primitive is part of it, or of the search for it."""
    return isinstance(other, list | tuple | Wait) and any(item is one for item in _items(other))


def _items(other: object) -> Iterable[object]:
    return other if isinstance(other, list | tuple) else ()


def _calls(task: asyncio.Task[Any], future: asyncio.Future[Any]) -> bool:
    """Whether the end of a task completes a future: of `gather`, `wait`, `shield` or a task group."""
    return bool(task._callbacks) and _reaches(task._callbacks, (future,), 6)


def _chain(coro: Any) -> Iterator[Any]:
    """A suspended coroutine and what it awaits, outermost first."""
    while coro is not None:
        yield coro
        following = getattr(coro, "cr_await", None) or getattr(coro, "ag_await", None)
        if following is None and type(coro).__name__.startswith(("async_generator_", "anext_")):
            following = next((one for one in gc.get_referents(coro) if isinstance(one, types.AsyncGeneratorType)), None)
        coro = following


def _frame(coro: Any) -> types.FrameType | None:
    return getattr(coro, "cr_frame", None) or getattr(coro, "ag_frame", None)


def _name(coro: Any) -> str:
    return getattr(coro, "__qualname__", "")


def _is_tested(coro: Any) -> bool:
    frame = _frame(coro)
    return frame is not None and not is_of_library(frame.f_code.co_filename)


def _locals(thread: BubbleThread) -> Sequence[object]:
    frames = [one for one in frames_of(thread) if not is_of_library(one.f_code.co_filename)]
    return [value for frame in frames for value in frame.f_locals.values()]


def _jobs(thread: BubbleThread) -> Sequence[object]:
    """What a thread of a pool runs, with the futures that get its result."""
    found = [value for frame in frames_of(thread) if _is_of_pool(frame) for value in frame.f_locals.values()]
    return found if thread.job is None else [thread.job, *found]


def _is_of_pool(frame: types.FrameType) -> bool:
    return bool(frame.f_globals.get("__name__", "").startswith("concurrent.futures"))


def _reaches(roots: Iterable[object], targets: Sequence[object], depth: int) -> bool:
    """Whether objects refer to one of the targets, directly or by others up to a depth, but not through tasks."""
    wanted, seen, level = set(map(id, targets)), set[int](), list(roots)
    for _ in range(depth):
        following: list[object] = []
        for one in level:
            if id(one) in wanted:
                return True
            if id(one) in seen or isinstance(one, _OPAQUE) or len(seen) > _MOST:
                continue
            seen.add(id(one))
            if isinstance(one, asyncio.TimerHandle) and one.cancelled():
                continue
            if isinstance(one, types.FunctionType):
                following += [one.__closure__, one.__defaults__, one.__kwdefaults__]
            elif not isinstance(one, asyncio.Task):
                following += gc.get_referents(one)
        level = following
    return any(id(one) in wanted for one in level)
