"""A transport that calls the API server directly, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from fakekube.apiserver.damage import damaged
from fakekube.apiserver.needs import Stream
from fakekube.apiserver.response import Response
from fakekube.apiserver.user import ADMIN, User
from fakekube.apiserver.wire import codec, warning
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import StatusError
from fakekube.server.clients import ClientProcess
from fakekube.server.runner import TRACE_HEADER, ServerRunner, Suspended, WouldWait

Object = dict[str, Any]

#: The error message of an injected connection reset.
RESET = "Connection reset by peer"

#: The error message of a connection to a server that is down.
REFUSED = "Connection refused"


Answer = tuple[int, Mapping[str, str], Any]
"""Status code, headers and decoded body."""


class DirectTransport:
    """Answers requests by direct calls. Returned objects are copies, so that callers cannot change the store.

    `shared`: nothing is copied, neither objects that are returned nor bodies that are sent. It is for clients that
    change none of them, as the cluster's own controllers.

    All requests are those of `user`. `trace` returns what their records have as `trace`. Implements
    `controllerlib.client.transport.Transport`.
    """

    def __init__(
        self,
        runner: ServerRunner,
        *,
        user: User = ADMIN,
        headers: Mapping[str, str] | None = None,
        trace: Callable[[], str] | None = None,
        always: bool = False,
        shared: bool = False,
    ) -> None:
        """`always`: requests are answered while the server is down, too."""
        self._runner: ServerRunner | _Ended = runner
        self._shared = shared
        self._user, self._trace, self._always = user, trace, always
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer:
        """Answer one request: status code, headers, decoded body. Raises ConnectionResetError for an injected reset."""
        found = self._begin(self._request(method, path, query, headers, body))
        if isinstance(found, Suspended):
            return await self.complete(found)
        return self._delivered(found) if found.stream is None and found.damage is None else await self._arrived(found)

    def begin(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer | Suspended:
        """Like `request`, but returns Suspended if the request has to wait; `complete` resumes it."""
        found = self._begin(self._request(method, path, query, headers, body))
        return found if isinstance(found, Suspended) else self._delivered(found)

    def request_now(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer:
        """Like `request`, but synchronous. Raises WouldWait if the request would wait; nothing is changed then."""
        found = self.begin(method, path, query=query, headers=headers, body=body)
        if isinstance(found, Suspended):
            found.abandon()
            raise WouldWait(f"{method} {path} cannot complete synchronously: await it instead")
        return found

    async def complete(self, suspended: Suspended) -> Answer:
        """Resume a suspended request until it is answered."""
        response = await self._runner.complete(suspended)
        return await self._arrived(self._kept(suspended.request, response, suspended.client))

    async def _arrived(self, response: Response) -> Answer:
        """The answer, when all of its body has arrived."""
        if response.stream is not None:
            return await _read(response, response.stream)
        if response.damage is not None and response.damage.held is not None:
            await response.damage.held()
        if response.damage is not None and response.damage.delay and isinstance(self._runner, ServerRunner):
            clock = self._runner.clock
            await clock.sleep_until(clock.monotonic() + response.damage.delay)
        return self._delivered(response)

    def _begin(self, request: Request) -> Response | Suspended:
        """Begin a request of the process that runs. Raises ConnectionRefusedError while the server is down."""
        runner = self._runner
        if isinstance(runner, _Ended):
            return runner.begin(request)
        client = runner.processes.current() if runner.processes is not None else None
        if client is not None and client.fenced:
            raise client.refuse(f"{request.method} {request.path}")
        if runner.is_down and not self._always:
            raise ConnectionRefusedError(REFUSED)
        found = runner.begin(request, client)
        if client is not None and client.fenced:
            raise client.refuse(f"the answer of {request.method} {request.path}")
        return found

    @staticmethod
    def _kept(request: Request, response: Response, client: ClientProcess | None) -> Response:
        """The response, unless the process of the client was killed while the request was processed."""
        if client is not None and client.fenced:
            raise client.refuse(f"the answer of {request.method} {request.path}")
        return response

    async def open_watch(
        self, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = {}
    ) -> Answer:
        """Open a watch. The third value is a `DirectStream` if the status code is 200, else a Status."""
        pairs = query if any(name == "watch" for name, _ in query) else [*query, ("watch", "true")]
        runner = self._runner
        found = self._begin(self._request("GET", path, pairs, headers, None))
        response = found if isinstance(found, Response) else await runner.complete(found)
        if response.stream is not None:
            if response.status != 200:
                return await _read(response, response.stream)
            return 200, dict(response.headers), ForwardedStream(response.stream)
        if response.watch is None or response.reset or isinstance(runner, _Ended):
            return self._delivered(response)
        return 200, dict(response.headers), DirectStream(runner, response, shared=self._shared)

    async def aclose(self) -> None:
        """Does nothing: there is no connection to close."""

    def retire(self) -> None:
        """Drop the server, which has ended. Later requests raise RuntimeError."""
        self._runner, self._trace = _Ended(), None

    def _request(
        self, method: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str], body: Any
    ) -> Request:
        values: dict[str, list[str]] = {}
        for name, value in query:
            values.setdefault(name, []).append(value)
        sent = {**self._headers, **{name.lower(): value for name, value in headers.items()}}
        if self._trace is not None:
            sent[TRACE_HEADER] = self._trace()
        if body is None:
            body = b""
        elif not self._shared:
            body = _copy(body)
        return Request(method, path, values, sent, body, self._user)

    def _delivered(self, response: Response) -> Answer:
        if response.reset:
            raise ConnectionResetError(RESET)
        damage = response.damage.kind if response.damage is not None else ""
        if damage == "cut":
            raise ConnectionResetError(f"{RESET}: the body is incomplete")
        headers = dict(response.headers)
        headers["Content-Type"] = response.content_type
        if response.warnings:
            headers["Warning"] = ", ".join(warning.header_values(response.warnings))
        body = response.body
        if body is None:
            return response.status, headers, None
        if response.content_type.startswith("text/"):
            return response.status, headers, body.to_object()
        if damage:  # as a client that cannot decode the body: it gets the text
            return response.status, headers, damaged(damage, body.encode()).decode("utf-8", "replace")
        if self._shared:
            return response.status, headers, body.to_object()
        return response.status, headers, orjson.loads(body.encode())


def _copy(body: Any) -> Any:
    """A deep copy of a body; texts and bytes, which are not decoded, are returned as they are."""
    return body if isinstance(body, bytes | str) else codec.copied(body)


async def _read(response: Response, stream: Stream) -> Answer:
    """The whole response of an aggregated API server."""
    try:
        data = b"".join([chunk async for chunk in stream])
    finally:
        await stream.aclose()
    headers = {**response.headers, "Content-Type": response.content_type}
    if not response.content_type.startswith("application/json"):
        return response.status, headers, data.decode("utf-8", "replace")
    return response.status, headers, orjson.loads(data) if data else None


class ForwardedStream:
    """The events of a watch of an aggregated API server, as dicts."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Object]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Object]:
        rest = b""
        async for chunk in self._stream:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    yield orjson.loads(line)

    async def aclose(self) -> None:
        """End the watch."""
        await self._stream.aclose()


class _Ended:
    """The replacement of a server that has ended: every request raises RuntimeError."""

    async def answer(self, request: Request) -> Response:
        return self.begin(request)

    def begin(self, request: Request) -> Response:
        raise RuntimeError(f"{request.method} {request.path}: the cluster of this client has ended")

    async def complete(self, suspended: Suspended) -> Response:
        return self.begin(suspended.request)


class DirectStream:
    """The events of one watch, as dicts."""

    def __init__(self, runner: ServerRunner, response: Response, *, shared: bool = False) -> None:
        """`shared`: objects are not copied."""
        assert response.watch is not None
        self._batches, self._shared = runner.stream(response.watch), shared

    def __aiter__(self) -> AsyncIterator[Object]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Object]:
        async with aclosing(self._batches) as batches:  # type: ignore[type-var]
            try:
                async for batch in batches:
                    for event in batch:
                        if isinstance(event, StatusError):
                            yield {"type": "ERROR", "object": event.to_object()}
                        elif self._shared:
                            yield event.to_object()
                        else:
                            yield orjson.loads(event.line)
                    del batch  # free it before waiting for the next one
            except ConnectionResetError:
                return  # a fault: the stream ends, as for a client of HTTP

    async def aclose(self) -> None:
        """End the watch."""
        close = getattr(self._batches, "aclose", None)
        if close is not None:
            try:
                await close()
            except RuntimeError:
                # another task is iterating; cancelling that task ends the stream
                await asyncio.sleep(0)  # noqa: TID251 - no time passes
