"""How requests for the control API come in: beside those for the Kubernetes API, and never among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from fakekube.apiserver.needs import Stream

#: The paths of the control API begin with it.
PREFIX = "/_fakekube/"


class Asked(NamedTuple):
    """A request for the control API. Names of headers are in lower case; `peer`: the address of the client."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    peer: str = ""


class Answered(NamedTuple):
    """The answer. With a `stream` its parts follow the body."""

    status: int
    body: bytes
    content_type: str = "application/json"
    stream: Stream | None = None
    headers: Mapping[str, str] = {}


class Control(Protocol):
    """Answers requests for the control API. `limit`: the most bytes of the body of a request, which it does not have
    yet."""

    def limit(self, asked: Asked) -> int: ...

    async def answer(self, asked: Asked) -> Answered: ...
