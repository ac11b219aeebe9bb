"""A watch is a cursor over the history of one collection; it pulls when it is told that something was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from fakekube.apiserver.needs import Waiting
from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Change, Entry, Store
from fakekube.apiserver.wire.selectors import FieldSelector, LabelSelector
from fakekube.apiserver.wire.status import StatusError

#: (selected before, selected after) -> event type. Nothing else is sent (`cacher.watchCacheEvent` conversion).
TRANSITIONS = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}

#: How often a watch that allows bookmarks gets one, and how long before its end the last (seconds; `cacher`).
BOOKMARK_FREQUENCY = 60.0
BOOKMARK_BEFORE_END = 2.0


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch takes of a collection: a namespace, one name, labels, fields.

    `fields` reads a field of an object as the kind's field selectors see it.
    """

    namespace: str
    labels: LabelSelector
    terms: FieldSelector
    fields: Callable[[Object, str], str]

    @property
    def prefix(self) -> str:
        return f"{self.namespace}/" if self.namespace else ""

    def takes(self, path: str, obj: Object) -> bool:
        if self.namespace and not path.startswith(self.prefix):
            return False
        if self.labels and not self.labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return not self.terms or self.terms.matches(lambda field: self.fields(obj, field))


class NotConverted(Exception):
    """Raised by `View.convert` for an object that is not available in the version of the view."""


class WatchEvent:
    """What a watcher is told: a type, the stored object that it is about, and how to put it into words.

    The encoded line is kept with the change it came from, so that a write is encoded once, however many watch it.
    """

    __slots__ = ("_cache", "_key", "entry", "type", "view")

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

    def to_object(self) -> Object:
        return {"type": self.type, "object": self.view.to_object(self.entry)}

    def __repr__(self) -> str:
        return f"<WatchEvent {self.type} {self.entry.object.get('metadata', {}).get('name')} {self.entry.revision}>"


@dataclass(frozen=True, slots=True)
class View:
    """How a stored object is shown: with the apiVersion and kind of the version that was asked for, converted to it.

    `convert` is None where what is stored needs nothing but those two; `key` tells views apart. `shared`: many watchers
    have this view, so that lines are kept. `following` is how a watch shows events after its first (None: the same).
    """

    api_version: str
    kind: str
    convert: Callable[[Object], Object] | None = None
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
        obj = self.convert(entry.object) if self.convert else entry.object
        return {"apiVersion": self.api_version, "kind": self.kind, **obj}

    def encode(self, entry: Entry) -> bytes:
        json = orjson.dumps(self.convert(entry.object)) if self.convert else entry.json
        return self._head + (b"," + json[1:] if len(json) > 2 else b"}")

    def encode_item(self, entry: Entry) -> bytes:
        """As an item of a built-in list, which names neither apiVersion nor kind."""
        return orjson.dumps(self.convert(entry.object)) if self.convert else entry.json

    def item(self, entry: Entry) -> Object:
        return self.convert(entry.object) if self.convert else entry.object


def _metadata_only(obj: Object) -> Object:
    return {"metadata": obj["metadata"]}


def partial_view(version: str) -> View:
    """Objects as PartialObjectMetadata."""
    return View(f"meta.k8s.io/{version}", "PartialObjectMetadata", _metadata_only)


def never() -> bool:
    """Most resources are served as long as the server is."""
    return False


class Watch:
    """One client's watch: `initial` is what it is told first, `read` what happened since it last asked.

    `revision` is how far it has read. `deadline` and the bookmark times are virtual seconds after the start; the shell
    that serves the watch keeps them.
    """

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
        self.revision = revision
        self.timeout = timeout
        self.bookmarks = bookmarks
        self.initial: list[WatchEvent] = []
        self.over: Callable[[], bool] = never
        """Whether what is watched is served no more: the stream ends."""
        self.convert: Callable[[Sequence[Entry]], Waiting] | None = None
        """Converts entries to the version of the watch before they are delivered (None: needs no webhook)."""
        self.refused: StatusError | None = None
        """Set: the stream opens, says this and ends."""
        self._empty = empty
        self._bookmarked = 0

    def __repr__(self) -> str:
        where = self.selection.namespace or "*"
        return f"<Watch {self.collection} in {where} rev={self.revision}>"

    def read(self) -> list[WatchEvent]:
        """The events since the last call; the cursor moves on. Raises 410 Expired where the window has left it
        behind."""
        if self.revision >= self.store.revision:
            return []
        changes = self.store.since(self.collection, self.revision)
        self.revision = max(self.revision, self.store.revision)
        return [event for change in changes if (event := self._translate(change)) is not None]

    def _translate(self, change: Change) -> WatchEvent | None:
        selection = self.selection
        was = change.before is not None and selection.takes(change.path, change.before.object)
        now = change.after is not None and selection.takes(change.path, change.after.object)
        type = TRANSITIONS.get((was, now))
        if type is None:
            return None
        entry = change.departed if type == "DELETED" else change.after
        assert entry is not None
        return self.event(type, entry, change.lines)

    def event(self, type: str, entry: Entry, lines: dict[Any, bytes] | None = None) -> WatchEvent:
        """The next thing to tell the watcher; `lines` is where its encoding may be kept."""
        view = self.view
        if view.following is not None:
            self.view = view.following
        return WatchEvent(type, entry, view, lines if view.shared else None)

    def bookmark(self, *, initial_events_end: bool = False) -> WatchEvent:
        """Where the watch stands, as an event without an object of its own."""
        metadata: Object = {"resourceVersion": str(self.revision)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        self._bookmarked = self.revision
        return self.event("BOOKMARK", Entry(self.revision, {"metadata": metadata, **self._empty}))

    @property
    def moved(self) -> bool:
        """Something was written since the last bookmark."""
        return max(self.revision, self.store.revision) > self._bookmarked


def error_event(error: StatusError) -> bytes:
    """The line that ends a stream which cannot go on."""
    return orjson.dumps({"type": "ERROR", "object": error.to_object()}) + b"\n"
