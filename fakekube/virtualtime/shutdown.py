"""Shuts a bubble down: threads, tasks, asynchronous generators and connections, in this order."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from fakekube.virtualtime import describe
from fakekube.virtualtime.loop import VirtualTimeLoop


def shutdown(loop: VirtualTimeLoop) -> None:
    """End everything on `loop`. Raises NotQuiescent or Deadlock for a thread or task that does not end, after the rest
    has been ended."""
    with ExitStack() as steps:  # callbacks run in reverse order, each even if those before it failed
        steps.callback(lambda: loop.drive(_end_connections(loop)))
        steps.callback(lambda: loop.drive(loop.shutdown_asyncgens()))
        steps.callback(lambda: loop.drive(_end_tasks(loop)))
        steps.callback(loop.threads.close)
        steps.callback(loop.processes.thaw_all)


async def _end_tasks(loop: VirtualTimeLoop) -> None:
    this = asyncio.current_task()
    # in the order of their creation: all_tasks returns a set
    tasks = sorted((task for task in asyncio.all_tasks(loop) if task is not this), key=describe.number)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
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
    for _ in range(2):  # connection_lost is called on the next turn, and may schedule callbacks itself
        await asyncio.sleep(0)
