"""The options of connections: kinds that clients send as query parameters (`core/v1` PodExecOptions and the like)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.options import parse_bool
from fakekube.apiserver.wire.request import Request


def _boolean(request: Request, name: str) -> bool:
    return parse_bool(request.query, name) or False


def _text(request: Request, name: str) -> str:
    return request.option(name) or ""


def _texts(request: Request, name: str) -> Sequence[str]:
    return list(request.query.get(name, ()))


def _numbers(request: Request, name: str) -> Sequence[int]:
    parts = [part for text in request.query.get(name, ()) for part in text.split(",")]
    return [int(part) for part in parts if part.isascii() and part.isdigit()]


_STREAMS = {**dict.fromkeys(("stdin", "stdout", "stderr", "tty"), _boolean), "container": _text}

#: Kind -> field -> how it is read from the query.
_FIELDS: Mapping[str, Mapping[str, Callable[[Request, str], Any]]] = {
    "PodExecOptions": {**_STREAMS, "command": _texts},
    "PodAttachOptions": _STREAMS,
    "PodPortForwardOptions": {"ports": _numbers},
}


def connect_options(kind: str, request: Request, path: str) -> Object:
    """The options of a connection as an object, without its zero values; `path` is that of a proxied request."""
    fields = _FIELDS.get(kind)
    values = {"path": path} if fields is None else {name: read(request, name) for name, read in fields.items()}
    return {name: value for name, value in values.items() if value}
