"""The followed logs of containers: a stream of bytes that ends with the container (`kubectl logs --follow`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NoReturn

from fakekube.apiserver.containerlog import FollowedLog
from fakekube.apiserver.storage.store import Change, Store
from fakekube.server.systemclock import Clock

_PODS = "pods"

OnWrite = Callable[[Callable[[Change], None]], Callable[[], None]]


class LogStreams:
    """The open streams of a server. `clock` returns that of the server, which may be replaced."""

    def __init__(self, store: Store, clock: Callable[[], Clock], on_write: OnWrite) -> None:
        self._store, self._clock, self._on_write = store, clock, on_write
        self._open: dict[LogStream, None] = {}

    def stream(self, log: FollowedLog) -> LogStream:
        """The bytes of a log while they are written."""
        return LogStream(log, self._store, self._clock, self._on_write, self._open)

    def end(self) -> None:
        """End the open streams, as a restarting server does."""
        for one in tuple(self._open):
            one.end()

    def retire(self) -> None:
        """Break the reference cycle with the server, which is closed."""
        self._clock, self._on_write = _retired, _retired


def _retired(*arguments: object) -> NoReturn:
    raise RuntimeError("the server is closed")


class LogStream:
    """Implements `needs.Stream`."""

    def __init__(
        self,
        log: FollowedLog,
        store: Store,
        clock: Callable[[], Clock],
        on_write: OnWrite,
        open_: dict[LogStream, None],
    ) -> None:
        self._log, self._store, self._clock, self._on_write, self._open = log, store, clock, on_write, open_
        self._changed = asyncio.Event()
        self._ended = False
        self._forget: Callable[[], None] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        log = self._log
        self._forget = self._on_write(self._written)
        self._open[self] = None
        while not self._ended:
            self._changed.clear()
            entry = self._store.get(_PODS, log.key)
            if data := log.read(entry.object if entry is not None else None, self._clock().now()):
                yield data
            if log.is_complete:
                return
            if not self._changed.is_set():
                await self._wait()

    async def _wait(self) -> None:
        """Wait until the pod changes, or the next line is written."""
        due = self._log.next_at
        seconds = None if due is None else max(0.0, (due - self._clock().now()).total_seconds())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _written(self, change: Change) -> None:
        if (change.collection, change.path) == (_PODS, self._log.key):
            self._changed.set()

    def end(self) -> None:
        """End the stream."""
        self._ended = True
        self._changed.set()

    async def aclose(self) -> None:
        self._open.pop(self, None)
        if self._forget is not None:
            self._forget()
            self._forget = None
