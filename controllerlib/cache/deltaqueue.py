"""Queues whose consumer waits: the asyncio part around the FIFOs and the heap."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from controllerlib.cache.delta import Batch, QueueClosed
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.realfifo import RealFIFO
from controllerlib.clock import Clock, SystemClock, pause
from controllerlib.tasks import Futures, OnceEvent

T = TypeVar("T")


class DeltaQueue:
    """The queue between a reflector and an informer, a RealFIFO or DeltaFIFO with one consumer."""

    synced: OnceEvent

    def __init__(
        self,
        state: RealFIFO | DeltaFIFO,
        *,
        clock: Clock | None = None,
        on_length: Callable[[int], None] | None = None,
        on_step: Callable[[float], None] | None = None,
    ) -> None:
        """`on_length` is called with the length after each change, `on_step` with the seconds that each step took."""
        self.state = state
        self._clock: Clock = clock or SystemClock()
        self._on_length, self._on_step = on_length, on_step
        self._step_began = 0.0
        self._futures = Futures()
        #: Set when the first list was processed.
        self.synced = OnceEvent()
        self._consumers: list[asyncio.Future[None]] = []
        self._producers: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self.state)

    def add(self, obj: Any) -> None:
        """Queue the addition of an object."""
        self.state.add(obj)
        self._changed()

    def update(self, obj: Any) -> None:
        """Queue the update of an object."""
        self.state.update(obj)
        self._changed()

    def delete(self, obj: Any) -> None:
        """Queue the deletion of an object."""
        self.state.delete(obj)
        self._changed()

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Queue a complete list."""
        self.state.replace(objs, version)
        self._changed()

    def resync(self) -> None:
        """Queue a resync."""
        self.state.resync()
        self._changed()

    def bookmark(self, version: str) -> None:
        """Queue a bookmark; ignored by DeltaFIFO."""
        if isinstance(self.state, RealFIFO):
            self.state.bookmark(version)
            self._changed()

    def is_crowded(self) -> bool:
        """Return whether a producer should wait for `room`."""
        return self.state.is_crowded() or self.state.is_blocked()

    async def room(self) -> None:
        """Wait until the consumer has made progress."""
        await pause()
        while self.state.is_blocked():
            future = self._futures.new()
            self._producers.append(future)
            await future

    async def take(self, limit: int | None = None) -> Batch:
        """Wait for the next batch, which must be ended by `finish`; raises QueueClosed when closed and empty."""
        while True:
            batch = self.state.take(limit)
            if batch is not None:
                if self._on_length is not None:
                    self._on_length(len(self.state))
                self._step_began = self._clock.monotonic()
                return batch
            if self.state.closed:
                raise QueueClosed
            future = self._futures.new()
            self._consumers.append(future)
            try:
                await future
            finally:
                if future in self._consumers:
                    self._consumers.remove(future)

    def finish(self, batch: Batch) -> None:
        """End a batch, whether it was processed or failed."""
        self.state.finish(batch)
        if self._on_step is not None:
            self._on_step(self._clock.monotonic() - self._step_began)
        if not self.synced.is_set() and self.state.has_synced():
            self.synced.set()
        if self._producers:
            producers, self._producers = self._producers, []
            for future in producers:
                if not future.done():
                    future.set_result(None)

    async def pop(self, process: Callable[[Batch], Awaitable[None] | None], limit: int | None = 1) -> None:
        """Wait for a batch and process it. An exception of `process` is raised; the batch is not queued again."""
        batch = await self.take(limit)
        try:
            answer = process(batch)
            if inspect.isawaitable(answer):
                await answer
        finally:
            self.finish(batch)

    def has_synced(self) -> bool:
        """Return whether the first list was processed, or another change was queued before any list."""
        return self.state.has_synced()

    def close(self) -> None:
        """Close the queue: `take` returns the queued batches and then raises QueueClosed."""
        self.state.close()
        consumers, self._consumers = self._consumers, []
        for future in consumers:
            if not future.done():
                future.set_result(None)

    def _changed(self) -> None:
        if self._on_length is not None:
            self._on_length(len(self.state))
        if not self.synced.is_set() and self.state.has_synced():
            self.synced.set()
        if self._consumers:
            future = self._consumers.pop(0)
            if not future.done():
                future.set_result(None)


class PopQueue:
    """A FIFO (method `take`) or heap (method `pop`) whose `pop` waits; other operations are those of `state`."""

    def __init__(self, state: Any) -> None:
        self.state = state
        self._take: Callable[[], Any] = getattr(state, "take", None) or state.pop
        self._waiting: list[asyncio.Future[None]] = []

    async def pop(self, process: Callable[[Any], T]) -> T:
        """Wait for the next object and process it; it is removed in any case. Raises QueueClosed when closed and
        empty.
        """
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
        """Add an object and wake a consumer."""
        self.state.add(obj)
        self._wake(1)

    def close(self) -> None:
        """Close the queue; waiting consumers raise QueueClosed."""
        self.state.close()
        self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        while self._waiting and count:
            future = self._waiting.pop(0)
            if not future.done():
                future.set_result(None)
                count -= 1
