"""Shuts a bubble down: threads, tasks, asynchronous generators and connections, in this order."""

import asyncio
from asyncio import base_events
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.durations import SECOND
from fakekube.virtualtime.errors import NotQuiescent
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.taskregistry import MAX_CANCELS, never_log
from fakekube.virtualtime.threads.bubblethread import BubbleThread

#: Virtual seconds in which a cancelled task may clean up; the default terminationGracePeriodSeconds of a pod.
GRACE = 30


#: Takes the tasks that still run after they were cancelled and had time to clean up.
Survived = Callable[[Sequence[asyncio.Task[Any]]], None]


def _unnoticed(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """The default of `survived`."""


def shutdown(loop: VirtualTimeLoop) -> None:
    """End everything on `loop`. Raises NotQuiescent or Deadlock for a thread or task that does not end, after the rest
    has been ended."""
    with ExitStack() as steps:  # callbacks run in reverse order, each even if those before it failed
        steps.callback(lambda: loop.drive(_end_connections(loop)))
        steps.callback(lambda: loop.drive(loop.shutdown_asyncgens()))
        steps.callback(lambda: loop.drive(_end_tasks(loop)))
        steps.callback(loop.threads.close)
        steps.callback(end_loops_of_threads, loop)
        steps.callback(loop.processes.thaw_all)


async def end_tasks(
    loop: VirtualTimeLoop,
    tasks: Sequence[asyncio.Task[Any]],
    *,
    grace: float = GRACE,
    survived: Survived = _unnoticed,
) -> None:
    """Cancel `tasks` and wait until they end, as SIGTERM does: at this instant, then for `grace` virtual seconds.

    Those that are left are cancelled again, and the tasks of all processes with them. Raises NotQuiescent naming those
    that catch every cancellation; nothing waits for them after that. `survived` is called with those that are
    left after `grace`.
    """
    await _cancel(loop, tasks)
    if grace and not _all_done(tasks):
        await _wait(loop, tasks, grace)
        survived([task for task in tasks if not task.done()])
    for _ in range(MAX_CANCELS):
        if _all_done(tasks):
            return
        await _cancel(loop, [*tasks, *loop.tasks.under_test()])
    left = [task for task in tasks if not task.done()]
    for task in left:
        never_log(task)  # the error below names it
        loop.tasks.own(task)
    if left:
        raise NotQuiescent(
            "tasks do not end: "
            + ", ".join(map(describe.task, left))
            + f". They catch CancelledError and go on: they were cancelled {MAX_CANCELS + 1} times"
        )


async def left_after_grace(loop: VirtualTimeLoop, tasks: Sequence[asyncio.Task[Any]]) -> Sequence[asyncio.Task[Any]]:
    """Wait until tasks that were cancelled end. Returns those that have not after `GRACE` virtual seconds."""
    await _wait(loop, tasks, GRACE)
    return [task for task in tasks if not task.done()]


def end_loops_of_threads(loop: VirtualTimeLoop) -> None:
    """Cancel what threads run with `asyncio.run`, as Ctrl-C does; wait for `GRACE` virtual seconds until they end."""
    running = [thread for thread in loop.threads.active() if thread.loop is not None and thread.loop.is_running()]
    if running:
        loop.threads.are_cancelled = True
        loop.drive(_end_loops(loop, running))


async def _end_loops(loop: VirtualTimeLoop, threads: Sequence[BubbleThread]) -> None:
    for thread in threads:
        if thread.loop is not None:
            thread.loop.call_soon_threadsafe(_cancel_main, thread.loop)
    await loop.settle()
    limit = loop.clock.us + GRACE * SECOND
    while any(thread.is_alive() for thread in threads) and loop.clock.us < limit and loop.next_timer() is not None:
        await loop.step(limit, GRACE)


def _cancel_main(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the task for which `run_until_complete` waits."""
    ends_run = getattr(base_events, "_run_until_complete_cb", None)
    for task in asyncio.all_tasks(loop):
        callbacks: Sequence[tuple[object, object]] = getattr(task, "_callbacks", None) or ()
        if any(callback is ends_run for callback, _ in callbacks):
            task.cancel()


def _all_done(tasks: Iterable[asyncio.Task[Any]]) -> bool:
    return all(task.done() for task in tasks)


async def _cancel(loop: VirtualTimeLoop, tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        if not task.done():
            task.cancel()
    await loop.settle()


async def _wait(loop: VirtualTimeLoop, tasks: Sequence[asyncio.Task[Any]], grace: float) -> None:
    limit = loop.clock.us + round(grace * SECOND)
    while loop.clock.us < limit and not _all_done(tasks) and loop.next_timer() is not None:
        await loop.step(limit, grace)


async def _end_tasks(loop: VirtualTimeLoop) -> None:
    tasks = loop.tasks.under_test()
    try:
        await end_tasks(loop, tasks)
    finally:
        for task in tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                loop.call_exception_handler(
                    {"message": "exception while a task was ended", "exception": error, "task": task}
                )


async def _end_connections(loop: VirtualTimeLoop) -> None:
    for server in loop.network.servers():
        server.close()
    for end in loop.network.open_pipes():
        end.abort()
    transports: Mapping[int, Any] = loop._transports  # type: ignore[attr-defined]
    for transport in tuple(transports.values()):
        transport.abort()
    await _turn()  # connection_lost is called on the next turn, and may schedule callbacks itself
    this = asyncio.current_task()
    for task in (*loop.tasks, *_started_eagerly(loop)):  # those of the harness, which serve connections
        if task is not this:
            task.cancel()
    await _turn()


def _started_eagerly(loop: VirtualTimeLoop) -> list[asyncio.Task[Any]]:
    """The tasks that were not created by `loop.create_task`: servers of aiohttp start theirs eagerly (CPython 3.12)."""
    known = set(loop.tasks)
    found = (task for task in asyncio.all_tasks(loop) if task not in known)
    return sorted(found, key=lambda task: (len(task.get_name()), task.get_name()))


async def _turn() -> None:
    for _ in range(2):
        await asyncio.sleep(0)
