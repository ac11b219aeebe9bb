"""Coroutines run for who asks: for a test at once, for an async test without waiting, for a thread on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fakekube.server.runner import WouldWait
from fakekube.virtualtime.loop import VirtualTimeLoop


class Driver:
    """Runs what a test asks for on the cluster's loop."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def in_async_test(self) -> bool:
        """Whether the caller is a coroutine on the cluster's loop. RuntimeError in one on another loop."""
        running = asyncio._get_running_loop()
        if running is None or running is self._loop:
            return running is not None
        raise RuntimeError(
            "this test runs on an event loop that is not the cluster's: fakekube runs async tests itself, without "
            "@pytest.mark.asyncio or asyncio_mode=auto"
        )

    def now_or_driven(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end, which in an async test must not take any waiting."""
        if self.in_async_test():
            run_at_once(work)
        elif self._loop.is_running():  # a thread of the bubble asks
            asyncio.run_coroutine_threadsafe(work, self._loop).result()
        else:
            self._loop.drive(work)

    def driven(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine returns, run to its end. Raises WouldWait in an async test."""
        if self.in_async_test():
            work.close()
            raise WouldWait("an async test must await it")
        return self._loop.drive(work)


def run_at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that does not wait, from inside a running loop. Raises RuntimeError where it does wait after all.

    A bare yield (`asyncio.sleep(0)`) is no wait: the others only get no turn.
    """
    try:
        while work.send(None) is None:
            pass
    except StopIteration:
        return
    work.close()
    raise RuntimeError("this would wait: a coroutine must await it")
