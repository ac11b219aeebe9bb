"""Runs coroutines for sync tests, async tests and threads on the cluster's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fakekube.server.runner import WouldWait
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.simulatedprocess import HARNESS, context_of


class Driver:
    """Runs coroutines on the cluster's event loop, whatever the context of the caller."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def in_async_test(self) -> bool:
        """Whether the caller is a coroutine on the cluster's loop. Raises RuntimeError on another loop."""
        running = asyncio._get_running_loop()
        if running is None or running is self._loop:
            return running is not None
        raise RuntimeError(
            f"this code runs on an event loop ({type(running).__module__}.{type(running).__name__}) that is not the "
            "cluster's, where time is real: write the test as `async def` with the fixture `fakekube`, and do not use "
            "asyncio.run() or a loop of another fixture's scope"
        )

    def now_or_driven(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to completion. In an async test, it must not wait."""
        if self._closing(work):
            context_of(HARNESS).run(run_at_once, work)
        else:
            self._driven(work)

    def driven(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to completion and return its result. Raises WouldWait in an async test."""
        if self._closing(work):
            work.close()
            raise WouldWait("an async test must await the coroutine")
        return self._driven(work)

    def _closing(self, work: Coroutine[Any, Any, Any]) -> bool:
        """As `in_async_test`; closes `work` if that raises."""
        try:
            return self.in_async_test()
        except RuntimeError:
            work.close()
            raise

    def _driven(self, work: Coroutine[Any, Any, Any]) -> Any:
        if self._loop.is_running():  # the caller is a thread of the bubble
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        return self._loop.drive(work)


def run_at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that does not wait, from inside a running loop. Raises RuntimeError if it waits.

    A bare yield (`asyncio.sleep(0)`) does not count as waiting; other tasks do not run during it.
    """
    try:
        while work.send(None) is None:
            pass
    except StopIteration:
        return
    work.close()
    raise RuntimeError("this call would wait: await it in a coroutine")
