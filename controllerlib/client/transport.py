"""How requests reach an API server: over HTTP, or by any other way that answers alike."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

Query = Sequence[tuple[str, str]]
Headers = Mapping[str, str]
NO_HEADERS: Headers = MappingProxyType({})
#: Status code, headers and decoded body.
Response = tuple[int, Mapping[str, str], Any]


class WatchStream(Protocol):
    """Watch events until the server ends them."""

    def __aiter__(self) -> AsyncIterator[Mapping[str, Any]]: ...

    async def aclose(self) -> None:
        """End the watch."""
        ...


class Transport(Protocol):
    """Carries requests and answers; told nothing of kinds. Without a connection it raises an OSError.

    Source: Go, http.RoundTripper.
    """

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        headers: Headers = NO_HEADERS,
        body: Any = None,
    ) -> Response:
        """Send `body` (JSON, or None) and return status code, headers and the decoded JSON body."""
        ...

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = NO_HEADERS) -> Response:
        """Open a watch: with code 200 the third value is a stream (`async for`, `aclose()`), else a Status."""
        ...

    async def aclose(self) -> None:
        """Give up connections; the transport cannot be used again."""
        ...
