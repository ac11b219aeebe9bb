"""Answers the usual requests of a connection in place: no task, no stream and no object of the HTTP library for each.

A request is usual if it has arrived whole, its head has nothing that needs an HTTP library (chunks, an upgrade, an
expectation), and it is answered without waiting and with one body. Everything else is aiohttp's, and so is the rest of
the connection then.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fakekube.apiserver.response import Response
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.request import Request, parse, parse_query
from fakekube.apiserver.wire.status import StatusError
from fakekube.server.httpmessages import READS_BODY, RequestHeaders, completed_in_turns, messaging
from fakekube.server.runner import ServerRunner, Suspended

if TYPE_CHECKING:
    from fakekube.apiserver.auth.clientcertificate import ClientCertificate

#: A request line whose path needs neither unquoting nor normalisation.
_LINE = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/apis?/[\w/.:~-]*|/(?:healthz|livez|readyz|version))(?:\?([!-~]*))? HTTP/1\.1\r\n"
)
_UNCLEAR_PATH = re.compile(r"//|/\.")

#: A header without folding and without bytes that are not ASCII.
_FIELD = re.compile(r"([\w!#$%&'*+.^`|~-]+):[ \t]*((?:[!-~](?:[ -~]*[!-~])?)?)[ \t]*")

#: What a head may not have here.
_UNUSUAL = frozenset({"connection", "expect", "te", "trailer", "transfer-encoding", "upgrade"})

#: Longer heads are left to aiohttp, so that few of them fill the memory of those that are kept.
_MAX_HEAD = 8 * 1024

#: The parts of a resource that are read and written as objects are; others are connections.
_SUBRESOURCES = frozenset(
    {"", "approval", "binding", "ephemeralcontainers", "eviction", "finalize", "resize", "scale", "status", "token"}
)


class Head(NamedTuple):
    """The headers of a request, and the length of its body in bytes."""

    headers: RequestHeaders
    length: int


class InPlace(NamedTuple):
    """An answer. `closes`: it is the last one of its connection. `waits`: watches get the events of the write first.

    `rest`: the steps that encode a large one, between which other requests have their turn; `data` is empty then.
    `agent`: the User-Agent of the request.
    """

    data: bytes
    closes: bool
    waits: bool
    rest: Generator[None, None, tuple[bytes, bytes]] | None = None
    agent: str = ""


class Shortcut:
    """Answers requests of one server, whose clients are in other processes."""

    def __init__(self, runner: ServerRunner) -> None:
        self._runner = runner

    async def completed(self, found: InPlace) -> bytes:
        """The data of an answer that is not sent at once."""
        if found.waits:
            await self._runner.events_sent()
        if found.rest is None:
            return found.data
        await self._runner.pause()  # after the first step
        return b"".join(await completed_in_turns(found.rest, self._runner.pause))

    def answer(self, data: bytes, certificate: ClientCertificate | None) -> InPlace | None:
        """The answer to the request that `data` is; None: it is not a usual one, and nothing has been done.

        Raises ConnectionResetError if a fault breaks the connection.
        """
        runner = self._runner
        unusual = runner.processes is not None or runner.is_down or runner.interception is not None
        if unusual or runner.apiserver.faults.rules:
            return None
        line = _LINE.match(data)
        if line is None:
            return None
        end = data.find(b"\r\n\r\n", line.end() - 2)
        head = _head(data[line.end() : end]) if 0 <= end < _MAX_HEAD else None
        if head is None or len(data) != end + 4 + head.length:
            return None
        method, path, query = line.group(1).decode(), line.group(2).decode(), line.group(3)
        if _UNCLEAR_PATH.search(path):
            return None
        return self._answered(method, path, query.decode() if query else "", head, data[end + 4 :], certificate)

    def _answered(
        self, method: str, path: str, query: str, head: Head, body: bytes, certificate: ClientCertificate | None
    ) -> InPlace | None:
        runner, headers = self._runner, head.headers
        try:
            user = runner.authenticate(headers.get("authorization"), certificate)
        except StatusError as error:
            request = Request(method, path, headers=headers)
            return self._encoded(request, runner.refuse(request, error))
        if len(body) > codec.MAX_BODY:
            return None
        request = Request(method, path, parse_query(query), headers, body if method in READS_BODY else b"", user)
        info = parse(request)
        if info.verb == "watch" or info.subresource not in _SUBRESOURCES:
            return None
        found = runner.begin(request)
        if isinstance(found, Suspended):
            found.abandon()  # it begins anew
            return None
        if found.reset:
            raise ConnectionResetError
        if found.flow is not None:
            found.headers |= runner.flow_headers(found)
        return self._encoded(request, found)

    def _encoded(self, request: Request, response: Response) -> InPlace:
        closes = response.status == 413
        steps = messaging(request, response, self._runner.clock.now(), closes=closes)
        try:
            next(steps)
        except StopIteration as end:
            waits = self._runner.woken and not self._runner.streams.sent_in_place()
            return InPlace(b"".join(end.value), closes, waits, agent=request.user_agent)
        return InPlace(b"", closes, self._runner.woken, steps, request.user_agent)


@lru_cache(maxsize=1024)
def _head(block: bytes) -> Head | None:
    """The headers in a block of lines, which most requests of a client have in common; None if it is unusual."""
    headers: dict[str, str] = {}
    for line in block.decode("latin-1").split("\r\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name, value = field.group(1).lower(), field.group(2)
        if name in headers or (name in _UNUSUAL and (name, value.lower()) != ("connection", "keep-alive")):
            return None
        headers[name] = value
    length = headers.get("content-length", "0")
    return Head(RequestHeaders(headers), int(length)) if "host" in headers and length.isdecimal() else None
