"""A server on an ordinary event loop, raw requests to it, and checks that it leaves nothing behind."""

import asyncio
import functools
import io
import os
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import aiohttp
import orjson

from fakekube.apiserver.user import User
from fakekube.server import bootstrap
from fakekube.server.http import HttpServer, listen
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock

Object = dict[str, Any]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

#: Seconds after which a test that waits for something has failed.
FUSE = 10.0


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on a new loop; it must leave no task, thread or open file."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        files, threads = _open_files(), set(threading.enumerate())
        asyncio.run(_alone(test(*args, **kwargs)))
        assert not _open_files() - files
        assert not set(threading.enumerate()) - threads

    return run


async def _alone(work: Coroutine[Any, Any, None]) -> None:
    """Tasks that still run at the end must end by themselves."""
    async with asyncio.timeout(FUSE * 3):
        await work
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left)


def _open_files() -> set[str]:
    """The open files, also of earlier tests, which the garbage collector may close meanwhile."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
    return found


def new_runner(tokens: Mapping[str, User] | None = None, authorization_mode: str = "AlwaysAllow") -> ServerRunner:
    clock, chance = SystemClock(), SystemRandom()
    apiserver = bootstrap.api_server(clock.now(), chance, authorization_mode=authorization_mode)
    return ServerRunner(apiserver, clock, chance, tokens=tokens)


class Served:
    """A listening server, and a client of it."""

    def __init__(self, server: HttpServer, session: aiohttp.ClientSession, end: Callable[[], Awaitable[None]]) -> None:
        self.server, self.session = server, session
        self.runner, self.url = server.runner, server.url
        self.end = end
        """Stop the server, as leaving its context does."""

    @property
    def revision(self) -> int:
        return self.runner.apiserver.store.revision

    async def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Code, decoded body, headers. A body that is not bytes is sent as JSON; `_` in header names stands for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = orjson.dumps(body)
        if body is not None and "Content-Type" not in sent:
            sent["Content-Type"] = "application/json"
        data = io.BytesIO(body) if body is not None else None
        async with self.session.request(method, self.url + path, data=data, headers=sent) as response:
            answer = await response.read()
            json = "json" in response.headers.get("Content-Type", "")
            return response.status, orjson.loads(answer) if json and answer else answer.decode(), response.headers

    async def refused(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, str]:
        """Code, reason and message of an error, which must change nothing."""
        before = self.revision
        code, status, _ = await self.call(method, path, body, **headers)
        assert code >= 400, status
        assert self.revision == before, "a refusal that wrote"
        if isinstance(status, str):
            return code, "", status
        assert (status["kind"], status["code"]) == ("Status", code)
        return code, status.get("reason", ""), status["message"]

    async def raw(self, data: bytes, *, half_close: bool = False) -> bytes:
        """The answer of the server to these bytes until it closes the connection."""
        reader, writer = await self.dial()
        try:
            writer.write(data)
            if half_close:
                writer.write_eof()
            async with asyncio.timeout(FUSE):
                return await reader.read()
        finally:
            await closed(writer)

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.server.port)

    async def until(self, fact: Callable[[], object]) -> None:
        """Wait until a predicate is true."""
        async with asyncio.timeout(FUSE):
            while not fact():  # noqa: ASYNC110
                await asyncio.sleep(0)  # noqa: TID251 - gives the server a turn; no time passes


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except ConnectionError:
        pass


@asynccontextmanager
async def served(
    runner: ServerRunner | None = None,
    *,
    tls: ssl.SSLContext | None = None,
    trust: ssl.SSLContext | bool = True,
    tokens: Mapping[str, User] | None = None,
    host: str = "127.0.0.1",
) -> AsyncIterator[Served]:
    """A server and a client; no watch may be open at the end."""
    runner = runner or new_runner(tokens)
    async with AsyncExitStack() as listening:
        server = await listening.enter_async_context(listen(runner, host, tls=tls))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            yield Served(server, session, listening.aclose)
    assert not runner.watches
