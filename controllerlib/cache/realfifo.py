"""RealFIFO: all deltas in order, the queue of every informer (client-go: the_real_fifo.go)."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from controllerlib.cache.delta import Batch, Bookmark, Delta, ReplacedAll, SyncAll
from controllerlib.cache.store import KeyFunc, TransformFunc
from controllerlib.client.names import DeletedFinalStateUnknown, deletion_handling_key, key_with
from controllerlib.namedtuples import new_tuple

#: The types of deltas that may be taken in batches.
BATCHABLE = frozenset({"Sync", "Replaced", "Added", "Updated", "Deleted"})
_SYNC_ALL = Delta("SyncAll", SyncAll())


class KnownObjects(Protocol):
    """The known objects that a queue compares a list with, usually the informer's store."""

    def list_keys(self) -> Iterable[str]:
        """Return the known keys."""
        ...

    def get_by_key(self, key: str) -> Any:
        """Return the known object, or None."""
        ...


@dataclass(frozen=True, slots=True)
class RealFIFOOptions:
    """Options of a RealFIFO; the defaults are those of informers since client-go 0.36.

    `atomic`: a list or a resync is one element, which is expanded when it is processed; then `known` must be omitted,
    otherwise it is required. `unlock_while_processing` and `bookmarks` need `atomic`. ValueError for other
    combinations.
    """

    atomic: bool = True
    unlock_while_processing: bool = True
    bookmarks: bool = True
    batch_size: int = 1000

    def check(self, known: KnownObjects | None) -> None:
        """Raise ValueError for invalid combinations."""
        if self.atomic and known is not None:
            raise ValueError("known objects must not be given when events are atomic")
        if not self.atomic and known is None:
            raise ValueError("known objects must be given when events are not atomic")
        if self.unlock_while_processing and not self.atomic:
            raise ValueError("unlocking while processing needs atomic events")
        if self.bookmarks and not self.atomic:
            raise ValueError("bookmarks need atomic events")


class RealFIFO:
    """A queue of deltas with one consumer: `take` a batch, process it, `finish` it.

    Source: client-go, cache.RealFIFO.
    """

    options: RealFIFOOptions
    closed: bool

    def __init__(
        self,
        options: RealFIFOOptions | None = None,
        *,
        key_func: KeyFunc = deletion_handling_key,
        known: KnownObjects | None = None,
        transform: TransformFunc | None = None,
    ) -> None:
        self.options = options or RealFIFOOptions()
        self.options.check(known)
        self._key_func, self._known, self._transform = key_func, known, transform
        self._items: deque[Delta] = deque()
        self._populated = self._processing = False
        self._initial = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def add(self, obj: Any) -> None:
        """Append an Added delta."""
        self._populated = True
        self._items.append(new_tuple(Delta, ("Added", self._transform(obj) if self._transform else obj)))

    def update(self, obj: Any) -> None:
        """Append an Updated delta."""
        self._populated = True
        self._items.append(new_tuple(Delta, ("Updated", self._transform(obj) if self._transform else obj)))

    def delete(self, obj: Any) -> None:
        """Append a Deleted delta, even if the object is unknown. Tombstones are not transformed."""
        self._populated = True
        tombstone = isinstance(obj, DeletedFinalStateUnknown)
        self._items.append(
            new_tuple(Delta, ("Deleted", self._transform(obj) if self._transform and not tombstone else obj))
        )

    def bookmark(self, version: str) -> None:
        """Append a Bookmark if bookmarks are enabled; does not count as a change."""
        if self.options.bookmarks:
            self._items.append(Delta("Bookmark", Bookmark(version)))

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Queue a list: one ReplacedAll (atomic), or deletions of missing objects and a Replaced for each object."""
        if self.options.atomic:
            listed = [self._transform(obj) if self._transform else obj for obj in objs]
            self._items.append(Delta("ReplacedAll", ReplacedAll(version, listed)))
        else:
            self._replace_each(list(objs))
        if not self._populated:
            self._populated = True
            self._initial = len(self._items)

    def resync(self) -> None:
        """Queue a resync: one SyncAll (atomic), or a Sync for each known key without a queued delta."""
        if self.options.atomic:
            self._items.append(_SYNC_ALL)
            return
        assert self._known is not None
        queued = {self._key(delta.object) for delta in self._items}
        for key in self._known.list_keys():
            obj = self._known.get_by_key(key)
            if key not in queued and obj is not None:
                self._items.append(Delta("Sync", obj))

    def has_synced(self) -> bool:
        """Return whether the whole first list was processed, or another change was queued before any list."""
        return self._populated and self._initial == 0

    def is_blocked(self) -> bool:
        """Return whether producers must wait for the batch in progress: always, or when crowded if unlocking is
        enabled.
        """
        if not self._processing:
            return False
        return not self.options.unlock_while_processing or self.is_crowded()

    def is_crowded(self) -> bool:
        """Return whether two full batches or more are queued."""
        return len(self._items) >= 2 * self.options.batch_size

    def take(self, limit: int | None = None) -> Batch | None:
        """Take the next batch, at most `limit` deltas; None if there is none.

        A batch contains one delta per key and does not extend beyond the initial list. Lists, resyncs and bookmarks are
        taken alone. A delta without a valid key ends its batch.
        """
        items = self._items
        if not items:
            return None
        initial = self._initial > 0
        size = min(limit or self.options.batch_size, self._initial if initial else len(items), len(items))
        self._processing = True
        if size <= 1 or items[0].type not in BATCHABLE:
            return Batch((items.popleft(),), not self.has_synced())
        batch: list[Delta] = []
        keys: set[str] = set()
        while len(batch) < size and items[0].type in BATCHABLE:
            try:
                key = self._key_func(items[0].object)
            except Exception:  # a key function may raise anything; processing the delta reports it
                batch.append(items.popleft())
                break
            if key in keys:
                break
            keys.add(key)
            batch.append(items.popleft())
        return Batch(batch, not self.has_synced())

    def finish(self, batch: Batch) -> None:
        """End a batch, whether it was processed or failed; it is not queued again."""
        self._processing = False
        if self._initial:
            self._initial = max(0, self._initial - len(batch.deltas))

    def close(self) -> None:
        """Close the queue; queued deltas can still be taken."""
        self.closed = True

    def _key(self, obj: Any) -> str:
        return key_with(self._key_func, obj)

    def _replace_each(self, objs: list[Any]) -> None:
        assert self._known is not None
        listed = {self._key(obj) for obj in objs}
        last: dict[str, Delta] = {}
        for delta in self._items:
            last[self._key(delta.object)] = delta
        for key, delta in last.items():
            if key not in listed and delta.type != "Deleted":
                self._append_deletion(key, delta.object)
        for key in self._known.list_keys():
            if key not in listed and key not in last:
                self._append_deletion(key, self._known.get_by_key(key))
        for obj in objs:
            self._items.append(Delta("Replaced", self._transform(obj) if self._transform else obj))

    def _append_deletion(self, key: str, obj: Any) -> None:
        self._items.append(Delta("Deleted", DeletedFinalStateUnknown(key, obj)))
