"""Observes what operators do at a real server: whether they are quiet, and what they create."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from controllerlib.client import NO_HEADERS, Headers, Query, Response, Transport, WatchStream
from fakekube.server.systemclock import Clock
from fakekube.virtualtime.errors import NotQuiescent


class Activity:
    """When something happened last by a clock, and what is going on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last: float = self._clock.monotonic()
        self._requests: dict[object, str] = {}
        self.created: list[tuple[str, Mapping[str, Any]]] = []
        """The path of the collection, and the answer, of each object that was created."""

    def note(self) -> None:
        """Something happened now."""
        self.last = self._clock.monotonic()

    def begin(self, what: str) -> object:
        """A request is sent; returns a token for `end`."""
        token = object()
        self._requests[token] = what
        self.note()
        return token

    def end(self, token: object) -> None:
        """A request was answered or has failed."""
        del self._requests[token]
        self.note()

    def answered(self, method: str, path: str, answer: Response) -> None:
        """Note what a request has created."""
        code, _, body = answer
        if code == 201 and isinstance(body, Mapping) and (body.get("metadata") or {}).get("uid"):
            place = path if method == "POST" else path.rpartition("/")[0]
            self.created.append((place, body))

    def requests(self) -> Sequence[str]:
        """The requests that are not answered yet."""
        return list(self._requests.values())

    async def quiet(self, seconds: float, patience: float, busy: Callable[[], Iterator[str]]) -> None:
        """Wait until nothing has happened for some real seconds and nothing is `busy`. Raises NotQuiescent."""
        start = self._clock.monotonic()
        self.note()
        while True:
            reasons = [*busy(), *self.requests()]
            now = self._clock.monotonic()
            if not reasons and now - self.last >= seconds:
                return
            if now - start > patience:
                why = ", ".join(reasons) or "requests and watch events follow each other"
                raise NotQuiescent(f"the operators are not quiet for {seconds:g} s within {patience:g} s: {why}")
            await self._clock.sleep_until(now + max(seconds - (now - self.last), seconds / 10))


class ObservedTransport:
    """A transport whose requests and watch events count as activity."""

    def __init__(self, transport: Transport, activity: Activity) -> None:
        self._transport, self._activity = transport, activity

    async def request(
        self, method: str, path: str, *, query: Query = (), headers: Headers = NO_HEADERS, body: Any = None
    ) -> Response:
        """As Transport.request."""
        token = self._activity.begin(f"{method} {path}")
        try:
            answer = await self._transport.request(method, path, query=query, headers=headers, body=body)
        finally:
            self._activity.end(token)
        self._activity.answered(method, path, answer)
        return answer

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = NO_HEADERS) -> Response:
        """As Transport.open_watch."""
        token = self._activity.begin(f"watch {path}")
        try:
            code, answered, stream = await self._transport.open_watch(path, query=query, headers=headers)
        finally:
            self._activity.end(token)
        return code, answered, _ObservedStream(stream, self._activity) if code == 200 else stream

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class _ObservedStream:
    """The events of a watch; each but a bookmark counts as activity."""

    def __init__(self, stream: WatchStream, activity: Activity) -> None:
        self._stream, self._activity = stream, activity

    async def __aiter__(self) -> AsyncIterator[Mapping[str, Any]]:
        async for event in self._stream:
            if event.get("type") != "BOOKMARK":
                self._activity.note()
            yield event

    async def aclose(self) -> None:
        await self._stream.aclose()


def end_of(tasks: Sequence[asyncio.Task[Any]]) -> Any:
    """Cancel tasks; the awaitable of their end."""
    for task in tasks:
        task.cancel()
    return asyncio.gather(*tasks, return_exceptions=True)
