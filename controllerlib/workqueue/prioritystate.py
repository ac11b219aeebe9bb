"""The state of the priority queue (controller-runtime: pkg/controller/priorityqueue).

Unlike the plain queue it has one entry per key, which is ready or waiting. Adding a key again merges the two: the
earlier deadline and the higher priority win. A key that is being processed is locked: its new entry counts as ready,
but is handed out only after `done`.
"""

from collections.abc import Hashable, Mapping
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from controllerlib.namedtuples import new_tuple
from controllerlib.stalerows import is_mostly_stale
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.item import QueueMetrics, WorkItem
from controllerlib.workqueue.ratelimiters import ItemExponentialFailureRateLimiter, RateLimiter

T = TypeVar("T", bound=Hashable)


#: The priority of initial lists and of updates without a change (controller-runtime: handler.LowPriority).
LOW_PRIORITY = -100


class _QueuedKey(Generic[T]):
    """The entry of a key. `place` identifies its valid heap row; rows with another place are stale."""

    __slots__ = ("causes", "counter", "due", "key", "place", "priority", "since")

    def __init__(self, key: T, priority: int, counter: int, due: float | None, since: float) -> None:
        self.key, self.priority, self.counter, self.due, self.since = key, priority, counter, due, since
        self.place = 0
        #: Pairs of a cause and the time at which it is due.
        self.causes: tuple[tuple[float, Cause], ...] = ()


class PriorityQueueState(Generic[T]):
    """Ready and waiting entries by key. Times are monotonic seconds."""

    shutting_down: bool

    drops_on_shutdown = True

    def __init__(self, limiter: RateLimiter[T] | None = None, *, metrics: QueueMetrics | None = None) -> None:
        """The default rate limiter is exponential, 5 ms to 1000 s per item, without a token bucket."""
        self.limiter: RateLimiter[T] = limiter or ItemExponentialFailureRateLimiter()
        self._metrics = metrics
        self._items: dict[T, _QueuedKey[T]] = {}
        self._locked: dict[T, float] = {}
        #: Ready entries of locked keys; they are not in the heap until `done`.
        self._parked: dict[T, _QueuedKey[T]] = {}
        self._ready: list[tuple[int, int, int, _QueuedKey[T]]] = []
        self._waiting: list[tuple[float, int, int, int, _QueuedKey[T]]] = []
        self._counter = self._place = self._waiting_count = 0
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
        """Add `item` (AddWithOpts). If both `after` and `rate_limited` are given, the shorter delay counts.

        `priority` None means 0.
        """
        if self.shutting_down:
            return
        if self._waiting:
            self.add_due(now)
        if rate_limited:
            limit = self.limiter.when(item, now)
            after = limit if after == 0 else min(after, limit)
        due = now + after if after > 0 else None
        if due is not None and self._metrics is not None:
            self._metrics.retried()
        entry = self._items.get(item)
        if entry is None:
            entry = self._items[item] = _QueuedKey(item, priority or 0, self._counter, due, now)
            self._counter += 1
            if due is None and item not in self._locked:  # `_file` inlined for the most frequent case
                self._place = entry.place = self._place + 1
                heappush(self._ready, (-entry.priority, entry.counter, entry.place, entry))
            else:
                self._file(entry)
            if due is None and self._metrics is not None:
                self._metrics.added(item, entry.priority, now)
        else:
            self._merge(entry, due, priority or 0, now)
        if cause is not None:
            entry.causes += ((now if due is None else due, cause),)

    def add_after(self, item: T, seconds: float, now: float, cause: Cause | None = None) -> None:
        """Add `item` after a delay; zero or less means now, and is not counted as a retry."""
        self.add(item, now, seconds, cause=cause)

    def pop(self, now: float) -> WorkItem | None:
        """Hand out and lock the first ready entry whose key is not locked; None if there is none."""
        if self._waiting:
            self.add_due(now)
        ready = self._ready
        while ready:
            _, _, place, entry = heappop(ready)
            if entry.place != place:
                continue
            key = entry.key
            del self._items[key]
            self._locked[key] = now
            if self._metrics is not None:
                self._metrics.got(key, entry.priority, entry.since, now)
            causes = tuple([cause for at, cause in entry.causes if at <= now]) if entry.causes else ()
            return new_tuple(WorkItem, (key, entry.priority, causes, entry.since))
        return None

    def done(self, item: T, now: float) -> None:
        """Unlock `item`; unknown items are ignored."""
        started = self._locked.pop(item, None)
        if started is None:
            return
        if self._metrics is not None:
            self._metrics.done(item, started, now)
        if self._parked and (entry := self._parked.pop(item, None)) is not None:
            self._file(entry)

    def add_due(self, now: float) -> None:
        """Make the entries ready that are due by `now`: by deadline, then higher priority, then age."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            due, _, _, place, entry = heappop(waiting)
            if entry.place != place:
                continue
            entry.due, entry.since = None, due
            entry.counter = self._counter
            self._counter += 1
            self._waiting_count -= 1
            self._file(entry)
            if self._metrics is not None:
                self._metrics.added(entry.key, entry.priority, due)

    def next_deadline(self) -> float | None:
        """Return the deadline of the next waiting entry."""
        waiting = self._waiting
        while waiting:
            due, _, _, place, entry = waiting[0]
            if entry.place == place:
                return due
            heappop(waiting)
        return None

    def due(self, item: T) -> float | None:
        """Return the deadline of a waiting key; None if it is not waiting."""
        entry = self._items.get(item)
        return entry.due if entry is not None else None

    def length(self, now: float) -> int:
        """Return the number of ready entries, including those of locked keys."""
        if self._waiting:
            self.add_due(now)
        return len(self._items) - self._waiting_count

    def shut_down(self) -> None:
        """Drop all entries and ignore further adds; no effect the second time."""
        self.shutting_down = True
        for entry in self._items.values():
            entry.place = 0
        self._items.clear()
        self._parked.clear()
        self._ready.clear()
        self._waiting.clear()
        self._waiting_count = 0

    def is_ready(self) -> bool:
        """Return whether `pop` would return an item now."""
        ready = self._ready
        while ready and ready[0][3].place != ready[0][2]:
            heappop(ready)
        return bool(ready)

    def processing(self) -> Mapping[T, float]:
        """Return the locked keys with the time at which they were handed out."""
        return dict(self._locked)

    def is_processing(self) -> bool:
        """Return whether any key is locked."""
        return bool(self._locked)

    def is_active(self, item: T) -> bool:
        """Return whether `item` is ready or locked."""
        entry = self._items.get(item)
        return item in self._locked or (entry is not None and entry.due is None)

    def ready(self) -> Mapping[T, int]:
        """Return the ready keys with their priorities, in the order in which they will be handed out."""
        entries = sorted((e for e in self._items.values() if e.due is None), key=lambda e: (-e.priority, e.counter))
        return {entry.key: entry.priority for entry in entries}

    def waiting(self) -> Mapping[T, float]:
        """Return the waiting keys with their deadlines, in the order of these."""
        # each counter is another one, so that keys are not compared
        entries = [(e.due, -e.priority, e.counter, e.key) for e in self._items.values() if e.due is not None]
        return {key: due for due, _, _, key in sorted(entries)}

    def _merge(self, entry: _QueuedKey[T], due: float | None, priority: int, now: float) -> None:
        before, was_due, raised = entry.priority, entry.due, priority > entry.priority
        sooner = was_due is not None and (due is None or due < was_due)
        if raised:
            entry.priority, entry.counter = priority, self._counter
            self._counter += 1
        if sooner:
            entry.due = due
            if due is None:
                entry.since = now
        if not raised and not sooner:
            return
        if was_due is not None:
            self._waiting_count -= 1
        self._file(entry)
        if self._metrics is None:
            return
        if was_due is not None and entry.due is None:
            self._metrics.added(entry.key, entry.priority, now)
        elif was_due is None and raised:
            self._metrics.raised(entry.key, before, entry.priority)

    def _file(self, entry: _QueuedKey[T]) -> None:
        """Put the entry into the heap that it belongs to now; its former heap row becomes stale."""
        self._place += 1
        entry.place = self._place
        if entry.due is not None:
            self._waiting_count += 1
            heappush(self._waiting, (entry.due, -entry.priority, entry.counter, self._place, entry))
            if is_mostly_stale(len(self._waiting), self._waiting_count):
                self._waiting = [row for row in self._waiting if row[4].place == row[3]]
                heapify(self._waiting)
        elif entry.key in self._locked:
            self._parked[entry.key] = entry
        else:
            heappush(self._ready, (-entry.priority, entry.counter, self._place, entry))
            if is_mostly_stale(len(self._ready), len(self._items)):
                self._ready = [row for row in self._ready if row[3].place == row[2]]
                heapify(self._ready)
