"""Sequences of records of which the oldest may have been dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Records(Sequence[T_co]):
    """Records, oldest first; equal to a list of the same records.

    `dropped`: how many older records are no longer kept that may belong here. 0: the sequence is complete.
    """

    __slots__ = ("_items", "dropped")
    __hash__ = None  # type: ignore[assignment]

    dropped: int

    def __init__(self, items: Iterable[T_co], dropped: int = 0) -> None:
        self._items = list(items)
        self.dropped = dropped

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Records):
            return self._items == other._items
        return self._items == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        if not self.dropped:
            return repr(self._items)
        return f"<{self.dropped} older records are no longer kept, then {self._items!r}>"


class Bounded(Generic[T]):
    """A list that drops its oldest items: it has at least the last `limit`, and at most an eighth more."""

    __slots__ = ("_limit", "_most", "dropped", "items")

    def __init__(self, limit: int) -> None:
        self._limit, self._most = limit, limit + limit // 8
        self.items: list[T] = []
        self.dropped: int = 0

    def append(self, item: T) -> None:
        self.items.append(item)
        if len(self.items) > self._most:
            self._drop()

    def extend(self, items: Iterable[T]) -> None:
        self.items += items
        if len(self.items) > self._most:
            self._drop()

    def _drop(self) -> None:
        old = len(self.items) - self._limit
        del self.items[:old]
        self.dropped += old
