"""Answers: what a request gets back, before any transport has seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import View, Watch
from fakekube.apiserver.wire.channels import Session


class Body(Protocol):
    """Something that can be shown as an object (to a direct caller) or as JSON (over HTTP)."""

    def to_object(self) -> Any: ...

    def encode(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Document:
    """An object of the moment: a Status, a review, a discovery document."""

    object: Any

    def to_object(self) -> Any:
        return self.object

    def encode(self) -> bytes:
        return orjson.dumps(self.object)


@dataclass(frozen=True, slots=True)
class Cached:
    """A document that was encoded before. `raw`: byte for byte, whatever layout the client likes."""

    json: bytes
    raw: bool = True

    def to_object(self) -> Any:
        return orjson.loads(self.json)

    def encode(self) -> bytes:
        return self.json


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One stored object."""

    entry: Entry
    view: View

    def to_object(self) -> Object:
        return self.view.to_object(self.entry)

    def encode(self) -> bytes:
        return self.view.encode(self.entry)


@dataclass(frozen=True, slots=True)
class StoredList:
    """A list of stored objects. `named`: items carry apiVersion and kind, as those of custom kinds do.

    `nullable`: without items it shows null, as the shapes of a list do.
    """

    view: View
    list_kind: str
    metadata: Object
    entries: Sequence[Entry]
    named: bool
    nullable: bool = False

    def to_object(self) -> Object:
        show = self.view.to_object if self.named else self.view.item
        return {
            "kind": self.list_kind,
            "apiVersion": self.view.api_version,
            "metadata": self.metadata,
            "items": None if self.nullable and not self.entries else [show(entry) for entry in self.entries],
        }

    def encode(self) -> bytes:
        show = self.view.encode if self.named else self.view.encode_item
        if self.nullable and not self.entries:
            return orjson.dumps(self.to_object())
        head = orjson.dumps({"kind": self.list_kind, "apiVersion": self.view.api_version, "metadata": self.metadata})
        return head[:-1] + b',"items":[' + b",".join([show(entry) for entry in self.entries]) + b"]}"


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, from a path that is no API."""

    text: str

    def to_object(self) -> Any:
        return self.text

    def encode(self) -> bytes:
        return self.text.encode()


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that are no document: a log."""

    data: bytes

    def to_object(self) -> Any:
        return self.data.decode("utf-8", "replace")

    def encode(self) -> bytes:
        return self.data


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The connection becomes a WebSocket of a subprotocol ("": none), and `session` says what goes over it."""

    protocol: str
    session: Session


@dataclass(slots=True)
class Response:
    """`watch` set: what follows is a stream, and `body` is unused; so it is with `upgrade`. `reset`: the connection
    breaks instead of an answer."""

    status: int = 200
    body: Body | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    watch: Watch | None = None
    upgrade: Upgrade | None = None
    reset: bool = False
