"""The state of the plain work queue with its delaying and rate limiting layers (client-go: util/workqueue).

Invariant: an item is in storage exactly when it is dirty and not being processed. Waiting entries are independent of
that: `add` does not cancel one, and an item may be ready, processing and waiting at once. Entries become ready on the
next call that passes the time; the time that counts is their deadline.
"""

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from heapq import heapify, heappop, heappush
from typing import Generic, NamedTuple, Protocol, TypeVar

from controllerlib.namedtuples import new_tuple
from controllerlib.stalerows import is_mostly_stale
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.item import NotProcessing, QueueMetrics, WorkItem
from controllerlib.workqueue.ratelimiters import RateLimiter, default_controller_rate_limiter

T = TypeVar("T", bound=Hashable)


class Storage(Protocol[T]):
    """The queue of ready items (client-go: workqueue.Queue); the default is first in, first out."""

    def touch(self, item: T) -> None:
        """Called when a queued item is added again; may change its position."""
        ...

    def push(self, item: T) -> None:
        """Append an item."""
        ...

    def pop(self) -> T:
        """Remove and return the next item; called only if there is one."""
        ...

    def __len__(self) -> int: ...


class FifoStorage(Generic[T]):
    """First in, first out."""

    __slots__ = ("_items", "pop", "push")

    pop: Callable[[], T]
    push: Callable[[T], None]

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self.push = self._items.append
        self.pop = self._items.popleft

    def touch(self, item: T) -> None:
        """Keep the position."""

    def __len__(self) -> int:
        return len(self._items)


class _Mark(NamedTuple):
    since: float
    causes: tuple[Cause, ...]


class _Waiting(NamedTuple):
    due: float
    order: int
    #: Those that are due at `due`: the item does not wait for later ones.
    causes: tuple[Cause, ...]


class WorkQueueState(Generic[T]):
    """A plain, delaying and rate limiting queue. Times are monotonic seconds."""

    shutting_down: bool

    drops_on_shutdown = False

    def __init__(
        self,
        limiter: RateLimiter[T] | None = None,
        *,
        storage: Storage[T] | None = None,
        metrics: QueueMetrics | None = None,
        strict: bool = False,
    ) -> None:
        """`strict`: `done` raises NotProcessing for an item that is not being processed; otherwise it is ignored."""
        self.limiter: RateLimiter[T] = limiter or default_controller_rate_limiter()
        self._storage: Storage[T] = storage if storage is not None else FifoStorage()
        self._metrics, self._strict = metrics, strict
        self._dirty: dict[T, _Mark] = {}
        self._processing: dict[T, float] = {}
        self._waiting: dict[T, _Waiting] = {}
        self._heap: list[tuple[float, int, T]] = []
        self._order = 0
        self.shutting_down = False

    def add(
        self,
        item: T,
        now: float,
        after: float = 0.0,
        rate_limited: bool = False,
        priority: int | None = None,
        cause: Cause | None = None,
    ) -> None:
        """Add `item`: now, after `after` seconds, or with the delay of the rate limiter, which counts a failure.

        `priority` is ignored. The rate limiter counts even after shutdown.
        """
        delayed = rate_limited or after != 0.0
        if rate_limited:
            limit = self.limiter.when(item, now)
            after = min(after, limit) if after > 0 else limit
        if self.shutting_down:
            return
        if self._heap:
            self.add_due(now)
        if delayed and self._metrics is not None:
            self._metrics.retried()
        if after > 0:
            self._wait(item, now + after, cause)
        else:
            self._push(item, now, (cause,) if cause is not None else ())

    def add_after(self, item: T, seconds: float, now: float, cause: Cause | None = None) -> None:
        """Add `item` after a delay; counts as a retry even if the delay is zero or negative (client-go: AddAfter)."""
        if seconds == 0.0 and not self.shutting_down and self._metrics is not None:
            self._metrics.retried()
        self.add(item, now, seconds, cause=cause)

    def pop(self, now: float) -> WorkItem | None:
        """Hand out the next ready item; None if there is none. It is being processed until `done`."""
        if self._heap:
            self.add_due(now)
        if not len(self._storage):
            return None
        item = self._storage.pop()
        self._processing[item] = now
        since, causes = self._dirty.pop(item)
        if self._metrics is not None:
            self._metrics.got(item, 0, since, now)
        return new_tuple(WorkItem, (item, 0, causes, since))

    def done(self, item: T, now: float) -> None:
        """End the processing of `item`; if it was added meanwhile it is appended, also during shutdown."""
        if self._heap:
            self.add_due(now)  # items that were due before now were added while this one was being processed
        started = self._processing.pop(item, None)
        if started is None:
            if self._strict:
                raise NotProcessing(f"done() of {item!r}, which is not being processed")
            return
        if self._metrics is not None:
            self._metrics.done(item, started, now)
        if item in self._dirty:
            self._storage.push(item)

    def add_due(self, now: float) -> None:
        """Add the waiting items that are due by `now`, in the order of their deadlines."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, order, item = heappop(heap)
            entry = self._waiting.get(item)
            if entry is None or entry.order != order:
                continue
            del self._waiting[item]
            self._push(item, due, entry.causes)

    def next_deadline(self) -> float | None:
        """Return the deadline of the next waiting item."""
        heap = self._heap
        while heap:
            due, order, item = heap[0]
            entry = self._waiting.get(item)
            if entry is not None and entry.order == order:
                return due
            heappop(heap)
        return None

    def due(self, item: T) -> float | None:
        """Return the deadline of a waiting item; None if it is not waiting."""
        entry = self._waiting.get(item)
        return entry.due if entry is not None else None

    def length(self, now: float) -> int:
        """Return the number of queued items, without those being processed or waiting."""
        if self._heap:
            self.add_due(now)
        return len(self._storage)

    def shut_down(self) -> None:
        """Ignore further adds and drop the waiting items; queued items are still handed out."""
        self.shutting_down = True
        self._waiting.clear()
        self._heap.clear()

    def is_ready(self) -> bool:
        """Return whether `pop` would return an item now."""
        return len(self._storage) > 0

    def processing(self) -> Mapping[T, float]:
        """Return the items being processed with the time at which they were handed out."""
        return dict(self._processing)

    def is_processing(self) -> bool:
        """Return whether any item is being processed."""
        return bool(self._processing)

    def is_active(self, item: T) -> bool:
        """Return whether `item` is dirty or being processed."""
        return item in self._dirty or item in self._processing

    def ready(self) -> Mapping[T, int]:
        """Return the dirty items, including those that wait for `done`, in the order of their adds, each with priority
        0.
        """
        return dict.fromkeys(self._dirty, 0)

    def waiting(self) -> Mapping[T, float]:
        """Return the waiting items with their deadlines, in the order of these."""
        return {item: e.due for item, e in sorted(self._waiting.items(), key=lambda pair: pair[1][:2])}

    def _push(self, item: T, now: float, causes: tuple[Cause, ...]) -> None:
        mark = self._dirty.get(item)
        if mark is not None:
            if causes:
                self._dirty[item] = _Mark(mark.since, mark.causes + causes)
            if item not in self._processing:
                self._storage.touch(item)
            return
        if self._metrics is not None:
            self._metrics.added(item, 0, now)
        self._dirty[item] = new_tuple(_Mark, (now, causes))
        if item not in self._processing:
            self._storage.push(item)

    def _wait(self, item: T, due: float, cause: Cause | None) -> None:
        causes = (cause,) if cause is not None else ()
        entry = self._waiting.get(item)
        if entry is not None and entry.due <= due:
            if entry.due == due:
                self._waiting[item] = entry._replace(causes=entry.causes + causes)
            return
        self._order += 1
        self._waiting[item] = _Waiting(due, self._order, causes)
        heappush(self._heap, (due, self._order, item))
        if is_mostly_stale(len(self._heap), len(self._waiting)):
            self._heap = [(e.due, e.order, i) for i, e in self._waiting.items()]
            heapify(self._heap)
