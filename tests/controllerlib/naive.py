"""Simple implementations of queues and stores, with which the real ones are compared."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from controllerlib.cache.delta import Batch, Bookmark, Delta, ReplacedAll, SyncAll
from controllerlib.client.names import DeletedFinalStateUnknown


class Failures:
    """A rate limiter with delays of 1, 2, 4 ... seconds, at most 8."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def when(self, item: str, now: float) -> float:
        self.counted[item] += 1
        return float(min(8, 2 ** (self.counted[item] - 1)))

    def forget(self, item: str) -> None:
        self.counted[item] = 0

    def num_requeues(self, item: str) -> int:
        return self.counted[item]


class NaiveQueue:
    """The plain, delaying and rate limiting queue; items that are due are added second by second."""

    def __init__(self) -> None:
        self.now = 0
        self.limiter = Failures()
        self.line: list[str] = []
        self.dirty: list[str] = []
        self.processing: list[str] = []
        self.waiting: list[tuple[float, str]] = []
        self.closed = False

    def tick(self) -> None:
        self.now += 1
        for due, item in [row for row in self.waiting if row[0] <= self.now]:
            self.waiting.remove((due, item))
            self._put(item)

    def add(self, item: str, after: float, limited: bool) -> None:
        if limited:
            limit = self.limiter.when(item, self.now)
            after = min(after, limit) if after > 0 else limit
        if self.closed:
            return
        if after <= 0:
            self._put(item)
            return
        due = self.now + after
        for row in self.waiting:
            if row[1] == item:
                if row[0] <= due:
                    return
                self.waiting.remove(row)
                break
        place = len([row for row in self.waiting if row[0] <= due])
        self.waiting.insert(place, (due, item))

    def get(self) -> str | None:
        if not self.line:
            return None
        item = self.line.pop(0)
        self.dirty.remove(item)
        self.processing.append(item)
        return item

    def done(self, item: str) -> None:
        if item in self.processing:
            self.processing.remove(item)
            if item in self.dirty:
                self.line.append(item)

    def shut_down(self) -> None:
        self.closed = True
        self.waiting.clear()

    def _put(self, item: str) -> None:
        if item not in self.dirty:
            self.dirty.append(item)
            if item not in self.processing:
                self.line.append(item)


class NaivePriorityQueue:
    """One row per key: key, priority, deadline (None: ready), and its position among equals."""

    def __init__(self) -> None:
        self.now = 0
        self.limiter = Failures()
        self.rows: dict[str, tuple[int, float | None, int]] = {}
        self.processing: list[str] = []
        self.closed = False
        self._places = 0

    def tick(self) -> None:
        self.now += 1
        ripe = [(due, -priority, place, key) for key, (priority, due, place) in self.rows.items() if self._is_past(due)]
        for _, minus, _, key in sorted(ripe):
            self.rows[key] = (-minus, None, self._place())

    def add(self, key: str, after: float, limited: bool, priority: int) -> None:
        if self.closed:
            return
        if limited:
            limit = self.limiter.when(key, self.now)
            after = limit if after == 0 else min(after, limit)
        due = self.now + after if after > 0 else None
        if key not in self.rows:
            self.rows[key] = (priority, due, self._place())
            return
        had, was_due, place = self.rows[key]
        if was_due is None or (due is not None and due >= was_due):
            due = was_due
        if priority > had:
            had, place = priority, self._place()
        self.rows[key] = (had, due, place)

    def line(self) -> list[tuple[str, int]]:
        rows = [(-priority, place, key) for key, (priority, due, place) in self.rows.items() if due is None]
        return [(key, -minus) for minus, _, key in sorted(rows)]

    def waiting(self) -> dict[str, float]:
        return {key: due for key, (_, due, _) in self.rows.items() if due is not None}

    def get(self) -> tuple[str, int] | None:
        for key, priority in self.line():
            if key not in self.processing:
                del self.rows[key]
                self.processing.append(key)
                return key, priority
        return None

    def done(self, key: str) -> None:
        if key in self.processing:
            self.processing.remove(key)

    def shut_down(self) -> None:
        self.closed = True
        self.rows.clear()

    def _is_past(self, due: float | None) -> bool:
        return due is not None and due <= self.now

    def _place(self) -> int:
        self._places += 1
        return self._places


class NaiveStore:
    """A dict whose lookups scan all objects."""

    def __init__(self, **indexers: Callable[[Any], Sequence[str]]) -> None:
        self.objects: dict[str, Any] = {}
        self.indexers = indexers

    def list_keys(self) -> list[str]:
        return sorted(self.objects)

    def list(self) -> Sequence[Any]:
        return [self.objects[key] for key in sorted(self.objects)]

    def get_by_key(self, key: str) -> Any:
        return self.objects.get(key)

    def by_index(self, name: str, value: str) -> Sequence[Any]:
        return [obj for obj in self.list() if value in self.indexers[name](obj)]

    def index_values(self, name: str) -> Sequence[str]:
        return sorted({value for obj in self.list() for value in self.indexers[name](obj)})


def key_of(obj: Any) -> str:
    if isinstance(obj, DeletedFinalStateUnknown):
        return obj.key
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


class NaiveDeltaFIFO:
    """All deltas in one list; those of a key are collected when it is taken."""

    def __init__(self, known: NaiveStore, *, replaced: str) -> None:
        self.log: list[Delta] = []
        self._known, self._replaced = known, replaced
        self._populated = False
        self._initial = 0

    def change(self, kind: Any, obj: Any) -> None:
        self._populated = True
        key = key_of(obj)
        if kind == "Deleted" and not self._of(key) and self._known.get_by_key(key) is None:
            return
        self.log.append(Delta(kind, obj))

    def replace(self, objs: Sequence[Any]) -> None:
        listed = [key_of(obj) for obj in objs]
        self.log.extend(Delta(self._replaced, obj) for obj in objs)  # type: ignore[arg-type]
        queued = {key: self._of(key)[-1] for key in self.queued()}
        gone = {
            key: newest.object for key, newest in queued.items() if key not in listed and newest.type != "Deleted"
        } | {
            key: self._known.get_by_key(key)
            for key in self._known.list_keys()
            if key not in listed and key not in queued
        }
        self.log.extend(Delta("Deleted", DeletedFinalStateUnknown(key, obj)) for key, obj in gone.items())
        if not self._populated:
            self._populated, self._initial = True, len(set(listed)) + len(gone)

    def resync(self) -> None:
        keys = self.queued()
        self.log.extend(Delta("Sync", obj) for obj in self._known.list() if key_of(obj) not in keys)

    def take(self) -> Batch | None:
        if not self.log:
            return None
        initial = not self.has_synced()
        key = key_of(self.log[0].object)
        deltas = self._of(key)
        self.log = [delta for delta in self.log if key_of(delta.object) != key]
        self._initial = max(0, self._initial - 1)
        return Batch(deltas, initial)

    def has_synced(self) -> bool:
        return self._populated and self._initial == 0

    def queued(self) -> list[str]:
        return list(dict.fromkeys(key_of(delta.object) for delta in self.log))

    def _of(self, key: str) -> list[Delta]:
        """Return the deltas of a key; of consecutive deletions one remains: a real object before a tombstone, else
        the first.
        """
        deltas: list[Delta] = []
        for delta in self.log:
            if key_of(delta.object) != key:
                continue
            if deltas and deltas[-1].type == delta.type == "Deleted":
                if isinstance(deltas[-1].object, DeletedFinalStateUnknown):
                    deltas[-1] = delta
            else:
                deltas.append(delta)
        return deltas


class NaiveRealFIFO:
    """A list of deltas."""

    def __init__(self, known: NaiveStore, *, atomic: bool, batch_size: int) -> None:
        self.log: list[Delta] = []
        self._known, self._atomic, self._size = known, atomic, batch_size
        self._populated = False
        self._initial = 0

    def change(self, kind: Any, obj: Any) -> None:
        self._populated = True
        self.log.append(Delta(kind, obj))

    def bookmark(self, version: str) -> None:
        if self._atomic:
            self.log.append(Delta("Bookmark", Bookmark(version)))

    def replace(self, objs: Sequence[Any], version: str) -> None:
        if self._atomic:
            self.log.append(Delta("ReplacedAll", ReplacedAll(version, list(objs))))
        else:
            self.log.extend([*self._gone([key_of(obj) for obj in objs]), *(Delta("Replaced", obj) for obj in objs)])
        if not self._populated:
            self._populated, self._initial = True, len(self.log)

    def resync(self) -> None:
        if self._atomic:
            self.log.append(Delta("SyncAll", SyncAll()))
            return
        keys = [key_of(delta.object) for delta in self.log]
        self.log.extend(Delta("Sync", obj) for obj in self._known.list() if key_of(obj) not in keys)

    def take(self) -> Batch | None:
        if not self.log:
            return None
        room = self._initial if self._initial else len(self.log)
        taken: list[Delta] = []
        for delta in self.log[: min(self._size, room)]:
            alone = delta.type in ("ReplacedAll", "SyncAll", "Bookmark")
            if taken and (alone or key_of(delta.object) in [key_of(one.object) for one in taken]):
                break
            taken.append(delta)
            if alone:
                break
        del self.log[: len(taken)]
        return Batch(taken, not self.has_synced())

    def finish(self, batch: Batch) -> None:
        self._initial = max(0, self._initial - len(batch.deltas))

    def has_synced(self) -> bool:
        return self._populated and self._initial == 0

    def _gone(self, listed: Sequence[str]) -> list[Delta]:
        newest = {key_of(delta.object): delta for delta in self.log}
        dead = [
            DeletedFinalStateUnknown(key, delta.object)
            for key, delta in newest.items()
            if key not in listed and delta.type != "Deleted"
        ]
        dead += [
            DeletedFinalStateUnknown(key, self._known.get_by_key(key))
            for key in self._known.list_keys()
            if key not in listed and key not in newest
        ]
        return [Delta("Deleted", tombstone) for tombstone in dead]
