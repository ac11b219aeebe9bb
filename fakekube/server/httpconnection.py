"""The server's end of an HTTP connection, where it differs from aiohttp's: time-outs and half-closed connections."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

#: Seconds in which a client must send the head of a request (`ReadHeaderTimeout` of `SecureServingInfo.Serve`).
HEADER_TIMEOUT = 32.0


class HttpConnection(RequestHandler):
    """A protocol of aiohttp. `streams`: the current response is a stream, which ends when the client does.

    `agent`: the User-Agent of the last request. `controls`: that was one for the control API.
    """

    __slots__ = ("_body", "_head_due", "_secure", "agent", "controls", "streams")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.streams: bool = False
        self.agent: str = ""
        self.controls: bool = False
        self._body: Any = None
        self._head_due: asyncio.TimerHandle | None = None
        self._secure = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # noted now: a transport of TLS that is being closed has no such information any longer, and raises
        self._secure = transport.get_extra_info("sslcontext") is not None
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        before = self._request_count
        super().data_received(data)
        if self._request_count > before:
            self._head_arrived()
            self._body = self._messages[-1][1] if self._messages else None
        elif data and self._head_due is None and self._is_idle():
            self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._head_arrived()
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more. As Go's server does, answer the request that it has sent before closing."""
        if self.streams or self._is_idle() or not self._is_complete() or self._secure:
            return None  # with TLS, asyncio closes both directions
        self.close()  # after the answer
        return True

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        waiting = self._waiter is not None and not self._waiter.done()
        return not self._request_count or (waiting and not self._messages and not self._upgraded)

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

    def __call__(self) -> HttpConnection:
        return HttpConnection(self, loop=self._loop, **self._kwargs)
