"""How requests reach an API server: over HTTP, or by any other way that answers alike."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol


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
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> tuple[int, Mapping[str, str], Any]:
        """Send `body` (JSON, or None) and return status code, headers and the decoded JSON body."""
        ...

    async def open_watch(
        self, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = {}
    ) -> tuple[int, Mapping[str, str], Any]:
        """Open a watch: with code 200 the third value is a stream (`async for`, `aclose()`), else a Status."""
        ...

    async def aclose(self) -> None:
        """Give up connections; the transport cannot be used again."""
        ...
