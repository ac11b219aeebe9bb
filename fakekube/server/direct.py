"""The API server reached without sockets: a direct call, with the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from fakekube.apiserver.response import Response
from fakekube.apiserver.user import ADMIN, User
from fakekube.apiserver.wire import warning
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import StatusError
from fakekube.server.runner import ServerRunner, Suspended, WouldWait

Object = dict[str, Any]

#: Before the connection breaks, a client of a real server sees this.
RESET = "Connection reset by peer"


Answer = tuple[int, Mapping[str, str], Any]
"""Status code, headers and decoded body."""


class DirectTransport:
    """Requests as calls. What it hands out is a copy: nobody can change what the server stores.

    `user` is who the requests are from. Fits `controllerlib.client.transport.Transport`.
    """

    def __init__(self, runner: ServerRunner, *, user: User = ADMIN, headers: Mapping[str, str] | None = None) -> None:
        self._runner: ServerRunner | _Ended = runner
        self._user = user
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
        response = await self._runner.answer(self._request(method, path, query, headers, body))
        return _delivered(response)

    def begin(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer | Suspended:
        """The same up to the point where the request would wait; `complete` resumes it."""
        found = self._runner.begin(self._request(method, path, query, headers, body))
        return found if isinstance(found, Suspended) else _delivered(found)

    def request_now(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer:
        """The same without a loop. Raises WouldWait if the request cannot complete synchronously; nothing changes."""
        found = self.begin(method, path, query=query, headers=headers, body=body)
        if isinstance(found, Suspended):
            found.abandon()
            raise WouldWait(f"{method} {path} needs time before it can be answered")
        return found

    async def complete(self, suspended: Suspended) -> Answer:
        """The answer to a request that was suspended."""
        return _delivered(await self._runner.complete(suspended))

    async def open_watch(
        self, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = {}
    ) -> Answer:
        """Open a watch: on 200 the third value is a `DirectStream`, else the Status."""
        pairs = query if any(name == "watch" for name, _ in query) else [*query, ("watch", "true")]
        runner = self._runner
        response = await runner.answer(self._request("GET", path, pairs, headers, None))
        if response.watch is None or response.reset or isinstance(runner, _Ended):
            return _delivered(response)
        return 200, dict(response.headers), DirectStream(runner, response)

    async def aclose(self) -> None:
        """Nothing to give up."""

    def retire(self) -> None:
        """Let go of the server, which has ended. Requests from now on raise RuntimeError."""
        self._runner = _Ended()

    def _request(
        self, method: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str], body: Any
    ) -> Request:
        values: dict[str, list[str]] = {}
        for name, value in query:
            values.setdefault(name, []).append(value)
        sent = {**self._headers, **{name.lower(): value for name, value in headers.items()}}
        return Request(method, path, values, sent, b"" if body is None else copy(body), self._user)


def copy(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, bytes | str):
        return value
    return orjson.loads(orjson.dumps(value))


def _delivered(response: Response) -> Answer:
    if response.reset:
        raise ConnectionResetError(RESET)
    headers = dict(response.headers)
    headers["Content-Type"] = response.content_type
    if response.warnings:
        headers["Warning"] = ", ".join(warning.header_values(response.warnings))
    body = response.body
    if body is None:
        return response.status, headers, None
    if response.content_type.startswith("text/"):
        return response.status, headers, body.to_object()
    return response.status, headers, orjson.loads(body.encode())


class _Ended:
    """What stands in the place of a server that has ended."""

    async def answer(self, request: Request) -> Response:
        return self.begin(request)

    def begin(self, request: Request) -> Response:
        raise RuntimeError(f"{request.method} {request.path}: the cluster of this client has ended")

    async def complete(self, suspended: Suspended) -> Response:
        return self.begin(suspended.request)


class DirectStream:
    """The events of one watch, as dicts. A write is decoded once, however many streams deliver it."""

    def __init__(self, runner: ServerRunner, response: Response) -> None:
        assert response.watch is not None
        self._batches = runner.stream(response.watch)
        self._pending: list[Any] = []
        self._closed = False

    def __aiter__(self) -> AsyncIterator[Object]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Object]:
        async with aclosing(self._batches) as batches:  # type: ignore[type-var]
            async for batch in batches:
                for event in batch:
                    if isinstance(event, StatusError):
                        yield {"type": "ERROR", "object": event.to_object()}
                    else:
                        yield orjson.loads(event.line)
                del batch  # the first one may be long, and the next may take its time

    async def aclose(self) -> None:
        """End the watch."""
        self._closed = True
        close = getattr(self._batches, "aclose", None)
        if close is not None:
            try:
                await close()
            except RuntimeError:
                # somebody is iterating; cancelling that task ends the stream
                await asyncio.sleep(0)  # noqa: TID251 - no time passes
