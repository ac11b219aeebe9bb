"""Every object in every version that can still be read, under one global revision (etcd's role, and its MVCC).

One place makes a revision: `Store._commit`. A collection holds the objects of one resource, keyed by
`NAMESPACE/NAME` (or `NAME`), so its order is the order of the real server's keys: namespace `x-b` comes before
namespace `x`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.status import expired

T = TypeVar("T")


class Entry:
    """One stored version of one object; never changed. It is encoded at most once, when somebody first asks."""

    __slots__ = ("_json", "object", "revision")

    def __init__(self, revision: int, obj: Object) -> None:
        self.revision, self.object = revision, obj
        self._json: bytes | None = None

    @property
    def json(self) -> bytes:
        """The object as stored (without apiVersion and kind), as JSON."""
        if self._json is None:
            # copied: what orjson gives keeps the whole buffer that it was written into, of several KiB
            self._json = memoryview(orjson.dumps(self.object)).tobytes()
        return self._json


class Change:
    """One committed write: the entry before and after (None: absent), at one revision of one collection."""

    __slots__ = ("_departed", "after", "before", "collection", "lines", "path", "revision")

    def __init__(self, revision: int, collection: str, path: str, before: Entry | None, after: Entry | None) -> None:
        self.revision, self.collection, self.path = revision, collection, path
        self.before, self.after = before, after
        self._departed: Entry | None = None
        self.lines: dict[Any, bytes] = {}
        """Encoded watch events of this change, shared by all watchers (see `watch`)."""

    @property
    def departed(self) -> Entry:
        """The object as it was before, at this change's revision: what a watcher gets who sees it go."""
        if self._departed is None:
            assert self.before is not None, "only what was there can depart"
            self._departed = Entry(self.revision, stamped(self.before.object, self.revision))
        return self._departed

    def __repr__(self) -> str:
        what = "deleted" if self.after is None else "created" if self.before is None else "updated"
        return f"<Change {self.revision} {self.collection} {self.path} {what}>"


class Collection:
    """The objects of one resource: sorted keys, the versions of each, and the changes that watches read.

    Invariants: `keys` is sorted and has exactly the keys of `chains`; a chain is sorted by revision and its last
    element is the present (an `Entry`, or a revision alone where the object is gone); `changes` is sorted by
    revision; `lost` is the last revision whose change was in it and is compacted away.
    """

    __slots__ = ("chains", "changes", "keys", "live", "lost", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: list[str] = []
        self.chains: dict[str, list[Entry | int]] = {}
        self.live: dict[str, Entry] = {}
        self.changes: list[Change] = []
        self.lost = 0

    @property
    def revision(self) -> int:
        """The revision of its last change; 0: there was none."""
        return self.changes[-1].revision if self.changes else self.lost

    def at(self, path: str, revision: int) -> Entry | None:
        """The object as it was at `revision`."""
        for version in reversed(self.chains.get(path, ())):
            if isinstance(version, int):
                if version <= revision:
                    return None
            elif version.revision <= revision:
                return version
        return None

    def scan(self, prefix: str, after: str, revision: int | None) -> Iterator[tuple[str, Entry]]:
        """Paths that begin with `prefix`, from beyond `after` on, in order; the present, or the state at `revision`."""
        keys = self.keys
        i = bisect_right(keys, after) if after else bisect_left(keys, prefix) if prefix else 0
        while i < len(keys):
            path = keys[i]
            if prefix and not path.startswith(prefix):
                return
            entry = self.live.get(path) if revision is None else self.at(path, revision)
            if entry is not None:
                yield path, entry
            i += 1


def stamped(obj: Object, revision: int) -> Object:
    """The object with its metadata saying `revision`."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def path_of(namespace: str, name: str) -> str:
    """An object's key within its collection."""
    return f"{namespace}/{name}" if namespace else name


class Store:
    """All collections, one revision, and a window of history.

    `window` is how many changes are kept for watches and for reads of the past; older ones are compacted away, and what
    asks for them gets 410 Expired. `compacted` is the last revision whose change is no longer known.
    """

    def __init__(self, window: int = 20_000) -> None:
        self.window = window
        self.revision = 1
        self.compacted = 0
        self._derived: dict[Any, Any] = {}
        self._collections: dict[str, Collection] = {}
        self._history: list[Change] = []

    def __repr__(self) -> str:
        return f"<Store rev={self.revision} objects={self.size()} history={len(self._history)}>"

    # --- reading ---------------------------------------------------------------------------------------------------

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name)
        return found

    def get(self, collection: str, path: str) -> Entry | None:
        return self.collection(collection).live.get(path)

    def size(self) -> int:
        return sum(len(c.live) for c in self._collections.values())

    def sizes(self) -> dict[str, int]:
        """How many objects each collection has."""
        return {name: len(collection.live) for name, collection in self._collections.items()}

    def readable(self, revision: int) -> bool:
        """The state at `revision` can still be told."""
        return revision >= self.compacted

    def since(self, collection: str, revision: int) -> list[Change]:
        """The changes of a collection after `revision`. Raises 410 Expired where some of them are compacted.

        What was compacted of other collections does not matter: a watch of a quiet collection never falls behind.
        """
        found = self.collection(collection)
        if revision < found.lost:
            raise expired(f"too old resource version: {revision} ({self.compacted})")
        changes = found.changes
        if not changes or changes[-1].revision <= revision:
            return []
        return changes[bisect_right(changes, revision, key=_revision) :]

    def changes(self) -> list[Change]:
        """All changes in the window, oldest first."""
        return self._history

    def derived(self, make: Callable[[Store], T]) -> T:
        """The value `make(self)`, made once and kept as long as the store: an index or a cache of what is stored.

        The store does not invalidate it; it compares revisions itself.
        """
        found: T | None = self._derived.get(make)
        if found is None:
            found = self._derived[make] = make(self)
        return found

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, collection: str, path: str, obj: Object) -> Change:
        """The caller has seen that `path` is free."""
        return self._commit(collection, path, None, obj)

    def update(self, collection: str, path: str, before: Entry, obj: Object) -> Change:
        """The caller has seen that `before` is the present."""
        return self._commit(collection, path, before, obj)

    def delete(self, collection: str, path: str, before: Entry) -> Change:
        return self._commit(collection, path, before, None)

    def _commit(self, name: str, path: str, before: Entry | None, obj: Object | None) -> Change:
        collection = self.collection(name)
        if collection.live.get(path) is not before:
            raise AssertionError(f"{name} {path}: the write was computed from another version than the present one")
        self.revision += 1
        revision = self.revision
        chain = collection.chains.get(path)
        if chain is None:
            chain = collection.chains[path] = []
            insort(collection.keys, path)
        after: Entry | None = None
        if obj is None:
            del collection.live[path]
            chain.append(revision)
        else:
            after = Entry(revision, stamped(obj, revision))
            collection.live[path] = after
            chain.append(after)
        change = Change(revision, name, path, before, after)
        collection.changes.append(change)
        self._history.append(change)
        if len(self._history) > self.window + self.window // 4:
            self.compact(self._history[-self.window - 1].revision)
        return change

    # --- forgetting ------------------------------------------------------------------------------------------------

    def compact(self, revision: int | None = None) -> None:
        """Forget the changes up to and including `revision` (all, where it is None). The present stays."""
        floor = self.revision if revision is None else min(revision, self.revision)
        if floor <= self.compacted:
            return
        cut = bisect_right(self._history, floor, key=_revision)
        gone: dict[str, int] = {}
        for change in self._history[:cut]:
            self._forget(change)
            gone[change.collection] = gone.get(change.collection, 0) + 1
        for name, count in gone.items():
            collection = self._collections[name]
            collection.lost = collection.changes[count - 1].revision
            del collection.changes[:count]
        del self._history[:cut]
        self.compacted = floor

    def _forget(self, change: Change) -> None:
        """Drop the version that `change` replaced; and the key, where nothing is left of it."""
        collection = self._collections[change.collection]
        chain = collection.chains[change.path]
        if change.before is not None:
            chain.pop(0)
        if isinstance(chain[0], int):
            chain.pop(0)
            if not chain:
                del collection.chains[change.path]
                del collection.keys[bisect_left(collection.keys, change.path)]


def _revision(change: Change) -> int:
    return change.revision
