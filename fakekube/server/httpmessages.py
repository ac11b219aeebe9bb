"""HTTP messages, independent of the HTTP library: request headers, and the headers and body of a response."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from datetime import datetime
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, TypeVar

import orjson

from fakekube.apiserver.auth import authentication
from fakekube.apiserver.response import Cached, Made, Parts, Response, StoredList, completed
from fakekube.apiserver.user import ANONYMOUS
from fakekube.apiserver.wire import codec, warning, yamlencoder
from fakekube.apiserver.wire.negotiation import is_pretty
from fakekube.apiserver.wire.request import Request

T = TypeVar("T")

#: The methods whose bodies are read.
READS_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})

#: Headers of every response.
HEADERS = {"Cache-Control": "no-cache, private"}

#: Bodies above this size in bytes are compressed if the client accepts it (`defaultGzipThresholdBytes`).
COMPRESSED_FROM = 128 * 1024


class RequestHeaders(Mapping[str, str]):
    """Request headers by lower-case name, over a mapping that ignores case."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> str:
        return self._raw[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._raw.get(name, default)

    def getall(self, name: str) -> list[str]:
        """All values of a header, in order."""
        return [value for key, value in self._raw.items() if key.lower() == name]

    def __iter__(self) -> Iterator[str]:
        # multidict before 7.1 repeats the name of a header that is repeated
        return iter(dict.fromkeys(map(str.lower, self._raw)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


#: The bytes that are compressed before other requests have their turn.
COMPRESSED_PART = 512 * 1024


def encode(request: Request, response: Response) -> tuple[dict[str, str], bytes]:
    """The headers, except `Warning`, and the body of a response."""
    return completed(encoding(request, response))


async def completed_in_turns(steps: Generator[None, None, T], pause: Callable[[], Awaitable[None]]) -> T:
    """What steps return. Other requests have their turn in the pauses between them."""
    try:
        while True:
            next(steps)
            await pause()
    except StopIteration as end:
        found: T = end.value
        return found


def encoding(request: Request, response: Response) -> Generator[None, None, tuple[dict[str, str], bytes]]:
    """`encode` in parts: a large list must not stop the server."""
    headers = {**HEADERS, **response.headers}
    if response.content_type:
        headers["Content-Type"] = response.content_type
    if request.user is ANONYMOUS and (ignored := authentication.ignored(request.headers.get("authorization"))):
        response.warnings = (*response.warnings, *ignored)
    body = yield from _body(request, response)
    if len(body) > COMPRESSED_FROM and _accepts_gzip(request):
        is_kept = isinstance(response.body, Cached) and response.body.raw
        body = yield from (_compressed_once(body) if is_kept else _compressed(body))
        headers["Content-Encoding"] = "gzip"
        headers["Vary"] = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
    return headers, body


#: The phrases of Go's `net/http` where Python has others from 3.13 on.
_PHRASES = {413: "Request Entity Too Large", 422: "Unprocessable Entity"}


def message(request: Request, response: Response, now: datetime, *, closes: bool) -> tuple[bytes, bytes]:
    """The head and the body of the whole answer. `closes`: it is the last one of its connection."""
    return completed(messaging(request, response, now, closes=closes))


def messaging(
    request: Request, response: Response, now: datetime, *, closes: bool
) -> Generator[None, None, tuple[bytes, bytes]]:
    """`message` in parts."""
    headers, body = yield from encoding(request, response)
    lines = [_status_line(response.status), f"Content-Length: {len(body)}", _date(int(now.timestamp()))]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if response.warnings:
        lines += [f"Warning: {value}" for value in warning.header_values(response.warnings)]
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode(), body


@lru_cache(maxsize=64)
def _status_line(status: int) -> str:
    try:
        phrase = _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}"


@lru_cache(maxsize=4)
def _date(seconds: int) -> str:
    return f"Date: {formatdate(seconds, usegmt=True)}"


def _compressed(body: bytes) -> Parts:
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    found: list[bytes] = []
    for at in range(0, len(body), COMPRESSED_PART):
        if found:
            yield
        found.append(packer.compress(body[at : at + COMPRESSED_PART]))
    return b"".join([*found, packer.flush()])


#: Compressed OpenAPI documents, which are kept; their bytes keep their hash.
_kept: dict[bytes, bytes] = {}
KEPT = 32


def _compressed_once(body: bytes) -> Parts:
    if body not in _kept:
        found = yield from _compressed(body)
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        _kept[body] = found
    return _kept[body]


def _body(request: Request, response: Response) -> Parts:
    body, content_type = response.body, response.content_type
    if body is None:
        return b""
    if content_type != codec.JSON:  # the most frequent one
        if content_type.startswith(codec.PROTOBUF):
            return (yield from body.marshalling()) if isinstance(body, StoredList) else body.marshal()
        if content_type.startswith(codec.YAML):
            return yamlencoder.encode(body.to_object())
        if not content_type.startswith(codec.JSON):
            return body.encode()
    if isinstance(body, Cached) and body.raw:
        return body.encode()
    if is_pretty(request):
        return orjson.dumps(body.to_object(), option=orjson.OPT_INDENT_2)
    if isinstance(body, StoredList | Made):
        return (yield from body.encoding()) + b"\n"
    return body.encode() + b"\n"


def _accepts_gzip(request: Request) -> bool:
    accepted = request.headers.get("accept-encoding", "")
    return "gzip" in [part.partition(";")[0].strip() for part in accepted.split(",")]
