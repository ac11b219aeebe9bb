"""A small HTTP server and a forward proxy on a real event loop, and a clock that does not wait."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Serves one handler on its own port, on a real event loop."""

    def __init__(self, handle: Handle, tls: ssl.SSLContext | None = None) -> None:
        self._handle, self._tls = handle, tls
        self.asked: list[web.Request] = []
        self.url = ""

    async def __aenter__(self) -> "Server":
        async def note(request: web.Request) -> web.StreamResponse:
            self.asked.append(request)
            return await self._handle(request)

        self._runner = web.ServerRunner(web.Server(note), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._runner.cleanup()


def real(test: Callable[[], Awaitable[None]]) -> None:
    """Run on an ordinary event loop, for real sockets."""
    asyncio.run(test())  # type: ignore[arg-type]


class Instant:
    """A clock whose waits end at once and are recorded."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.time = 0.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep_until(self, deadline: float) -> None:
        self.slept.append(round(deadline - self.time, 6))
        self.time = deadline


class Proxy:
    """Forwards plain requests, and tunnels TLS (CONNECT)."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.headers: list[str] = []
        self.url = ""

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *headers = head.rstrip().split("\r\n")
        self.asked.append(line)
        self.headers += headers
        method, target, _ = line.split(" ")
        address = target if method == "CONNECT" else target.removeprefix("http://").split("/")[0]
        host, _, port = address.partition(":")
        server, sending = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            sending.write(head.replace(f"http://{address}", "").encode())
        try:
            await asyncio.gather(_copy(reader, sending), _copy(server, writer))
        finally:
            sending.close()
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
    except ConnectionError:
        return
