"""The server's end of an HTTP connection, where it differs from aiohttp's: usual requests, time-outs, half-closed
connections, data that is held back until changes are stored, and sessions over WebSockets (commands, attached
containers, forwarded ports)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from aiohttp import WSMessage, WSMsgType, web
from aiohttp.web_protocol import RequestHandler

from fakekube.apiserver.response import Upgrade
from fakekube.server.httpshortcut import InPlace, Shortcut

#: Seconds in which a client must send the head of a request (`ReadHeaderTimeout` of `SecureServingInfo.Serve`).
HEADER_TIMEOUT = 32.0

#: The bytes of later requests that are read while an answer is being made.
MAX_LATER = 64 * 1024

#: aiohttp's name for whether a connection has left HTTP, and the one before 3.14.
UPGRADED = "_upgraded" if hasattr(RequestHandler, "_upgraded") else "_upgrade"


class HeldWrites:
    """The order in which held connections continue: data is sent, and connections are closed, at `release`."""

    __slots__ = ("_calls", "is_held")

    def __init__(self) -> None:
        self.is_held: bool = False
        self._calls: list[tuple[Callable[..., object], tuple[Any, ...]]] = []

    def hold(self) -> None:
        """Send nothing from now on."""
        self.is_held = True

    def release(self) -> None:
        """Send what was held."""
        self.is_held = False
        calls, self._calls = self._calls, []
        for call, arguments in calls:
            call(*arguments)

    def call(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call something now, or at `release`."""
        if self.is_held:
            self._calls.append((call, arguments))
        else:
            call(*arguments)


class HeldTransport:
    """A transport whose writes may be held; `abort` is not."""

    __slots__ = ("_held", "_transport", "write")

    def __init__(self, transport: asyncio.Transport, held: HeldWrites) -> None:
        self._transport, self._held = transport, held
        write = transport.write

        def send(data: bytes) -> None:
            if held.is_held:
                held.call(write, bytes(data))  # the buffer of the caller may change
            else:
                write(data)

        self.write: Callable[[bytes], None] = send

    def writelines(self, chunks: list[bytes]) -> None:
        self.write(b"".join(chunks))

    def close(self) -> None:
        self._held.call(self._transport.close)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class HttpConnection(RequestHandler):
    """A protocol of aiohttp, which answers the usual requests itself until an unusual one comes.

    `streams`: the current response is a stream, which ends when the client does. `agent`: the User-Agent of the last
    request. `controls`: that was one for the control API.
    """

    __slots__ = (
        "_body",
        "_certificate",
        "_delayed",
        "_head_due",
        "_held",
        "_later",
        "_secure",
        "_shortcut",
        "agent",
        "controls",
        "streams",
    )

    def __init__(
        self, *args: Any, shortcut: Shortcut | None = None, held: HeldWrites | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._shortcut, self._held = shortcut, held
        self._certificate: Any = None
        self._delayed: asyncio.Task[None] | None = None
        self._later = b""
        self.streams: bool = False
        self.agent: str = ""
        self.controls: bool = False
        self._body: Any = None
        self._head_due: asyncio.TimerHandle | None = None
        self._secure = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        held = HeldTransport(cast("asyncio.Transport", transport), self._held) if self._held is not None else transport
        super().connection_made(cast("asyncio.Transport", held))
        # noted now: a transport of TLS that is being closed has no such information any longer, and raises
        self._secure = transport.get_extra_info("sslcontext") is not None
        if self._secure:
            self._certificate = getattr(transport.get_extra_info("ssl_object"), "client_certificate", None)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._delayed is not None:
            self._later += data
            if len(self._later) > MAX_LATER and self.transport is not None:
                self.transport.pause_reading()
        elif self._shortcut is None or not self._answered(self._shortcut, data):
            self._shortcut = None
            self._received(data)

    def _answered(self, shortcut: Shortcut, data: bytes) -> bool:
        """Whether the request is answered in place."""
        transport = self.transport
        if transport is None or self.writing_paused:
            return False
        try:
            found = shortcut.answer(data, self._certificate)
        except ConnectionResetError:
            transport.abort()
            return True
        if found is None:
            return False
        self._head_arrived()
        self.agent = found.agent
        if found.waits or found.rest is not None:
            self._delayed = self._loop.create_task(self._delivered(shortcut, found))
        else:
            self._write(found.data, found)
        return True

    def _write(self, data: bytes, found: InPlace) -> None:
        if self.transport is not None:
            self.transport.write(data)
            if found.closes:
                self.transport.close()

    async def _delivered(self, shortcut: Shortcut, found: InPlace) -> None:
        """Send an answer that is not complete, or whose events watches have not got yet."""
        try:
            self._write(await shortcut.completed(found), found)
        finally:
            self._delayed = None
            later, self._later = self._later, b""
            if self.transport is not None:
                self.transport.resume_reading()
                if later:
                    self.data_received(later)

    def close(self) -> None:
        """Answer no further request."""
        self._shortcut = None
        super().close()

    def force_close(self) -> None:
        """End the connection at once."""
        self._shortcut = None
        super().force_close()

    def _ended(self, _: asyncio.Task[None]) -> None:
        if self.transport is not None:
            self.transport.close()

    def _received(self, data: bytes) -> None:
        """What aiohttp answers."""
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._head_arrived()
            self._body = self._messages[-1][1] if self._messages else None
        elif data and self._head_due is None and self._is_idle():
            self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._head_arrived()
        if self._delayed is not None:
            self._delayed.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more. As Go's server does, answer the request that it has sent before closing."""
        if self._delayed is not None and self.transport is not None and not self._secure:
            self._delayed.add_done_callback(self._ended)
            return True
        if self.streams or self._is_idle() or not self._is_complete() or self._secure:
            return None  # with TLS, asyncio closes both directions
        self.close()  # after the answer
        return True

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        waiting = self._waiter is not None and not self._waiter.done()
        return not self._request_count or (waiting and not self._messages and not getattr(self, UPGRADED))

    def _is_complete(self) -> bool:
        """Whether the body of the last request has arrived."""
        return self._body is None or bool(self._body.is_eof())

    def _expect_head(self) -> None:
        self._head_due = self._loop.call_later(HEADER_TIMEOUT, self._head_is_late)

    def _head_arrived(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _head_is_late(self) -> None:
        self._head_due = None
        if self._is_idle() and self.transport is not None:
            self.transport.close()


class HttpProtocols(web.Server):
    """As `web.Server`, with connections of this module."""

    #: Answers the usual requests; None: aiohttp answers all.
    shortcut: Shortcut | None = None

    #: Holds what connections send; None: everything is sent at once.
    held: HeldWrites | None = None

    #: Puts TLS below a connection; None: the socket has it, or there is none.
    secured: Callable[[HttpConnection], Any] | None = None

    def __call__(self) -> Any:
        made = HttpConnection(self, loop=self._loop, shortcut=self.shortcut, held=self.held, **self._kwargs)
        return made if self.secured is None else self.secured(made)


async def web_socket(
    http: web.BaseRequest, upgrade: Upgrade, silence: Callable[[float], Coroutine[Any, Any, None]]
) -> web.StreamResponse:
    """Pass messages between a WebSocket and its session until one of them ends. `silence` waits for some seconds."""
    socket = web.WebSocketResponse(protocols=[upgrade.protocol] if upgrade.protocol else ())
    session = upgrade.session
    await socket.prepare(http)
    receiving = asyncio.create_task(socket.receive())
    try:
        answers = session.opened()
        while True:
            for message in answers:
                await socket.send_bytes(message)
            if session.done:
                break
            if not await _arrives(receiving, silence(session.silence) if session.silence else None):
                answers = session.silent()
                continue
            frame = receiving.result()
            if frame.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                break
            answers = session.received(frame.data if isinstance(frame.data, bytes) else frame.data.encode())
            receiving = asyncio.create_task(socket.receive())
        receiving.cancel()
        await asyncio.wait([receiving])
        await socket.close()
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        receiving.cancel()
        session.left()
    return socket


async def _arrives(receiving: asyncio.Task[WSMessage], silence: Coroutine[Any, Any, None] | None) -> bool:
    """Wait for a message, or for the end of `silence`. A time-out of `WebSocketResponse.receive` would close it."""
    if silence is None:
        await asyncio.wait([receiving])
        return True
    waiting = asyncio.create_task(silence)
    try:
        await asyncio.wait([receiving, waiting], return_when=asyncio.FIRST_COMPLETED)
        return receiving.done()
    finally:
        waiting.cancel()
