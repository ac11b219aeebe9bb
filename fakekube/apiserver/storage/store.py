"""A multi-version store of objects with one global revision, as etcd is.

`Store._commit` is the only place that creates a revision. A collection contains the objects of one resource by
`NAMESPACE/NAME` (or `NAME`), in the order of the real server's keys: namespace `x-b` comes before namespace `x`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.status import expired

T = TypeVar("T")

#: The maximum size of the history, as JSON. (etcd's is bounded by its quota, and by a compaction every five minutes.)
MAX_HISTORY_BYTES = 64 * 1024 * 1024


#: The objects of a list that are encoded before other requests have their turn.
PART = 100


def parted(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Slices of a list, each of which is encoded quickly."""
    return (items[at : at + PART] for at in range(0, len(items), PART))


class Entry:
    """One state of a stored object. Entries are immutable; its encodings are made on first use.

    `version` is the API version in which a custom resource is stored ("": a built-in resource). `incomplete`: the
    storage of kube-apiserver lacks defaults that each read sets, so that the next update changes it in any case.
    """

    __slots__ = ("_json", "_message", "incomplete", "object", "revision", "version")

    revision: int
    object: dict[str, Any]
    version: str
    incomplete: bool

    def __init__(self, revision: int, obj: Object, version: str = "", *, incomplete: bool = False) -> None:
        self.revision, self.object, self.version, self.incomplete = revision, obj, version, incomplete
        self._json: bytes | None = None
        self._message: tuple[Callable[[Object], bytes], bytes] | None = None

    @property
    def json(self) -> bytes:
        """The stored object as JSON, without apiVersion and kind. Its keys are sorted, as Go writes maps (custom
        resources are some): they do not depend on how the object came to be."""
        if self._json is None:
            # copied, because the bytes of orjson keep its output buffer of several KiB alive
            self._json = memoryview(gojson.encode(self.object, sorted_keys=True)).tobytes()
        return self._json

    @property
    def encoded_size(self) -> int:
        """The bytes of `json`; 0 as long as it has not been made."""
        return 0 if self._json is None else len(self._json)

    def message(self, marshal: Callable[[Object], bytes]) -> bytes:
        """The stored object as the protobuf message that `marshal` encodes; kept for one message."""
        kept = self._message
        if kept is None or kept[0] is not marshal:
            kept = self._message = (marshal, marshal(self.object))
        return kept[1]


class Change:
    """A committed write: the entries before and after it (None: absent), and its revision."""

    __slots__ = ("_departed", "after", "before", "collection", "lines", "path", "revision", "size")

    revision: int
    path: str
    collection: str
    before: Entry | None
    after: Entry | None

    def __init__(self, revision: int, collection: str, path: str, before: Entry | None, after: Entry | None) -> None:
        self.revision, self.collection, self.path = revision, collection, path
        self.size: int = 0
        """The bytes of the new version, as JSON."""
        self.before, self.after = before, after
        self._departed: Entry | None = None
        self.lines: dict[Any, bytes] = {}
        """The encoded watch events of this change, shared by all watches (see `watch`)."""

    @property
    def departed(self) -> Entry:
        """The object before the change, with the revision of the change: the object of a DELETED event."""
        if self._departed is None:
            assert self.before is not None, "the object existed before the change"
            self._departed = Entry(self.revision, stamped(self.before.object, self.revision), self.before.version)
        return self._departed

    def __repr__(self) -> str:
        what = "deleted" if self.after is None else "created" if self.before is None else "updated"
        return f"<Change {self.revision} {self.collection} {self.path} {what}>"


#: How many keys a scan copies at a time: a page has few of many.
_TOGETHER = 128


class Collection:
    """The objects of one resource: sorted keys, the versions of each object, and the changes that watches read.

    Invariants: `keys` is sorted and contains exactly the keys of `chains`, and `live_keys` those of `live`; a chain is
    sorted by revision and ends with the current version (an `Entry`, or the revision of the deletion); `changes` is
    sorted by revision; `lost` is the revision of the last change that was compacted. `borrowed` has the keys of the
    chains that copies of the collection share, which are copied before they change.
    """

    __slots__ = ("borrowed", "chains", "changes", "keys", "live", "live_keys", "lost", "name")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.keys: list[str] = []
        self.chains: dict[str, list[Entry | int]] = {}
        self.live: dict[str, Entry] = {}
        self.live_keys: list[str] = []
        self.changes: list[Change] = []
        self.lost: int = 0
        self.borrowed: set[str] = set()

    def own_chain(self, path: str) -> list[Entry | int]:
        """The versions of an object, to be changed."""
        chain = self.chains[path]
        if path in self.borrowed:
            self.borrowed.remove(path)
            chain = self.chains[path] = chain.copy()
        return chain

    @property
    def revision(self) -> int:
        """The revision of the last change; 0 if there is none."""
        return self.changes[-1].revision if self.changes else self.lost

    def begin_at(self, revision: int) -> None:
        """Drops the history: reads and watches of earlier revisions are not possible."""
        self.keys, self.changes, self.lost = self.live_keys.copy(), [], revision
        self.chains, self.borrowed = {path: [entry] for path, entry in self.live.items()}, set()

    def at(self, path: str, revision: int) -> Entry | None:
        """The version of an object at `revision`."""
        for version in reversed(self.chains.get(path, ())):
            if isinstance(version, int):
                if version <= revision:
                    return None
            elif version.revision <= revision:
                return version
        return None

    def scan(self, prefix: str, start: str, revision: int | None) -> Iterator[tuple[str, Entry]]:
        """The entries with a prefix from the key `start` on, in order; the current ones (None), or at `revision`."""
        if revision is not None and revision >= self.revision:
            revision = None  # nothing has changed since
        keys = self.live_keys if revision is None else self.keys
        first = bisect_left(keys, max(start, prefix))
        end = bisect_left(keys, _next_prefix(prefix), first) if prefix else len(keys)
        for at in range(first, end, _TOGETHER):
            for path in keys[at : min(at + _TOGETHER, end)]:
                entry = self.live.get(path) if revision is None else self.at(path, revision)
                if entry is not None:
                    yield path, entry

    def count(self, prefix: str, start: str, revision: int | None) -> int:
        """The number of objects that `scan` finds. It depends on the changes since `revision`, not on the objects."""
        keys = self.live_keys
        end = bisect_left(keys, _next_prefix(prefix)) if prefix else len(keys)
        found = end - bisect_left(keys, max(start, prefix), 0, end)
        if revision is None or revision >= self.revision:
            return found
        for path in {change.path for change in self.since(revision)}:
            if path >= start and path.startswith(prefix):
                found += (self.at(path, revision) is not None) - (path in self.live)
        return found

    def since(self, revision: int) -> list[Change]:
        """The changes after `revision`."""
        changes = self.changes
        if not changes or changes[-1].revision <= revision:
            return []
        return changes[bisect_right(changes, revision, key=_revision) :]


def _next_prefix(prefix: str) -> str:
    """The first text in order that follows all texts with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _copied(collection: Collection) -> Collection:
    """A copy that shares entries and changes, which are immutable, and chains until they change."""
    made = Collection(collection.name)
    made.keys, made.live_keys, made.live = collection.keys.copy(), collection.live_keys.copy(), collection.live.copy()
    made.changes, made.lost = collection.changes.copy(), collection.lost
    made.chains = collection.chains.copy()
    made.borrowed, collection.borrowed = set(made.chains), set(made.chains)
    return made


def stamped(obj: Object, revision: int) -> Object:
    """The object with `revision` as its resourceVersion, which follows the uid in Go's order."""
    meta = obj["metadata"]
    if "resourceVersion" in meta or "uid" not in meta:
        return {**obj, "metadata": {**meta, "resourceVersion": str(revision)}}
    made: Object = {}
    for key, value in meta.items():
        made[key] = value
        if key == "uid":
            made["resourceVersion"] = str(revision)
    return {**obj, "metadata": made}


def path_of(namespace: str, name: str) -> str:
    """The key of an object in its collection."""
    return f"{namespace}/{name}" if namespace else name


class Store:
    """All collections, the revision, and the recent history.

    `window` is the number of changes that are kept for watches and for reads at a revision; older changes are
    compacted, and reading them raises 410 Expired. Beyond MAX_HISTORY_BYTES older changes are compacted, too, whatever
    the window. `compacted` is the last compacted revision.
    """

    def __init__(self, window: int = 20_000) -> None:
        self.window = window
        self.revision: int = 1
        self.compacted: int = 0
        self.floor: int = 0
        """The first revision that lists can read besides the present one, if `Compactor` has raised it."""
        self.watch_floor: int = 0
        """The first revision from which watches can resume, if the server has restarted: its watch cache is empty."""
        self._derived: dict[Any, Any] = {}
        self._collections: dict[str, Collection] = {}
        self._history: list[Change] = []
        self._history_bytes = 0

    def __repr__(self) -> str:
        return f"<Store rev={self.revision} objects={self.size()} history={len(self._history)}>"

    def copy(self, window: int) -> Store:
        """A store with the same objects and history, which shares them, and its own window."""
        made = Store(window)
        made.revision, made.compacted, made.floor = self.revision, self.compacted, self.floor
        made.watch_floor = self.watch_floor
        made._collections = {name: _copied(collection) for name, collection in self._collections.items()}
        made._history, made._history_bytes = self._history.copy(), self._history_bytes
        return made

    def restore(self, saved: Store, *, after: int | None = None) -> None:
        """Takes over the objects of another store, which shares its entries and is not changed.

        after=None: also its revision and its history. Otherwise the revision continues above this one, and everything
        before it is compacted, so that every watch has to list again (`etcdutl snapshot restore --bump-revision
        --mark-compacted`).
        """
        names = dict.fromkeys((*self._collections, *saved._collections))
        copied = {name: _copied(saved.collection(name)) for name in names}
        self._derived = {}
        self._collections = copied
        self._history, self._history_bytes = saved._history.copy(), saved._history_bytes
        self.revision, self.compacted, self.floor = saved.revision, saved.compacted, saved.floor
        if after is not None:
            self.begin_at(max(after, saved.revision) + 1)

    def begin_at(self, revision: int) -> None:
        """Continues at a later revision without history, so that every watch from an earlier one has to list again."""
        self.revision = self.compacted = max(revision, self.revision)
        self.floor, self._history, self._history_bytes = 0, [], 0
        for collection in self._collections.values():
            collection.begin_at(self.revision)

    # --- reading -----------------------------------------------------------------------------------------------------

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name)
        return found

    def get(self, collection: str, path: str) -> Entry | None:
        return self.collection(collection).live.get(path)

    def entries(self) -> Iterator[tuple[str, str, Entry]]:
        """All current objects, each with its collection and path."""
        for name, collection in self._collections.items():
            for path, entry in collection.live.items():
                yield name, path, entry

    def size(self) -> int:
        return sum(len(c.live) for c in self._collections.values())

    def sizes(self) -> dict[str, int]:
        """The number of objects in each collection."""
        return {name: len(collection.live) for name, collection in self._collections.items()}

    def readable(self, revision: int) -> bool:
        """Whether a list can read the state at `revision`."""
        return revision >= self.compacted and (revision >= self.floor or revision == self.revision)

    def continues(self, revision: int) -> bool:
        """Whether a continue token of `revision` is still valid."""
        return revision >= self.compacted and revision >= self.floor

    def revision_of_token(self, revision: int) -> int:
        """The revision for a continue token of a list that was read at `revision`: one that is not compacted."""
        if revision == self.revision and not self.continues(revision):
            self.skip_revision()
            return self.revision
        return revision

    def watchable(self, revision: int) -> bool:
        """Whether a watch can begin at `revision`."""
        return revision >= self.compacted and revision >= self.watch_floor

    def cached(self, revision: int) -> int:
        """The revision at which a watch cache stands that lags at `revision`: one that is not compacted."""
        return min(max(revision, self.compacted, 1), self.revision)

    def since(self, collection: str, revision: int) -> list[Change]:
        """The changes of a collection after `revision`. Raises 410 Expired if some of them are compacted.

        Compacted changes of other collections do not matter: the watch of an idle collection never expires.
        """
        found = self.collection(collection)
        if revision < found.lost:
            raise expired(f"too old resource version: {revision} ({self.compacted})")
        return found.since(revision)

    def changes(self) -> list[Change]:
        """All changes that are not compacted, oldest first."""
        return self._history

    def derived(self, make: Callable[[Store], T]) -> T:
        """The value of `make(self)`, which is made once for each store: an index or a cache of the stored objects.

        The value has to compare the revisions of the collections itself; the store does not invalidate it.
        """
        found: T | None = self._derived.get(make)
        if found is None:
            found = self._derived[make] = make(self)
        return found

    # --- writing -----------------------------------------------------------------------------------------------------

    def create(self, collection: str, path: str, obj: Object, version: str = "", *, incomplete: bool = False) -> Change:
        """Creates an object, stored in an API version. The caller has checked that `path` does not exist."""
        return self._commit(collection, path, None, obj, version, incomplete=incomplete)

    def update(self, collection: str, path: str, before: Entry, obj: Object, version: str = "") -> Change:
        """Updates an object, stored in an API version. The caller has checked that `before` is the current state."""
        return self._commit(collection, path, before, obj, version)

    def delete(self, collection: str, path: str, before: Entry) -> Change:
        return self._commit(collection, path, before, None)

    def _commit(
        self,
        name: str,
        path: str,
        before: Entry | None,
        obj: Object | None,
        version: str = "",
        *,
        incomplete: bool = False,
    ) -> Change:
        collection = self.collection(name)
        if collection.live.get(path) is not before:
            raise AssertionError(f"{name} {path}: the write is based on a version that is not the current one")
        self.revision += 1
        revision = self.revision
        after: Entry | None = None
        if obj is None:
            del collection.live[path]
            del collection.live_keys[bisect_left(collection.live_keys, path)]
        else:
            after = Entry(revision, stamped(obj, revision), version, incomplete=incomplete)
            if before is None:
                insort(collection.live_keys, path)
            collection.live[path] = after
        if path in collection.chains:
            collection.own_chain(path).append(after or revision)
        else:
            collection.chains[path] = [after or revision]
            insort(collection.keys, path)
        change = Change(revision, name, path, before, after)
        collection.changes.append(change)
        self._history.append(change)
        if after is not None:
            change.size = len(orjson.dumps(after.object))
            self._history_bytes += change.size
        if len(self._history) > self.window + self.window // 4:
            self.compact(self._history[-self.window - 1].revision)
        if self._history_bytes > MAX_HISTORY_BYTES:
            self._compact_to(MAX_HISTORY_BYTES * 3 // 4)
        return change

    # --- compaction --------------------------------------------------------------------------------------------------

    def _compact_to(self, size: int) -> None:
        """Removes the oldest changes until their new versions have at most `size` bytes; the last change is kept."""
        excess, floor = self._history_bytes - size, self.compacted
        for change in self._history[:-1]:
            floor = change.revision
            excess -= change.size
            if excess <= 0:
                break
        self.compact(floor)

    def compact(self, revision: int | None = None) -> None:
        """Removes the changes up to and including `revision` (None: all changes). Current objects are kept."""
        floor = self.revision if revision is None else min(revision, self.revision)
        if floor <= self.compacted:
            return
        cut = bisect_right(self._history, floor, key=_revision)
        gone: dict[str, int] = {}
        for change in self._history[:cut]:
            self._forget(change)
            self._history_bytes -= change.size
            gone[change.collection] = gone.get(change.collection, 0) + 1
        for name, count in gone.items():
            collection = self._collections[name]
            collection.lost = collection.changes[count - 1].revision
            del collection.changes[:count]
        del self._history[:cut]
        self.compacted = floor

    def skip_revision(self) -> None:
        """Takes a revision for a key that no collection has: kube-apiserver's record of a compaction."""
        self.revision += 1

    def shorten(self, name: str, most: int) -> None:
        """Removes the oldest changes of one collection, all but `most`, if lists cannot read them any more.

        Does nothing before there are a quarter more.
        """
        collection = self.collection(name)
        if len(collection.changes) <= most + most // 4:
            return
        floor = min(max(self.floor, self.compacted), collection.changes[-most - 1].revision)
        cut = bisect_right(collection.changes, floor, key=_revision)
        if not cut:
            return
        for change in collection.changes[:cut]:
            self._forget(change)
            self._history_bytes -= change.size
        collection.lost = collection.changes[cut - 1].revision
        del collection.changes[:cut]
        self._history = [one for one in self._history if one.collection != name or one.revision > collection.lost]

    def compact_with_key(self) -> None:
        """Removes all changes, after a revision of the key in which kube-apiserver records a compaction.

        So every resourceVersion that a client knows is too old (`apiserver/pkg/storage/etcd3/compact.go`).
        """
        self.skip_revision()
        self.compact()

    def _forget(self, change: Change) -> None:
        """Removes the version that `change` replaced, and the key of a deleted object."""
        collection = self._collections[change.collection]
        chain = collection.own_chain(change.path)
        if change.before is not None:
            chain.pop(0)
        if isinstance(chain[0], int):
            chain.pop(0)
            if not chain:
                del collection.chains[change.path]
                del collection.keys[bisect_left(collection.keys, change.path)]


def _revision(change: Change) -> int:
    return change.revision
