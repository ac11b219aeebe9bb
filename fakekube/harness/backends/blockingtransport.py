"""Sends the test's own requests: they block, in sync tests and in async ones, as calls of FakeKube do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controllerlib.client import HttpTransport
from fakekube.server.direct import Answer


class BlockingTransport:
    """An HTTP transport with an event loop in a thread, so that an event loop of the caller does not matter."""

    def __init__(self, make: Callable[[], HttpTransport]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fakekube requests", daemon=True)
        self._thread.start()
        self._transport = make()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer:
        """Status code, headers and decoded body. Raises OSError."""
        work = self._transport.request(method, path, query=query, headers=headers, body=body)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Close the connections and end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        await self._transport.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()
