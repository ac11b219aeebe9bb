"""Calls to servers that may live in real time, in another process or thread: virtual time is held until they answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

from fakekube.virtualtime.loop import VirtualTimeLoop


class RealServers:
    """Limits the time of calls that the cluster makes on `loop`, to webhooks and to aggregated APIs."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    @asynccontextmanager
    async def limit(self, url: str, seconds: float | None) -> AsyncIterator[None]:
        """Around a call to the server at `url`. Raises TimeoutError after `seconds` (None: never).

        They are of virtual time for a server of the bubble. For all others they are of real time, and virtual time is
        held until the call ends: without a limit, for no longer than the bubble's patience.
        """
        loop, servers = self._loop, self._loop.network.thread_servers
        host, port = _address(url)
        async with asyncio.timeout(None) as timeout:
            with ExitStack() as held:
                is_held = True

                def release(seconds: float | None) -> None:
                    """End the hold; the call has `seconds` of virtual time left."""
                    nonlocal is_held
                    if is_held:
                        is_held = False
                        held.close()
                        if seconds is not None:
                            timeout.reschedule(loop.time() + seconds)

                def listening() -> None:
                    """A thread of the bubble, which runs now, listens there: that is the server."""
                    if loop.network.is_inside(host, port):
                        loop.call_soon_threadsafe(release, seconds)

                if loop.network.is_inside(host, port):
                    release(seconds)
                else:
                    why = f"a call to {host}:{port}, a server outside of the bubble"
                    held.enter_context(loop.clock.hold(why, seconds=seconds, expired=lambda: release(0)))
                    servers.listening.add(listening)
                    held.callback(servers.listening.discard, listening)
                try:
                    yield
                finally:
                    is_held = False


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 443
