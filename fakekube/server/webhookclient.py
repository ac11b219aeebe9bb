"""Calls webhooks (`apiserver/pkg/util/webhook`). The only module of fakekube that makes requests with aiohttp."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from fakekube.apiserver.faults import Faults
from fakekube.apiserver.needs import Post, Reply, Service
from fakekube.apiserver.serviceresolver import Unresolved
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.server.systemclock import Clock
from fakekube.struct import replace

#: The maximum number of bytes that are read of an answer.
MAX_ANSWER = 64 * 1024 * 1024

#: What kube-apiserver sends to webhooks of admission and of conversion alike (`setGlobalDefaults`).
_HEADERS = {
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "User-Agent": "kube-apiserver-admission",
}

#: The message for a caBundle without certificates.
NO_CERTIFICATES = "unable to load root certificates: unable to parse bytes as PEM block"


#: Limits the time of a call, which is made within the context, to the server at a URL: raises TimeoutError after some
#: seconds (None: never).
Limit = Callable[[str, float | None], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def in_time_of_loop(url: str, seconds: float | None) -> AsyncIterator[None]:
    """The default Limit: the time of the event loop."""
    async with asyncio.timeout(seconds):
        yield


class WebhookClient:
    """Posts to webhooks. `resolve` returns the address of a Service and raises Unresolved.

    `services` are the base URLs (`https://127.0.0.1:4433`) of Services that are served elsewhere, for example by the
    test; they take precedence. With port 0 they apply to all ports.

    `limit` may hold virtual time while a server in real time is called.
    """

    def __init__(self, resolve: Callable[[Service], str]) -> None:
        self.services: dict[Service, str] = {}
        self.limit: Limit = in_time_of_loop
        self._resolve = resolve
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def post(self, post: Post) -> Reply:
        """The answer, or the reason why there is none; never raises."""
        url = post.url
        if post.service is not None:
            try:
                base = self.base_url(post.service)
            except Unresolved as problem:
                return Reply(problem=_posting(url, str(problem)))
            url = f"{base}/{url.partition('://')[2].partition('/')[2]}"
        try:
            async with self.limit(url, post.timeout):
                return await self._posted(post, url)
        except TimeoutError:
            return self.timed_out(post)

    async def reply(self, post: Post, faults: Faults, clock: Clock) -> Reply:
        """The answer, or what a fault makes of it."""
        rule = faults.take_webhook(post) if faults.rules else None
        if rule is None:
            return await self.post(post)
        if rule.delay:
            await clock.sleep_until(clock.monotonic() + rule.delay)
        if rule.reset == "before":
            return self.refused(post)
        await clock.sleep_until(clock.monotonic() + max(0.0, post.timeout - rule.delay))
        return self.timed_out(post)

    @staticmethod
    def timed_out(post: Post) -> Reply:
        """The reply for a webhook that has not answered in time."""
        return Reply(problem=_posting(post.url, "context deadline exceeded"))

    @staticmethod
    def refused(post: Post) -> Reply:
        """The reply for a webhook that does not listen."""
        host = post.url.partition("://")[2].partition("/")[0]
        return Reply(problem=_posting(post.url, f"dial tcp {host}: connect: connection refused"))

    def base_url(self, service: Service) -> str:
        """The URL at which a Service is reached. Raises Unresolved."""
        mapped = self.services.get(service) or self.services.get(replace(service, port=0))
        return mapped or f"https://{self._resolve(service)}"

    def is_mapped(self, service: Service) -> bool:
        """Whether `services` has the address of a Service."""
        return service in self.services or replace(service, port=0) in self.services

    async def _posted(self, post: Post, url: str) -> Reply:
        import aiohttp  # imported late: it is large, and most clusters have no webhooks

        try:
            context = self._context(post.ca)
        except ssl.SSLError:
            return Reply(problem=NO_CERTIFICATES)
        name, headers = None, dict(_HEADERS)
        if post.service is not None:
            name = f"{post.service.name}.{post.service.namespace}.svc"
            headers["Host"] = f"{name}:{post.service.port}"
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
                session.post(url, json=post.body, headers=headers, ssl=context, server_hostname=name) as response,
            ):
                text = bytearray()
                async for chunk in response.content.iter_any():
                    text += chunk
                    if len(text) > MAX_ANSWER:
                        return Reply(problem=_posting(post.url, f"the answer is longer than {MAX_ANSWER} bytes"))
                return _reply(response.status, bytes(text))
        except aiohttp.ClientError as error:
            return Reply(problem=_posting(post.url, go_message(error, url)))

    def _context(self, ca: str) -> ssl.SSLContext:
        """A TLS context that trusts only these certificates. Raises SSLError if they are not PEM."""
        context = self._contexts.get(ca)
        if context is None:
            context = trusting(ca)
            self._contexts[ca] = context
        return context


def trusting(ca: str) -> ssl.SSLContext:
    """A TLS context that trusts only these certificates ("": those of the system). Raises SSLError."""
    if not ca.isascii():
        raise ssl.SSLError(NO_CERTIFICATES)  # the ssl module raises TypeError
    return ssl.create_default_context(cadata=ca or None)


def base_url(text: str) -> str:
    """The base URL at which a Service is reached: https, a host and a port. Raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError(f"{text!r} is not a URL like https://127.0.0.1:9443")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"{text!r} has a path: requests have the path of the webhook's configuration")
    return f"https://{parts.netloc}"


def _posting(url: str, why: str) -> str:
    return f"failed to call webhook: Post {go_quote(url)}: {why}"


def go_message(error: Any, url: str) -> str:
    """The message of Go's HTTP client for a failed connection."""
    import aiohttp

    where = url.partition("://")[2].partition("/")[0]
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
        if "self-signed" in reason or "unable to get local issuer" in reason:
            reason = "certificate signed by unknown authority"
        return f"tls: failed to verify certificate: x509: {reason}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        host = where.rpartition(":")[0] or where
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return f"dial tcp {where}: connect: connection refused"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error)


def _reply(status: int, text: bytes) -> Reply:
    shown = text.decode("utf-8", "replace").strip()
    if status >= 500:
        what = f"an error on the server ({go_quote(shown)}) has prevented the request from succeeding"
        return Reply(problem=f"failed to call webhook: {what}")
    if status >= 400:
        what = _REFUSALS.get(status, "the server rejected our request for an unknown reason")
        return Reply(problem=f"failed to call webhook: {what}")
    try:
        return Reply(document=json.loads(text))
    except (ValueError, RecursionError) as problem:
        found = gojson.syntax_problem(text) or str(problem)
        return Reply(problem=f"failed to call webhook: {found}")


#: HTTP status -> the message of Go's client.
_REFUSALS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    415: "the server was unable to process a media type",
    429: "the server has received too many requests and has asked us to try again later",
}
