"""The operations that a request can wait for: delays, webhook calls, and requests to aggregated API servers.

A request yields a `Need`; the code that runs the request resumes it with the result.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any, Protocol

from fakekube.struct import Struct

Object = dict[str, Any]


class Delay(Struct, frozen=True):
    """A delay of the request, in seconds; after a part of long work 0, so that other requests run."""

    seconds: float


class Service(Struct, frozen=True):
    """A reference to a Service of the cluster, as webhook configurations contain it."""

    namespace: str
    name: str
    port: int = 443


class Post(Struct, frozen=True):
    """A JSON document to send to a webhook.

    `url` is the address, or for a Service the URL that error messages name. `ca` holds the PEM certificates that the
    webhook's certificate must be signed by ("": the system's). `timeout` is in seconds.
    """

    url: str
    body: Object
    timeout: float
    ca: str = ""
    service: Service | None = None


class Reply(Struct, frozen=True):
    """The response of a webhook, or the error of the call (`problem`), in the words of Go's HTTP client."""

    document: Any = None
    problem: str = ""


class Posts(Struct, frozen=True):
    """Documents to send to webhooks concurrently. The result is one Reply per document."""

    posts: tuple[Post, ...]


class Forward(Struct, frozen=True):
    """A request to send to an aggregated API server. The result is a Forwarded.

    `target` is the path with its query. `verified`: the server's certificate must be signed by `ca` (PEM, "": the
    system's).
    """

    service: Service
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    ca: str = ""
    verified: bool = True


class Stream(Protocol):
    """The body of a forwarded response, which is read while it arrives."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None:
        """Close the connection."""


class Forwarded(Struct, frozen=True):
    """The response of an aggregated API server, or the error of the connection (`problem`) in the words of Go's HTTP
    client. `unresolved`: the Service has no address; `problem` has the reason."""

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    stream: Stream | None = None
    problem: str = ""
    unresolved: bool = False


Need = Delay | Posts | Forward
"""Yielded by a request that cannot complete synchronously. The generator is resumed with the result."""


class Abandoned(BaseException):
    """Thrown into a suspended request to abandon it."""


Waiting = Generator[Need, Any, None]

Making = Generator[Need, Any, Object]
"""Makes an object in parts, between which other requests have their turn."""


def webhook_post(config: Mapping[str, Any], body: Object, seconds: int) -> Post:
    """A document for the webhook of a clientConfig; `seconds` is the timeout."""
    ca = config.get("caBundle") or ""
    pem = base64.b64decode(ca).decode("ascii", "replace") if ca else ""
    ref = config.get("service")
    if ref is None:
        url = config["url"]
        return Post(f"{url}{'&' if '?' in url else '?'}timeout={seconds}s", body, float(seconds), pem)
    service = Service(ref["namespace"], ref["name"], ref.get("port") or 443)
    path = (ref.get("path") or "/").lstrip("/")
    url = f"https://{service.name}.{service.namespace}.svc:{service.port}/{path}?timeout={seconds}s"
    return Post(url, body, float(seconds), pem, service)
