"""HTTP without a network: requests of one connection are answered by direct calls (`virtualtime.network.inplace`).

What needs more than a call is left to the HTTP server: watches, WebSockets, requests that wait for a webhook, an
injected delay or an aggregated API server, and unusual messages.
"""

from __future__ import annotations

from functools import lru_cache

from multidict import CIMultiDict
from yarl import URL

from fakekube.apiserver.response import Response
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.request import Request, is_escaped, parse, parse_query
from fakekube.apiserver.wire.status import StatusError, too_large
from fakekube.server.httpmessages import READS_BODY, RequestHeaders, message
from fakekube.server.runner import ServerRunner, Suspended
from fakekube.virtualtime.network.inplace import NeedsTime

_END_OF_HEAD = b"\r\n\r\n"


class Head:
    """The request line and the headers of a request, and where its body begins. Raises NeedsTime."""

    __slots__ = ("body_at", "chunked", "closes", "headers", "length", "method", "target")

    def __init__(self, text: str, body_at: int) -> None:
        line, *fields = text.split("\r\n")
        self.method, self.target, version = _parts(line)
        self.headers: CIMultiDict[str] = CIMultiDict()
        for field in fields:
            name, _, value = field.partition(":")
            self.headers.add(name, value.strip(" \t"))
        if "Upgrade" in self.headers:
            raise NeedsTime("a WebSocket", streams=True)
        if "Expect" in self.headers:
            raise NeedsTime("a request with Expect: 100-continue")
        self.body_at = body_at
        self.chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit():
            raise NeedsTime("a request with an invalid Content-Length")
        self.length = int(length)
        connection = self.headers.get("Connection", "").lower()
        self.closes = connection == "close" or (version == "HTTP/1.0" and connection != "keep-alive")


def _parts(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1.") or not parts[1].startswith("/"):
        raise NeedsTime("a request line that is not in the form METHOD /PATH HTTP/1.1")
    return parts[0], parts[1], parts[2]


class HttpConversation:
    """Implements `virtualtime.network.inplace.Conversation`."""

    closes: bool

    def __init__(self, runner: ServerRunner) -> None:
        self._runner = runner
        self._buffer = bytearray()
        self._head: Head | None = None
        self.closes = False

    def feed(self, data: bytes) -> bytes | None:
        self._buffer += data
        if self._head is None:
            end = self._buffer.find(_END_OF_HEAD)
            if end < 0:
                return None
            self._head = Head(self._buffer[:end].decode("utf-8", "surrogateescape"), end + len(_END_OF_HEAD))
        head = self._head
        body = _unchunked(self._buffer, head.body_at) if head.chunked else self._rest(head)
        if body is None:
            return None
        self.closes = head.closes
        answer = self._answer(head, body)
        self._buffer.clear()
        self._head = None
        return answer

    def _rest(self, head: Head) -> bytes | None:
        end = head.body_at + head.length
        if len(self._buffer) > end:
            raise NeedsTime("a request before the answer to the last one")
        return bytes(self._buffer[head.body_at : end]) if len(self._buffer) == end else None

    def _answer(self, head: Head, body: bytes) -> bytes:
        runner = self._runner
        raw_path, path, query = _target(head.target)
        if not is_escaped(raw_path):
            raise NeedsTime("a request with a malformed URL")
        headers = RequestHeaders(head.headers)
        try:
            user = runner.authenticate(headers.get("authorization"))
            if head.method in READS_BODY and len(body) > codec.MAX_BODY:
                raise too_large(f"Request entity too large: limit is {codec.MAX_BODY}")
        except StatusError as error:
            request = Request(head.method, path, headers=headers)
            return self._encoded(head, request, runner.refuse(request, error))
        request = Request(
            head.method, path, parse_query(query), headers, body if head.method in READS_BODY else b"", user
        )
        info = parse(request)
        if info.verb == "watch":
            raise NeedsTime("a watch", streams=True)
        if info.subresource == "log" and request.option("follow") is not None:
            raise NeedsTime("a log that is followed", streams=True)
        client = runner.processes.current() if runner.processes is not None else None
        if runner.is_down or (client is not None and client.fenced):
            raise ConnectionResetError
        found = runner.begin(request, client)
        if isinstance(found, Suspended):
            found.abandon()
            raise NeedsTime("a request that waits for a webhook, an injected delay or an aggregated API server")
        if found.reset or (client is not None and client.fenced):
            raise ConnectionResetError
        if found.damage is not None:
            raise NeedsTime("an answer whose body is damaged")
        if found.flow is not None:
            found.headers |= runner.flow_headers(found)
        return self._encoded(head, request, found)

    def _encoded(self, head: Head, request: Request, response: Response) -> bytes:
        self.closes |= response.status == 413
        begin, body = message(request, response, self._runner.clock.now(), closes=self.closes)
        return begin + (b"" if head.method == "HEAD" else body)


@lru_cache(maxsize=256)
def _target(target: str) -> tuple[str, str, str]:
    """The raw path, the path and the raw query of a request target."""
    url = URL(target, encoded=True)
    return url.raw_path, url.path, url.raw_query_string


def _unchunked(buffer: bytearray, at: int) -> bytes | None:
    """A body in chunks that begins at `at`; None while it is incomplete. Raises NeedsTime if it is malformed."""
    chunks = []
    while (end := buffer.find(b"\r\n", at)) >= 0:
        try:
            size = int(buffer[at:end].partition(b";")[0], 16)
        except ValueError:
            raise NeedsTime("a malformed body") from None
        start = end + 2
        if len(buffer) < start + size + 2:
            return None
        chunks.append(bytes(buffer[start : start + size]))
        at = start + size + 2
        if not size:
            return b"".join(chunks)
    return None
