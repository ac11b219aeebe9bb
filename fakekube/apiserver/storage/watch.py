"""Watches: cursors over the history of one collection. A watch reads new changes when it is notified of a write."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from fakekube.apiserver.needs import Need, Waiting
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Change, Entry, Store, path_of
from fakekube.apiserver.storage.watchfault import WatchFault
from fakekube.apiserver.wire import envelope, gojson
from fakekube.apiserver.wire.codec import PROTOBUF
from fakekube.apiserver.wire.marshal import marshaler_of
from fakekube.apiserver.wire.selectors import FieldSelector, LabelSelector
from fakekube.apiserver.wire.status import StatusError

#: Returns a stored object in an API version.
Read = Callable[[Entry], Object]

#: (selected before, selected after) -> event type. Other changes are not sent (`cacher.watchCacheEvent` conversion).
TRANSITIONS = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}

#: The interval of bookmarks, and the time from the last bookmark to the end of the watch (seconds; `cacher`).
BOOKMARK_FREQUENCY = 60.0
BOOKMARK_BEFORE_END = 2.0


INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects of a collection that a list or a watch selects, by namespace, labels and fields.

    `fields` reads a selectable field of an object, and `shown` returns the object in which it is looked up (None: the
    stored one). `name` is that of the only object that `terms` can select ("": there may be others). `prefix` is that
    of the keys of all selected objects, and `by_key_alone` is whether there are no others with it.
    """

    namespace: str
    labels: LabelSelector
    terms: FieldSelector
    fields: Callable[[Object, str], str]
    shown: Read | None = None
    name: str = ""
    prefix: str = field(init=False, repr=False, compare=False)
    by_key_alone: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", path_of(self.namespace, self.name))
        object.__setattr__(self, "by_key_alone", not self.labels and not self.terms)

    def takes(self, path: str, entry: Entry) -> bool:
        return path.startswith(self.prefix) and self.matches(entry)

    def matches(self, entry: Entry) -> bool:
        """Whether the labels and fields of an object are selected."""
        if self.by_key_alone:
            return True
        obj = self.shown(entry) if self.shown is not None else entry.object
        if self.labels and not self.labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return not self.terms or self.terms.matches(lambda field: self.fields(obj, field))


class WatchEvent:
    """A watch event: its type, the stored object, and the view that encodes it.

    The encoded line or frame is cached in the change, so that a write is encoded once for all watches.
    """

    __slots__ = ("_cache", "_key", "entry", "type", "view")

    view: View
    type: str
    entry: Entry

    def __init__(self, type: str, entry: Entry, view: View, cache: dict[Any, bytes] | None = None) -> None:
        self.type, self.entry, self.view = type, entry, view
        self._cache = cache

    @property
    def line(self) -> bytes:
        """The event as a line of the stream."""
        if self._cache is None:
            return self._encode()
        key = (self.type, self.view.key)
        line = self._cache.get(key)
        if line is None:
            line = self._cache[key] = self._encode()
        return line

    def _encode(self) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (self.type.encode(), self.view.encode(self.entry))

    @property
    def frame(self) -> bytes:
        """The event as a frame of a stream in protobuf."""
        if self._cache is None:
            return envelope.event(self.type, self.view.envelope(self.entry))
        key = (self.type, self.view.key, PROTOBUF)
        frame = self._cache.get(key)
        if frame is None:
            frame = self._cache[key] = envelope.event(self.type, self.view.envelope(self.entry))
        return frame

    def to_object(self) -> Object:
        return {"type": self.type, "object": self.view.to_object(self.entry)}

    def __repr__(self) -> str:
        return f"<WatchEvent {self.type} {self.entry.object.get('metadata', {}).get('name')} {self.entry.revision}>"


@dataclass(frozen=True, slots=True)
class View:
    """The representation of stored objects: in a version of their kind, with its apiVersion and kind.

    `convert` is None if stored objects only need apiVersion and kind; `key` identifies the view. `shared`: several
    watches use the view, so that encoded lines are cached. `following` is the view of all events after the first (None:
    this one).
    """

    api_version: str
    kind: str
    convert: Read | None = None
    shared: bool = True
    following: View | None = None
    _head: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        head = b'{"apiVersion":"%b","kind":"%b"' % (self.api_version.encode(), self.kind.encode())
        object.__setattr__(self, "_head", head)

    @property
    def key(self) -> Any:
        return (self.api_version, self.kind, self.convert)

    def to_object(self, entry: Entry) -> Object:
        obj = self.convert(entry) if self.convert else entry.object
        return {"apiVersion": self.api_version, "kind": self.kind, **obj}

    def encode(self, entry: Entry) -> bytes:
        json = gojson.encode(self.convert(entry), sorted_keys=True) if self.convert else entry.json
        return self._head + (b"," + json[1:] if len(json) > 2 else b"}")

    def encode_item(self, entry: Entry) -> bytes:
        """Encodes an item of a built-in list, which has no apiVersion and kind."""
        return gojson.encode(self.convert(entry), sorted_keys=True) if self.convert else entry.json

    def item(self, entry: Entry) -> Object:
        return self.convert(entry) if self.convert else entry.object

    def messages(self, entries: Sequence[Entry]) -> list[bytes]:
        """Encodes objects as the protobuf message of the kind, without apiVersion and kind."""
        marshal, convert = marshaler_of(self.api_version, self.kind), self.convert
        assert marshal is not None, f"{self.api_version} {self.kind} has no message"
        if convert:
            return [marshal(convert(entry)) for entry in entries]
        return [entry.message(marshal) for entry in entries]

    def envelope(self, entry: Entry) -> bytes:
        """Encodes an object as protobuf."""
        return envelope.wrap(self.api_version, self.kind, self.messages((entry,))[0])


def _metadata_only(entry: Entry) -> Object:
    return {"metadata": entry.object["metadata"]}


@cache
def _metadata_without(annotation: str) -> Read:
    return lambda entry: {"metadata": objectmeta.without_annotation(entry.object["metadata"], annotation)}


def partial_view(version: str, without: str = "") -> View:
    """The view of objects as PartialObjectMetadata; `without` is an annotation that it does not have ("": none)."""
    convert = _metadata_without(without) if without else _metadata_only
    return View(f"meta.k8s.io/{version}", "PartialObjectMetadata", convert)


class Conversion(Protocol):
    """The conversion of entries by a webhook."""

    def read(self, entries: Sequence[Entry]) -> Waiting:
        """Convert entries; the results are kept until `forget`."""

    def forget(self) -> None:
        """Drop the results."""


def never() -> bool:
    """The default of `Watch.over`: the resource is always served."""
    return False


class Watch:
    """The watch of one client. `initial` contains the first events; `read` returns those since the last call.

    `revision` is the last revision that was read. `timeout` is in seconds; the server that delivers the events applies
    it and the times of the bookmarks.
    """

    selection: Selection
    collection: str
    store: Store
    view: View

    def __init__(
        self,
        store: Store,
        collection: str,
        selection: Selection,
        view: View,
        revision: int,
        *,
        timeout: float,
        bookmarks: bool,
        empty: Object,
    ) -> None:
        self.store, self.collection, self.selection, self.view = store, collection, selection, view
        self.revision: int = revision
        self.timeout = timeout
        self.bookmarks = bookmarks
        self.initial: list[WatchEvent] = []
        self.over: Callable[[], bool] = never
        """Whether the resource is no longer served, which ends the stream."""
        self.conversion: Conversion | None = None
        """Converts entries to the version of the watch before they are delivered (None: needs no webhook)."""
        self.refused: StatusError | None = None
        """An error that is sent as the only event of the stream."""
        self.fault: WatchFault | None = None
        self.client: tuple[str, Any] = ("", None)
        """The User-Agent and the simulated process of the client."""
        self.limits: list[int] = []
        """The last revisions that are delivered, as long as the watch is held."""
        self.bookmark_metadata: Object = {}
        """Metadata that every bookmark has, beside its resourceVersion."""
        self.end_annotations: dict[str, str] = {INITIAL_EVENTS_END: "true"}
        """The annotations of the bookmark after the initial events."""
        self._empty = empty
        self._bookmarked = 0

    def __repr__(self) -> str:
        where = self.selection.namespace or "*"
        return f"<Watch {self.collection} in {where} rev={self.revision}>"

    def read(self) -> list[WatchEvent]:
        """The events since the last call. Raises 410 Expired if changes in between are compacted."""
        return self._events(self._changes())

    def read_converted(self) -> Generator[Need, Any, list[WatchEvent]]:
        """The events since the last call, converted by the webhook. Raises 410 Expired, 500."""
        assert self.conversion is not None, "a webhook converts the resource"
        self.conversion.forget()
        changes = self._changes()
        if self.selection.shown is not None:
            states = [entry for change in changes for entry in (change.before, change.after) if entry is not None]
            yield from self.conversion.read(states)
        events = self._events(changes)
        yield from self.conversion.read([event.entry for event in events])
        return events

    @property
    def is_behind(self) -> bool:
        """Whether there are changes that it may deliver, and has not read."""
        limit = self._limit()
        changes = self.store.collection(self.collection).since(self.revision)
        return bool(changes) and changes[0].revision <= limit

    def _changes(self) -> Sequence[Change]:
        limit = self._limit()
        if self.revision >= limit:
            return ()
        changes = self.store.since(self.collection, self.revision)
        self.revision = limit
        return [change for change in changes if change.revision <= limit] if self.limits else changes

    @property
    def waits(self) -> bool:
        """Whether its initial events are newer than what can be delivered now."""
        return bool(self.initial) and bool(self.limits) and self.revision > min(self.limits)

    def _limit(self) -> int:
        """The last revision that can be delivered now."""
        return min(self.store.revision, *self.limits) if self.limits else self.store.revision

    def _events(self, changes: Sequence[Change]) -> list[WatchEvent]:
        return [event for change in changes if (event := self._translate(change)) is not None]

    def _translate(self, change: Change) -> WatchEvent | None:
        selection = self.selection
        if not change.path.startswith(selection.prefix):
            return None
        was = change.before is not None and selection.matches(change.before)
        now = change.after is not None and selection.matches(change.after)
        type = TRANSITIONS.get((was, now))
        if type is None:
            return None
        entry = change.departed if type == "DELETED" else change.after
        assert entry is not None
        return self.event(type, entry, change.lines)

    def event(self, type: str, entry: Entry, lines: dict[Any, bytes] | None = None) -> WatchEvent:
        """The next event of the watch; `lines` caches its encoding."""
        view = self.view
        if view.following is not None:
            self.view = view.following
        return WatchEvent(type, entry, view, lines if view.shared else None)

    def bookmark(self, *, initial_events_end: bool = False) -> WatchEvent:
        """A BOOKMARK event with the current revision of the watch."""
        metadata: Object = {"resourceVersion": str(self.revision), **self.bookmark_metadata}
        if initial_events_end:
            metadata["annotations"] = self.end_annotations
        self._bookmarked = self.revision
        return self.event("BOOKMARK", Entry(self.revision, {"metadata": metadata, **self._empty}))

    @property
    def moved(self) -> bool:
        """Whether there was a write since the last bookmark."""
        return max(self.revision, self._limit()) > self._bookmarked


def error_line(error: StatusError) -> bytes:
    """The ERROR event that ends a stream, as a line."""
    return gojson.encode({"type": "ERROR", "object": error.to_object()}) + b"\n"


def error_frame(error: StatusError) -> bytes:
    """The ERROR event that ends a stream in protobuf."""
    return envelope.event("ERROR", envelope.encode(error.to_object()))
