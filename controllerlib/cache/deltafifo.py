"""DeltaFIFO: deltas grouped by key, the queue of informers before 0.33 (client-go: tools/cache/delta_fifo.go)."""

from collections.abc import Iterable, Sequence
from typing import Any

from controllerlib.cache.delta import Batch, Delta, DeltaType
from controllerlib.cache.realfifo import KnownObjects
from controllerlib.cache.store import KeyFunc, TransformFunc
from controllerlib.client.names import DeletedFinalStateUnknown, KeyFailure, deletion_handling_key, key_with


def merge_deletions(deltas: list[Delta]) -> list[Delta]:
    """Merge two consecutive deletions: keep the newer one if the older is a tombstone, otherwise the older one."""
    if len(deltas) < 2 or deltas[-1].type != "Deleted" or deltas[-2].type != "Deleted":
        return deltas
    older, newer = deltas[-2], deltas[-1]
    keep = newer if isinstance(older.object, DeletedFinalStateUnknown) else older
    return [*deltas[:-2], keep]


class DeltaFIFO:
    """Keys in the order of their first queued delta, each with all its deltas (client-go: cache.DeltaFIFO).

    `known`, usually the store, determines which objects a list deletes and which ones a resync repeats.
    `emit_replaced`: a list produces Replaced instead of Sync, as informers need it.
    """

    closed: bool

    def __init__(
        self,
        *,
        key_func: KeyFunc = deletion_handling_key,
        known: KnownObjects | None = None,
        transform: TransformFunc | None = None,
        emit_replaced: bool = False,
    ) -> None:
        self._key_func, self._known, self._transform = key_func, known, transform
        self._listed: DeltaType = "Replaced" if emit_replaced else "Sync"
        #: In insertion order, which is the order of the queue.
        self._items: dict[str, list[Delta]] = {}
        self._populated = False
        self._initial = self._open = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def key_of(self, obj: Any) -> str:
        """Return the key of an object, of a tombstone, or of the newest of a list of deltas; raises KeyFailure."""
        if isinstance(obj, list | tuple) and not isinstance(obj, Delta):
            if not obj:
                raise KeyFailure(obj, ValueError("0 length Deltas object; can't get key"))
            obj = obj[-1].object
        if isinstance(obj, DeletedFinalStateUnknown):
            return obj.key
        return key_with(self._key_func, obj)

    def add(self, obj: Any) -> None:
        """Append an Added delta. If the transform raises, nothing is queued."""
        self._append("Added", obj)
        self._populated = True

    def update(self, obj: Any) -> None:
        """Append an Updated delta."""
        self._append("Updated", obj)
        self._populated = True

    def delete(self, obj: Any) -> None:
        """Append a Deleted delta, unless the object is unknown."""
        key = self.key_of(obj)
        self._populated = True
        if key not in self._items and (self._known is None or self._known.get_by_key(key) is None):
            return
        self._append("Deleted", obj)

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Queue a list: a delta for each object, and deletions of queued and known keys that it does not contain."""
        listed: dict[str, None] = {}
        for obj in objs:
            listed[self.key_of(obj)] = None
            self._append(self._listed, obj)
        deletions = 0
        for key in [k for k in self._items if k not in listed]:
            newest = self._items[key][-1]
            if newest.type == "Deleted":
                continue
            deletions += 1
            self._append("Deleted", DeletedFinalStateUnknown(key, newest.object))
        for key in self._known.list_keys() if self._known is not None else ():
            if key in listed or key in self._items:
                continue
            assert self._known is not None
            deletions += 1
            self._append("Deleted", DeletedFinalStateUnknown(key, self._look_up(key)))
        if not self._populated:
            self._populated = True
            self._initial = len(listed) + deletions

    def resync(self) -> None:
        """Append a Sync for each known key that has no queued delta."""
        if self._known is None:
            return
        for key in self._known.list_keys():
            obj = self._look_up(key)
            if obj is not None and key not in self._items:
                self._append("Sync", obj)

    def has_synced(self) -> bool:
        """Return whether the first list was processed, or another change was queued before any list."""
        return self._populated and self._initial == 0 and not self._open

    def take(self, limit: int | None = None) -> Batch | None:
        """Take the oldest key with all its deltas; None if there is none. `limit` has no effect."""
        if not self._items:
            return None
        initial = not self.has_synced()
        key = next(iter(self._items))
        deltas = self._items.pop(key)
        if self._initial:
            self._initial -= 1
        self._open += 1
        return Batch(deltas, initial)

    def finish(self, batch: Batch) -> None:
        """End a batch, whether it was processed or failed; it is not queued again."""
        self._open -= 1

    def is_blocked(self) -> bool:
        """Return whether a batch is being processed: this queue is locked meanwhile."""
        return self._open > 0

    def is_crowded(self) -> bool:
        """Return False: deltas are grouped by key."""
        return False

    def close(self) -> None:
        """Close the queue; queued deltas can still be taken."""
        self.closed = True

    def queued(self, key: str) -> Sequence[Delta]:
        """Return the queued deltas of `key`."""
        return tuple(self._items.get(key, ()))

    def _look_up(self, key: str) -> Any:
        assert self._known is not None
        try:
            return self._known.get_by_key(key)
        except LookupError:
            return None

    def _append(self, kind: DeltaType, obj: Any) -> None:
        key = self.key_of(obj)
        if self._transform is not None and kind != "Sync" and not isinstance(obj, DeletedFinalStateUnknown):
            obj = self._transform(obj)
        self._items[key] = merge_deletions([*self._items.get(key, ()), Delta(kind, obj)])
