"""How clients send requests: over HTTP or to an in-process server."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

Query = Sequence[tuple[str, str]]
Headers = Mapping[str, str]
NO_HEADERS: Headers = MappingProxyType({})
#: Status code, headers and decoded body.
Response = tuple[int, Mapping[str, str], Any]


class WatchStream(Protocol):
    """A stream of watch events that ends when the server ends it."""

    def __aiter__(self) -> AsyncIterator[Mapping[str, Any]]: ...

    async def aclose(self) -> None:
        """Close the watch."""
        ...


class Transport(Protocol):
    """Sends requests; raises OSError if there is no connection.

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
        """Send `body` (JSON, or None) and return status code, headers and decoded body."""
        ...

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = NO_HEADERS) -> Response:
        """Open a watch. If the status code is 200, the third item is a WatchStream, otherwise a Status."""
        ...

    async def aclose(self) -> None:
        """Close the connections; the transport cannot be used afterwards."""
        ...
