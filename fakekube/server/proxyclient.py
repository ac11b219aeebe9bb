"""Sends requests to aggregated API servers, with the certificate of the front proxy (kube-aggregator `proxyHandler`).

Like `webhookclient`, this module makes requests with aiohttp.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fakekube.apiserver.needs import Forward, Forwarded, Service
from fakekube.apiserver.serviceresolver import Unresolved
from fakekube.server.certificates import FrontProxy
from fakekube.server.webhookclient import NO_CERTIFICATES, Limit, go_message, trusting

#: Response headers that belong to the connection.
_DROPPED = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "server", "te", "trailer", "transfer-encoding", "upgrade"}
)


#: Returns the status and the JSON of an answer.
LocalServer = Callable[[Forward], tuple[int, bytes]]

_JSON = (("Content-Type", "application/json"),)


class ProxyClient:
    """Forwards requests. `base_url` returns the address of a Service and raises Unresolved; `limit` as of webhooks.

    The front proxy is created on first use, because its certificates take time.
    """

    def __init__(self, base_url: Callable[[Service], str], limit: Limit) -> None:
        self._base_url, self._limit = base_url, limit
        self._made: FrontProxy | None = None
        self._contexts: dict[tuple[str, bool], ssl.SSLContext] = {}
        self.local: dict[Service, LocalServer] = {}
        """Servers in this process, which are called at once."""

    @property
    def front_proxy(self) -> FrontProxy:
        if self._made is None:
            self._made = FrontProxy()
        return self._made

    def url_of(self, service: Service) -> str:
        """The URL at which a Service is reached. Raises Unresolved."""
        return self._base_url(service)

    async def send(self, forward: Forward) -> Forwarded:
        """The response to a request when its headers have arrived, or the reason why there is none; never raises."""
        local = self.local.get(forward.service)
        if local is not None:
            status, body = local(forward)
            return Forwarded(status, _JSON, Whole(body))
        try:
            base = self._base_url(forward.service)
        except Unresolved as problem:
            return Forwarded(problem=str(problem), unresolved=True)
        async with self._limit(base, None):
            return await self._sent(forward, base)

    async def fetch(self, forward: Forward, seconds: float) -> tuple[Forwarded, bytes]:
        """The response to a request and its body, within `seconds`; never raises."""
        try:
            async with self._limit(self._base_url(forward.service), seconds):
                answer = await self.send(forward)
                stream = answer.stream
                return answer, await stream.read() if isinstance(stream, ResponseStream | Whole) else b""
        except Unresolved as problem:
            return Forwarded(problem=str(problem), unresolved=True), b""
        except TimeoutError:
            return Forwarded(problem="context deadline exceeded"), b""
        except ConnectionError as error:
            return Forwarded(problem=str(error)), b""

    async def _sent(self, forward: Forward, base: str) -> Forwarded:
        import aiohttp  # imported late: it is large, and most clusters have no aggregated API servers
        from yarl import URL

        path = forward.target.partition("?")[0]
        host = urlsplit(base).netloc
        headers = [*forward.headers, ("X-Forwarded-Host", host), ("X-Forwarded-Proto", "https")]
        headers.append(("X-Forwarded-Uri", path))
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
        )
        try:
            context = self._context(forward.ca, verified=forward.verified)
        except ssl.SSLError:
            await session.close()
            return Forwarded(problem=NO_CERTIFICATES)
        try:
            name = f"{forward.service.name}.{forward.service.namespace}.svc"
            response = await session.request(
                forward.method,
                URL(base + forward.target, encoded=True),
                data=forward.body or None,
                headers=headers,
                ssl=context,
                server_hostname=name,
                allow_redirects=False,
            )
        except aiohttp.ClientError as error:
            await session.close()
            return Forwarded(problem=go_message(error, base))
        except BaseException:
            await session.close()
            raise
        passed = tuple((key, value) for key, value in response.headers.items() if key.lower() not in _DROPPED)
        return Forwarded(response.status, passed, ResponseStream(session, response, self._waiting(forward, base)))

    def _waiting(self, forward: Forward, base: str) -> Callable[[], AbstractAsyncContextManager[None]]:
        """Around each wait for the body. A watch may wait for ever, and time goes on meanwhile."""
        parts = urlsplit(forward.target)
        watches = parse_qs(parts.query).get("watch", ["false"])[0].lower() in ("true", "1")
        return nullcontext if watches else partial(self._limit, base, None)

    def _context(self, ca: str, *, verified: bool) -> ssl.SSLContext:
        """A TLS context that presents the certificate of the front proxy."""
        context = self._contexts.get((ca, verified))
        if context is None:
            context = trusting(ca)
            if not verified:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self.front_proxy.present(context)
            self._contexts[ca, verified] = context
        return context


class Whole:
    """A body that has arrived; implements `needs.Stream`."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def read(self) -> bytes:
        return self._body

    async def aclose(self) -> None:
        """There is no connection."""


class ResponseStream:
    """The body of a response, as it arrives; implements `needs.Stream`. `waiting`: around each wait for more."""

    def __init__(self, session: Any, response: Any, waiting: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._session, self._response, self._waiting = session, response, waiting

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            async with self._waiting():
                chunk = await self._response.content.readany()
            if not chunk:
                return
            yield chunk

    async def read(self) -> bytes:
        """The whole body; closes the connection. Raises ConnectionError if it ends before the body."""
        from aiohttp import ClientError

        try:
            return b"".join([chunk async for chunk in self])
        except ClientError as error:
            raise ConnectionError(str(error)) from None
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connection."""
        self._response.close()
        await self._session.close()
