"""Waiting for the next of a FIFO or a heap (client-go: tools/cache, Queue.Pop)."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from controllerlib.cache.delta import QueueClosed

T = TypeVar("T")


class PopQueue:
    """A shell around a state with `take` (FIFO) or `pop` (heap): `pop` waits, everything else is the state's."""

    def __init__(self, state: Any) -> None:
        self.state = state
        self._take: Callable[[], Any] = getattr(state, "take", None) or state.pop
        self._waiting: list[asyncio.Future[None]] = []

    async def pop(self, process: Callable[[Any], T]) -> T:
        """Wait for the next object and process it; it is gone either way. Raises QueueClosed when closed and empty."""
        while True:
            obj = self._take()
            if obj is not None:
                return process(obj)
            if self.state.closed:
                raise QueueClosed
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    def add(self, obj: Any) -> None:
        """Add to the state, and let who waits look."""
        self.state.add(obj)
        self._wake(1)

    def close(self) -> None:
        """Close the state; who waits gets QueueClosed."""
        self.state.close()
        self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        while self._waiting and count:
            future = self._waiting.pop(0)
            if not future.done():
                future.set_result(None)
                count -= 1
