"""HTTP and HTTPS in, a core call, JSON or a stream out. The only module that knows aiohttp."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from fakekube.controlplane import ControlPlane
from fakekube.core import codec
from fakekube.core.request import Request, parse_query
from fakekube.core.response import Response
from fakekube.core.status import StatusError, too_large
from fakekube.core.watch import Watch, error_event

#: Seconds that open connections get to end when a server stops (0 would mean for ever).
SHUTDOWN_TIMEOUT = 1.0

#: Seconds after which an idle connection is closed.
KEEPALIVE_TIMEOUT = 3600.0

#: A stream's buffered bytes beyond which a client that does not read is waited for.
_READS_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_HEADERS = {"Cache-Control": "no-cache, private"}


class HttpServer:
    """A listening server. `url` is how to reach it, `port` the one that it got."""

    def __init__(self, plane: ControlPlane, host: str, port: int, *, secure: bool) -> None:
        self.plane, self.host, self.port = plane, host, port
        self._scheme = "https" if secure else "http"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return f"<HttpServer {self.url} {self.plane!r}>"


@asynccontextmanager
async def listen(
    plane: ControlPlane, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HttpServer]:
    """Serve until the context ends; port 0 takes a free one. Open watches end before the connections do.

    Raises OSError where the address cannot be had.
    """
    handler = _Handler(plane)
    server = web.Server(handler.handle, access_log=None, keepalive_timeout=KEEPALIVE_TIMEOUT, handler_cancellation=True)
    runner = web.ServerRunner(server)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        bound = runner.addresses[0]
        found = HttpServer(plane, host, bound[1], secure=tls is not None)
        plane.core.address = f"{bound[0]}:{bound[1]}"
        yield found
    finally:
        plane.end_watches()
        for task in list(handler.streams):
            task.cancel()
        runner._shutdown_timeout = SHUTDOWN_TIMEOUT
        await runner.cleanup()


class _Handler:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.streams: set[asyncio.Task[Any]] = set()

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await self._request(http)
        except StatusError as error:
            request = Request(http.method, http.path, headers=_Headers(http.headers))
            return _plain(http, self._plane.refuse(request, error))
        response = await self._plane.answer(request)
        if response.reset:
            return _broken(http)
        if response.watch is not None:
            return await self._stream(http, response, response.watch)
        return _plain(http, response)

    async def _request(self, http: web.BaseRequest) -> Request:
        headers = http.headers
        user = self._plane.authenticate(headers.get(hdrs.AUTHORIZATION))
        body = await _body(http) if http.method in _READS_BODY and http.body_exists else b""
        url = http.rel_url
        return Request(http.method, url.path, parse_query(url.raw_query_string), _Headers(headers), body, user)

    async def _stream(self, http: web.BaseRequest, response: Response, watch: Watch) -> web.StreamResponse:
        stream = web.StreamResponse(status=200, headers={**_HEADERS, "Content-Type": "application/json"})
        stream.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self.streams.add(task)
        try:
            await stream.prepare(http)
            async with contextlib.aclosing(self._plane.stream(watch)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    await stream.write(b"".join([_line(event) for event in batch]))
            await stream.write_eof()
        except ConnectionError:
            pass  # the client has gone; there is nobody to tell
        finally:
            self.streams.discard(task)
        return stream


def _line(event: Any) -> bytes:
    return error_event(event) if isinstance(event, StatusError) else event.line


class _Headers(Mapping[str, str]):
    """Request headers by lower-case name (aiohttp's mapping does not mind the case)."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> str:
        return self._raw[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._raw.get(name, default)

    def __iter__(self) -> Any:
        return (name.lower() for name in self._raw)

    def __len__(self) -> int:
        return len(self._raw)


async def _body(http: web.BaseRequest) -> bytes:
    """The request's body. Raises 413 beyond the limit, without reading the rest, and 400 where it cannot be read."""
    length = http.content_length
    if length is not None and length > codec.MAX_BODY:
        raise too_large(f"Request entity too large: limit is {codec.MAX_BODY}")
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in http.content.iter_any():
            size += len(chunk)
            if size > codec.MAX_BODY:
                raise too_large(f"Request entity too large: limit is {codec.MAX_BODY}")
            chunks.append(chunk)
    except (HttpProcessingError, web.PayloadAccessError) as error:
        raise StatusError(400, "BadRequest", f"unable to read the request body: {error}") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _plain(http: web.BaseRequest, response: Response) -> web.StreamResponse:
    content_type, body = response.content_type, response.body
    if body is None:
        data = b""
    elif content_type == codec.YAML:
        data = codec.encode_yaml(body.to_object())
    else:
        data = body.encode()
        if content_type == codec.JSON:
            data += b"\n"
    answer = web.Response(
        body=data, status=response.status, headers={**_HEADERS, "Content-Type": content_type, **response.headers}
    )
    for warning in response.warnings:
        answer.headers.add("Warning", f'299 - "{_escaped(warning)}"')
    if response.status == 413:
        answer.force_close()
    return answer


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _broken(http: web.BaseRequest) -> web.StreamResponse:
    """No answer: the connection is cut."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response()
