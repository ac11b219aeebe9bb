"""A heap of items with keys; adding a key again moves it (client-go: tools/cache/heap.go)."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from controllerlib.cache.delta import QueueClosed
from controllerlib.stalerows import is_mostly_stale

T = TypeVar("T")


class KeyedHeap(Generic[T]):
    """Returns the item with the smallest `rank` first, of equal ranks the one added first (client-go: cache.Heap)."""

    closed: bool

    def __init__(self, key: Callable[[T], str], rank: Callable[[T], float]) -> None:
        self._key, self._rank = key, rank
        self._items: dict[str, tuple[int, T]] = {}
        self._rows: list[tuple[float, int, str]] = []
        self._order = 0
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: T) -> None:
        """Add `item`, or move the item with its key; raises QueueClosed."""
        if self.closed:
            raise QueueClosed
        key = self._key(item)
        self._order += 1
        self._items[key] = (self._order, item)
        heappush(self._rows, (self._rank(item), self._order, key))
        if is_mostly_stale(len(self._rows), len(self._items)):
            self._rows = [row for row in self._rows if self._is_current(row)]
            heapify(self._rows)

    def add_if_not_present(self, item: T) -> None:
        """Add `item` unless its key exists; raises QueueClosed."""
        if self.closed:
            raise QueueClosed
        if self._key(item) not in self._items:
            self.add(item)

    def delete(self, item: T) -> None:
        """Remove the item with the key of `item`; raises KeyError."""
        del self._items[self._key(item)]

    def get(self, key: str) -> T | None:
        """Return the item, or None."""
        held = self._items.get(key)
        return held[1] if held else None

    def pop(self) -> T | None:
        """Take the first item; None if empty, QueueClosed if also closed."""
        while self._rows:
            row = heappop(self._rows)
            if self._is_current(row):
                return self._items.pop(row[2])[1]
        if self.closed:
            raise QueueClosed
        return None

    def close(self) -> None:
        """Close the heap; its items can still be taken."""
        self.closed = True

    def _is_current(self, row: tuple[float, int, str]) -> bool:
        held = self._items.get(row[2])
        return held is not None and held[0] == row[1]
