"""DeltaFIFO: deltas gathered by key, the informer queue before 0.33 (client-go: tools/cache/delta_fifo.go)."""

from collections.abc import Iterable, Sequence
from typing import Any

from controllerlib.cache.delta import Batch, Delta, DeltaType
from controllerlib.cache.realfifo import KnownObjects
from controllerlib.cache.store import KeyFunc, TransformFunc
from controllerlib.client.names import DeletedFinalStateUnknown, KeyFailure, deletion_handling_key


def merge_deletions(deltas: list[Delta]) -> list[Delta]:
    """Two deletions in a row are one: the newer if the older held only a tombstone, else the older."""
    if len(deltas) < 2 or deltas[-1].type != "Deleted" or deltas[-2].type != "Deleted":
        return deltas
    older, newer = deltas[-2], deltas[-1]
    keep = newer if isinstance(older.object, DeletedFinalStateUnknown) else older
    return [*deltas[:-2], keep]


class DeltaFIFO:
    """Keys in the order of their first queued delta, each with all its deltas (client-go: cache.DeltaFIFO).

    `known` (usually the store) tells what a list lacks and what a resync repeats. `emit_replaced`: a list gives
    Replaced instead of Sync (informers do).
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
        #: insertion order is the line: a key leaves both at once
        self._items: dict[str, list[Delta]] = {}
        self._populated = False
        self._initial = self._open = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def key_of(self, obj: Any) -> str:
        """The key of an object, a tombstone, or of the newest of a list of deltas; raises KeyFailure."""
        if isinstance(obj, list | tuple) and not isinstance(obj, Delta):
            if not obj:
                raise KeyFailure(obj, ValueError("0 length Deltas object; can't get key"))
            obj = obj[-1].object
        if isinstance(obj, DeletedFinalStateUnknown):
            return obj.key
        try:
            return self._key_func(obj)
        except Exception as error:  # any key function, any failure: told in one way
            raise KeyFailure(obj, error) from error

    def add(self, obj: Any) -> None:
        """Append an Added delta; an error of the transformer is raised and nothing queued."""
        self._append("Added", obj)
        self._populated = True

    def update(self, obj: Any) -> None:
        """Append an Updated delta."""
        self._append("Updated", obj)
        self._populated = True

    def delete(self, obj: Any) -> None:
        """Append a Deleted delta, unless nobody knows the object."""
        key = self.key_of(obj)
        self._populated = True
        if key not in self._items and (self._known is None or self._known.get_by_key(key) is None):
            return
        self._append("Deleted", obj)

    def replace(self, objs: Iterable[Any], version: str) -> None:
        """Take a list: a delta for each object, then deletions of queued and of known keys that it lacks."""
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
        """Whether the first list was taken and processed, or something came before any list."""
        return self._populated and self._initial == 0 and not self._open

    def take(self, limit: int | None = None) -> Batch | None:
        """Take the oldest key with all its deltas; None when there is none. `limit` has no meaning here."""
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
        """The batch was processed, or failed: it does not come back."""
        self._open -= 1

    def is_blocked(self) -> bool:
        """Producers wait while a step is under way: this queue keeps its lock."""
        return self._open > 0

    def is_crowded(self) -> bool:
        """Never: deltas gather by key."""
        return False

    def close(self) -> None:
        """No more is expected; what is queued can still be taken."""
        self.closed = True

    def queued(self, key: str) -> Sequence[Delta]:
        """The deltas that wait for `key`."""
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
