"""Serves the API over HTTP and HTTPS, and the webhooks of tests over HTTPS, with aiohttp."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import ClientError, HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from fakekube.apiserver.damage import Damage, damaged
from fakekube.apiserver.needs import Stream
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.watch import Watch, WatchEvent, error_frame, error_line
from fakekube.apiserver.wire import codec, warning
from fakekube.apiserver.wire.hostport import join_host_port
from fakekube.apiserver.wire.request import Request, is_escaped, parse_query
from fakekube.apiserver.wire.status import StatusError, too_large
from fakekube.server import applications
from fakekube.server.controldoor import PREFIX, Asked, Control
from fakekube.server.httpconnection import HeldWrites, HttpConnection, HttpProtocols, web_socket
from fakekube.server.httpmessages import HEADERS, READS_BODY, RequestHeaders, completed_in_turns, encode, encoding
from fakekube.server.httpshortcut import Shortcut
from fakekube.server.process.listening import EVERY_ADDRESS, listening
from fakekube.server.runner import ServerRunner

if TYPE_CHECKING:
    from fakekube.apiserver.auth.clientcertificate import ClientCertificate
    from fakekube.server.tlsconnection import RequestingContext

#: Seconds that open connections have to end when a server stops (aiohttp takes 0 as no limit).
SHUTDOWN_TIMEOUT = 1.0

#: Seconds after which an idle connection is closed.
KEEPALIVE_TIMEOUT = 3600.0

#: The maximum size of the request line and of a header (Go's `http.DefaultMaxHeaderBytes`), and number of headers.
MAX_HEADER_BYTES = 1 << 20
MAX_HEADERS = 10_000

#: The logger of aiohttp. Malformed HTTP is answered but not logged.
_log = logging.getLogger(f"{__name__}.http")
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


class HttpServer:
    """A listening server. `url` reaches it from this machine; `port` is the actual port."""

    runner: ServerRunner
    host: str
    port: int

    def __init__(
        self, runner: ServerRunner, host: str, port: int, *, secure: bool, server: web.Server | None = None
    ) -> None:
        self.runner, self.host, self.port = runner, host, port
        self._server = server
        self._scheme = "https" if secure else "http"

    def abort_connections(self, user_agent: str = "*") -> int:
        """Break the connections of clients with this User-Agent (a shell pattern), as the end of the process does.

        Those to the control API stay. Returns their number.
        """
        broken = 0
        for one in list(self._server.connections) if self._server is not None else ():
            if not isinstance(one, HttpConnection) or one.transport is None:
                continue
            if not one.controls and fnmatchcase(one.agent, user_agent):
                one.transport.abort()
                broken += 1
        return broken

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}"

    @property
    def address(self) -> str:
        """Host and port; the loopback address if it listens on all addresses."""
        return join_host_port(EVERY_ADDRESS.get(self.host, self.host), self.port)

    def __repr__(self) -> str:
        return f"<HttpServer {self.url} {self.runner!r}>"


@asynccontextmanager
async def listen(
    runner: ServerRunner,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    tls: ssl.SSLContext | RequestingContext | None = None,
    sock: socket.socket | None = None,
    held: HeldWrites | None = None,
) -> AsyncIterator[HttpServer]:
    """Serve until the context ends; port 0 selects a free port. Open watches end before the connections are closed.

    `sock`: the result of `listening`, which is closed at the end; else `host` and `port` are listened on. Entering the
    context does not wait. `held`: holds back what connections send. Raises OSError if the address is not available.
    """
    handler = _Handler(runner, secure=tls is not None)
    server = HttpProtocols(
        handler.handle,
        logger=_log,
        access_log=None,
        keepalive_timeout=KEEPALIVE_TIMEOUT,
        handler_cancellation=True,  # a request is cancelled when its client disconnects
        auto_decompress=False,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        max_headers=MAX_HEADERS,
    )
    server.shortcut, server.held = Shortcut(runner), held
    of_sockets: ssl.SSLContext | None = None
    if isinstance(tls, ssl.SSLContext):
        of_sockets = tls
    elif tls is not None:
        server.secured = tls.secured
    site_runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_TIMEOUT)
    await site_runner.setup()
    try:
        if sock is None:
            sock = listening(host, port)
        # the loop closes the socket
        await web.SockSite(site_runner, sock, ssl_context=of_sockets).start()
        found = HttpServer(runner, host, sock.getsockname()[1], secure=tls is not None, server=server)
        runner.apiserver.address, runner.apiserver.secure = found.address, tls is not None
        yield found
    finally:
        await handler.end_streams()
        await runner.aclose()
        await site_runner.cleanup()
        handler.retire()
        server.shortcut = None


@asynccontextmanager
async def listen_for(
    handler: Any, tls: ssl.SSLContext, failed: Callable[[Exception], None] | None = None
) -> AsyncIterator[str]:
    """Serve an application of the test over HTTPS on a free port; yields its URL. Raises TypeError (`interface_of`).

    `failed` is called with what the application raises, other than responses.
    """
    async with contextlib.AsyncExitStack() as serving:
        match applications.interface_of(handler):
            case "wsgi":
                handler = applications.wsgi(handler)
            case "asgi":
                handler = applications.asgi(handler, await serving.enter_async_context(applications.lifespan(handler)))
        yield await serving.enter_async_context(_listening_for(handler, tls, failed))


@asynccontextmanager
async def _listening_for(
    handler: Any, tls: ssl.SSLContext, failed: Callable[[Exception], None] | None
) -> AsyncIterator[str]:
    site_runner: web.BaseRunner
    if isinstance(handler, web.Application):
        site_runner = web.AppRunner(handler, access_log=None)
    else:
        site_runner = web.ServerRunner(
            web.Server(handler, logger=_log, access_log=None), shutdown_timeout=SHUTDOWN_TIMEOUT
        )
    await site_runner.setup()
    if failed is not None and site_runner.server is not None:
        site_runner.server.request_handler = _reporting(site_runner.server.request_handler, failed)
    try:
        sock = listening("127.0.0.1", 0)
        await web.SockSite(site_runner, sock, ssl_context=tls).start()
        yield f"https://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        await site_runner.cleanup()


def _reporting(handler: Callable[[Any], Any], failed: Callable[[Exception], None]) -> Callable[[Any], Any]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await handler(request)
        except web.HTTPException:
            raise
        except Exception as error:  # aiohttp answers it with 500
            failed(error)
            raise
        return response

    return handle


class _Handler:
    def __init__(self, runner: ServerRunner, *, secure: bool) -> None:
        self._runner, self._secure = runner, secure
        self._streams: set[asyncio.Task[Any]] = set()
        self._proxied: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def end_streams(self) -> None:
        """End every open watch; connections whose clients do not read are aborted."""
        self._ending = True
        self._runner.end_watches()
        for task in self._proxied:
            task.cancel()
        if self._streams:
            _, late = await asyncio.wait(self._streams, timeout=SHUTDOWN_TIMEOUT)
            for task in late:
                task.cancel()

    def retire(self) -> None:
        """Drop the runner: aiohttp's server, which refers to this handler, is in a reference cycle."""
        del self._runner

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        if (early := _unreadable(http)) is not None:
            return early
        runner, url, headers = self._runner, http.rel_url, RequestHeaders(http.headers)
        if runner.control is not None and _controls(http):
            return await self._controlled(http, runner.control)
        client = runner.processes.connected(*_addresses(http)) if runner.processes is not None else None
        if runner.is_down or (client is not None and client.fenced):
            return _broken(http)
        try:
            user = runner.authenticate(headers.get(hdrs.AUTHORIZATION), _certificate(http) if self._secure else None)
            body = await _body(http) if http.method in READS_BODY and http.body_exists else b""
        except StatusError as error:
            request = Request(http.method, http.path, headers=headers)
            return _plain(request, runner.refuse(request, error))
        request = Request(http.method, url.path, parse_query(url.raw_query_string), headers, body, user)
        found = runner.begin(request, client)  # without a coroutine, as most requests do not wait
        response = found if isinstance(found, Response) else await runner.complete(found)
        if runner.woken:
            await runner.events_sent()
        if response.reset or (client is not None and client.fenced):
            return _broken(http)
        if response.flow is not None:
            response.headers |= runner.flow_headers(response)
        if response.watch is not None:
            return await self._stream(http, response, response.watch)
        if response.stream is not None:
            return await self._forwarded(http, response, response.stream)
        if response.upgrade is not None:
            return await web_socket(http, response.upgrade, partial(runner.silence, *_addresses(http)))
        if response.damage is not None:
            return await self._damaged(http, request, response, response.damage)
        return await self._encoded(request, response)

    async def _encoded(self, request: Request, response: Response) -> web.StreamResponse:
        """The answer of a request. Other requests have their turn between the parts of a large body."""
        headers, body = await completed_in_turns(encoding(request, response), self._runner.pause)
        return _message(response, headers, body)

    async def _controlled(self, http: web.BaseRequest, control: Control) -> web.StreamResponse:
        """Answer a request for the control API."""
        headers = {name.lower(): value for name, value in http.headers.items()}
        peer, _ = _addresses(http)
        url = http.rel_url
        asked = Asked(http.method, url.path, parse_query(url.raw_query_string), headers, b"", (peer or ("",))[0])
        try:
            body = await _body(http, control.limit(asked))
        except StatusError as error:
            return web.json_response(error.to_object(), status=error.code)
        answer = await control.answer(asked._replace(body=body))
        more = {"Content-Type": answer.content_type, **answer.headers}
        if answer.stream is None:
            return web.Response(status=answer.status, body=answer.body, headers=more)
        return await self._forwarded(http, Response(answer.status, content_type="", headers=more), answer.stream)

    async def _damaged(
        self, http: web.BaseRequest, request: Request, response: Response, damage: Damage
    ) -> web.StreamResponse:
        """Send a body with a fault."""
        headers, whole = encode(request, response)
        if damage.kind == "malformed":
            headers = {**HEADERS, "Content-Type": "text/html"}
        body = damaged(damage.kind, whole)
        stream = web.StreamResponse(status=response.status, headers=headers)
        stream.content_length = len(whole) if damage.kind == "cut" else len(body)
        half = len(body) // 2
        if damage.held is not None:
            await damage.held()
        try:
            await stream.prepare(http)
            await stream.write(body[:half])
            if damage.delay:
                clock = self._runner.clock
                await clock.sleep_until(clock.monotonic() + damage.delay)
            await stream.write(body[half:])
            if damage.kind == "cut":
                _close(http)
            else:
                await stream.write_eof()
        except ConnectionError:
            pass  # the client has disconnected
        return stream

    async def _stream(self, http: web.BaseRequest, response: Response, watch: Watch) -> web.StreamResponse:
        write = _line if response.content_type == codec.JSON else _frame
        headers = {**HEADERS, **response.headers, "Content-Type": response.content_type}
        stream = web.StreamResponse(status=200, headers=headers)
        _add_warnings(stream, response)
        if http.version >= HttpVersion11:
            stream.enable_chunked_encoding()
        else:
            stream.force_close()  # HTTP/1.0: the end of the connection ends the body
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        if isinstance(http.protocol, HttpConnection):
            http.protocol.streams = True
        try:
            await stream.prepare(http)
            if self._runner.processes is None and http.transport is not None:
                sink = _Sink(http.protocol, http.transport, write, chunked=stream.chunked)
                self._runner.streams.deliver_in_place(watch, sink)
            async with contextlib.aclosing(self._runner.stream(watch)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    await stream.write(b"".join([write(event) for event in batch]))
                    del batch  # the first batch may be large, and the next one may take long
            await stream.write_eof()
        except ConnectionError:
            _close(http)  # the client has disconnected, or a fault breaks the connection
        finally:
            self._streams.discard(task)
            if isinstance(http.protocol, HttpConnection):
                http.protocol.streams = False
        return stream

    async def _forwarded(self, http: web.BaseRequest, response: Response, body: Stream) -> web.StreamResponse:
        """Pass the response of an aggregated API server on while it arrives."""
        headers = {**HEADERS, **response.headers}
        if response.content_type:
            headers["Content-Type"] = response.content_type
        stream = web.StreamResponse(status=response.status, headers=headers)
        if hdrs.CONTENT_LENGTH not in stream.headers and http.version >= HttpVersion11:
            stream.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self._proxied.add(task)
        try:
            await stream.prepare(http)
            try:
                async for chunk in body:
                    await stream.write(chunk)
            except asyncio.CancelledError:
                if not self._ending:
                    raise  # the client has disconnected
            await stream.write_eof()
        except (ConnectionError, ClientError):
            stream.force_close()  # one of the two has disconnected
        finally:
            self._proxied.discard(task)
            await body.aclose()
        return stream


def _controls(http: web.BaseRequest) -> bool:
    """Whether a request is one for the control API. Notes this, and its User-Agent, at its connection."""
    controls = http.rel_url.path.startswith(PREFIX)
    if isinstance(http.protocol, HttpConnection):
        http.protocol.agent, http.protocol.controls = http.headers.get(hdrs.USER_AGENT, ""), controls
    return controls


class _Sink:
    """The connection of a watch (`watchstreams.Sink`)."""

    def __init__(
        self, protocol: Any, transport: asyncio.Transport, encode: Callable[[Any], bytes], *, chunked: bool
    ) -> None:
        self._protocol, self._transport, self._encode, self._chunked = protocol, transport, encode, chunked

    def is_ready(self) -> bool:
        return not self._protocol.writing_paused and not self._transport.is_closing()

    def send(self, events: Sequence[WatchEvent]) -> None:
        data = b"".join([self._encode(event) for event in events])
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)


def _certificate(http: web.BaseRequest) -> ClientCertificate | None:
    """The certificate of the client, if any."""
    connection = http.transport.get_extra_info("ssl_object") if http.transport is not None else None
    return getattr(connection, "client_certificate", None)  # `ssl.SSLObject` has none


def _line(event: Any) -> bytes:
    return error_line(event) if isinstance(event, StatusError) else event.line


def _frame(event: Any) -> bytes:
    return error_frame(event) if isinstance(event, StatusError) else event.frame


async def _body(http: web.BaseRequest, limit: int | None = None) -> bytes:
    """The body of a request. Raises 413 above the limit (None: that of the API), without reading the rest, and 400 if
    it cannot be read."""
    limit = codec.MAX_BODY if limit is None else limit
    length = http.content_length
    if length is not None and length > limit:
        raise too_large(f"Request entity too large: limit is {limit}")
    if http.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and http.version >= HttpVersion11:
        await http.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        http.writer.output_size = 0
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in http.content.iter_any():
            size += len(chunk)
            if size > limit:
                raise too_large(f"Request entity too large: limit is {limit}")
            chunks.append(chunk)
    except (HttpProcessingError, web.PayloadAccessError) as error:
        raise StatusError(400, "BadRequest", f"unable to read the request body: {error}") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _plain(request: Request, response: Response) -> web.StreamResponse:
    return _message(response, *encode(request, response))


def _message(response: Response, headers: dict[str, str], body: bytes) -> web.StreamResponse:
    answer = web.Response(body=body, status=response.status, headers=headers)
    _add_warnings(answer, response)
    if response.status == 413:
        answer.force_close()
    return answer


def _unreadable(http: web.BaseRequest) -> web.StreamResponse | None:
    """The answer to a request that Go's HTTP server cannot read; None for all others."""
    if http.version < HttpVersion10:
        return _malformed(http)
    # aiohttp itself refuses a request without a host from 3.14 on
    has_host = http.version < HttpVersion11 or hdrs.HOST in http.headers
    return None if has_host and is_escaped(http.rel_url.raw_path) else _bad_request()


def _add_warnings(answer: web.StreamResponse, response: Response) -> None:
    if response.warnings:
        for value in warning.header_values(response.warnings):
            answer.headers.add("Warning", value)


def _bad_request() -> web.StreamResponse:
    """The answer of Go's HTTP server to a malformed URL, and to a request without a host."""
    answer = web.Response(text="400 Bad Request", status=400)
    answer.force_close()
    return answer


def _malformed(http: web.BaseRequest) -> web.StreamResponse:
    """The answer of Go's HTTP server to a request without a version (HTTP/0.9)."""
    if http.transport is not None:
        http.transport.write(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
            b"400 Bad Request"
        )
        http.transport.close()
    return web.Response()


def _close(http: web.BaseRequest) -> None:
    """Close the connection after what has been sent."""
    if http.transport is not None:
        http.transport.close()


def _addresses(http: web.BaseRequest) -> tuple[Any, Any]:
    """The addresses of the client and of the server."""
    if http.transport is None:
        return None, None
    return http.transport.get_extra_info("peername"), http.transport.get_extra_info("sockname")


def _broken(http: web.BaseRequest) -> web.StreamResponse:
    """Abort the connection without an answer."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response()
