"""Responses, independent of the transport."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from fakekube.apiserver.containerlog import FollowedLog
from fakekube.apiserver.damage import Damage
from fakekube.apiserver.needs import Stream
from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Entry, parted
from fakekube.apiserver.storage.watch import View, Watch
from fakekube.apiserver.user import User
from fakekube.apiserver.wire import envelope, gojson
from fakekube.apiserver.wire.channels import Session
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.struct import Struct, field

T = TypeVar("T")

#: Long work in parts, between which other requests have their turn. It returns bytes.
Parts = Generator[None, None, bytes]


def completed(parts: Generator[None, None, T]) -> T:
    """The result of all parts at once."""
    try:
        while True:
            next(parts)
    except StopIteration as end:
        found: T = end.value
        return found


class Body(Protocol):
    """A body that can be returned as an object (to a direct client) or encoded (for HTTP)."""

    def to_object(self) -> Any: ...

    def encode(self) -> bytes:
        """The body as JSON, or as it is if it is text or bytes."""

    def marshal(self) -> bytes:
        """The body as protobuf, or as it is if it is text or bytes. Its kind has a message."""


class Document(Struct, frozen=True):
    """An object that is not stored: a Status, a review, a discovery document."""

    object: Any

    def to_object(self) -> Any:
        return self.object

    def encode(self) -> bytes:
        return gojson.encode(self.object)

    def marshal(self) -> bytes:
        return envelope.encode(self.object)


class Made(Struct, frozen=True):
    """A document that is made in parts when it is used, such as a table."""

    make: Callable[[], Generator[None, None, Object]]

    def to_object(self) -> Object:
        return completed(self.make())

    def encode(self) -> bytes:
        return completed(self.encoding())

    def encoding(self) -> Parts:
        """`encode` in parts, if the last member of the document is its rows."""
        whole = yield from self.make()
        rows = whole.get("rows")
        if not rows:
            return gojson.encode(whole)
        head, encoded = gojson.encode({**whole, "rows": []}), list[bytes]()
        for part in parted(rows):
            if encoded:
                yield
            encoded.append(gojson.encode(part)[1:-1])
        return head[:-2] + b",".join(encoded) + b"]}"

    def marshal(self) -> bytes:
        return envelope.encode(self.to_object())


class Cached(Struct, frozen=True):
    """An encoded document. `raw`: it is sent unchanged, without indentation; `protobuf` is its other encoding."""

    json: bytes
    raw: bool = True
    protobuf: bytes = b""

    def to_object(self) -> Any:
        return orjson.loads(self.json)

    def encode(self) -> bytes:
        return self.json

    def marshal(self) -> bytes:
        return self.protobuf or envelope.encode(self.to_object())


class StoredObject(Struct, frozen=True):
    """One stored object."""

    entry: Entry
    view: View

    def to_object(self) -> Object:
        return self.view.to_object(self.entry)

    def encode(self) -> bytes:
        return self.view.encode(self.entry)

    def marshal(self) -> bytes:
        return self.view.envelope(self.entry)


class StoredList(Struct, frozen=True):
    """A list of stored objects.

    `named`: items have apiVersion and kind, as those of custom resources do. `nullable`: `items` is null if empty.
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
        return completed(self.encoding())

    def encoding(self) -> Parts:
        """`encode` in parts."""
        show = self.view.encode if self.named else self.view.encode_item
        if self.nullable and not self.entries:
            return gojson.encode(self.to_object())
        head = gojson.encode({"kind": self.list_kind, "apiVersion": self.view.api_version, "metadata": self.metadata})
        items: list[bytes] = []
        for part in parted(self.entries):
            if items:
                yield
            items += [show(entry) for entry in part]
        return head[:-1] + b',"items":[' + b",".join(items) + b"]}"

    def marshal(self) -> bytes:
        return completed(self.marshalling())

    def marshalling(self) -> Parts:
        """`marshal` in parts."""
        view, items = self.view, list[bytes]()
        for part in parted(self.entries):
            if items:
                yield
            items += view.messages(part)
        return envelope.wrap_list(view.api_version, self.list_kind, self.metadata, items)


class Text(Struct, frozen=True):
    """Plain text of a non-resource path."""

    text: str

    def to_object(self) -> Any:
        return self.text

    def encode(self) -> bytes:
        return self.text.encode()

    def marshal(self) -> bytes:
        return self.encode()


class Raw(Struct, frozen=True):
    """Bytes, such as a log."""

    data: bytes

    def to_object(self) -> Any:
        return self.data.decode("utf-8", "replace")

    def encode(self) -> bytes:
        return self.data

    def marshal(self) -> bytes:
        return self.data


class Upgrade(Struct, frozen=True):
    """Upgrades the connection to a WebSocket with a subprotocol ("": none); `session` handles its messages."""

    protocol: str
    session: Session


class Response(Struct):
    """A response. With `watch` a stream of events follows, with `stream` bytes as they arrive (of an aggregated API
    server, or of the log `followed`), with `upgrade` a WebSocket; `body` is unused then.

    `reset`: the connection is broken instead. `damage`: how the body arrives (None: intact). `flow`: the effective user
    and the attributes of the request, by which API Priority and Fairness classifies it (None: it is not classified).
    """

    status: int = 200
    body: Body | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    watch: Watch | None = None
    upgrade: Upgrade | None = None
    reset: bool = False
    damage: Damage | None = None
    flow: tuple[User, RequestInfo] | None = None
    stream: Stream | None = None
    followed: FollowedLog | None = None


def outcome(response: Response) -> tuple[str, str, str]:
    """For the record of a request: the name of the created object, the reason and the message of a failure."""
    if isinstance(response.body, StoredObject):
        return response.body.entry.object["metadata"].get("name", ""), "", ""
    if response.status < 400 or response.body is None:
        return "", "", ""
    body = response.body.to_object()
    if not isinstance(body, dict):
        return "", "", ""
    details = body.get("details")
    name = details.get("name", "") if isinstance(details, dict) and details.get("kind") else ""
    return name, body.get("reason", ""), body.get("message", "")
