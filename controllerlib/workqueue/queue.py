"""Work queues: the asyncio part around the state of the plain or the priority queue."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from controllerlib.clock import Alarm, Clock, SystemClock, monotonic_reader
from controllerlib.tasks import Futures
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.item import QueueMetrics, WorkItem
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queuestate import Storage, WorkQueueState
from controllerlib.workqueue.ratelimiters import RateLimiter

T = TypeVar("T", bound=Hashable)


class Gate(Protocol):
    """Lets a stepped test harness decide when workers may take items. Items remain queued while it is closed."""

    def is_open(self) -> bool:
        """Return whether items may be handed out now."""
        ...

    def taken(self) -> None:
        """Called when an item was handed out."""
        ...

    def add_listener(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` whenever the gate opens; it returns whether an item will be taken. Returns a function to
        remove it.
        """
        ...


class WorkQueue(Generic[T]):
    """A queue of keys: a key is processed by one worker at a time, and adding it several times queues it once.

    Adding never waits. Delayed items become ready at their deadline, also while no worker waits.

    Source: client-go, workqueue.TypedRateLimitingInterface.
    """

    name: str

    def __init__(
        self,
        state: WorkQueueState[T] | PriorityQueueState[T],
        *,
        clock: Clock | None = None,
        gate: Gate | None = None,
        name: str = "",
    ) -> None:
        """`name` is shown by `repr`. Without a `gate` items are always handed out."""
        self._state = state
        self._clock: Clock = clock or SystemClock()
        self._now = monotonic_reader(self._clock)
        self._gate, self.name = gate, name
        #: those of the getters in `_wait` that have not been woken
        self._waiters: deque[asyncio.Future[None]] = deque()
        #: how many getters are in `_wait`
        self._waiting = 0
        self._futures = Futures()
        self._alarm = Alarm(self._clock, self._rang)
        self._idle: list[asyncio.Future[None]] = []
        self._dropped_gate = gate.add_listener(self._opened) if gate is not None else None

    def __repr__(self) -> str:
        state = self._state
        return (
            f"<WorkQueue {self.name or '-'} ready={len(state.ready())} processing={len(state.processing())} "
            f"waiting={len(state.waiting())}{' shut down' if state.shutting_down else ''}>"
        )

    def add(
        self,
        item: T,
        *,
        after: float = 0.0,
        rate_limited: bool = False,
        priority: int | None = None,
        cause: Cause | None = None,
    ) -> None:
        """Add `item`: now, after `after` seconds, or with the delay of the rate limiter; ignored after shutdown.

        `priority` (higher first, default 0) has an effect in priority queues only.
        """
        self._state.add(item, self._now(), after, rate_limited, priority, cause)
        if self._waiting:
            self._wake()

    def add_after(self, item: T, seconds: float, cause: Cause | None = None) -> None:
        """Add `item` after `seconds`; zero or less means now."""
        self._state.add_after(item, seconds, self._now(), cause)
        if self._waiting:
            self._wake()

    def add_rate_limited(self, item: T, cause: Cause | None = None) -> None:
        """Add `item` with the delay of the rate limiter, which counts a failure."""
        self.add(item, rate_limited=True, cause=cause)

    async def get(self) -> T | None:
        """Wait for an item and take it; None when the queue is shut down and empty."""
        work = self._try() or await self.take()
        return work.item if work is not None else None

    async def take(self) -> WorkItem | None:
        """As `get`, but return the item with its priority, causes and the time at which it became ready."""
        while True:
            work = self._try()
            if work is not None:
                return work
            if self._state.shutting_down:
                return None
            await self._wait()

    def _try(self) -> WorkItem | None:
        """Take an item without waiting."""
        if self._gate is not None and not self._gate.is_open():
            return None
        work = self._state.pop(self._now())
        if self._gate is not None and work is not None:
            self._gate.taken()
        if self._waiting and work is not None and self._state.is_ready():
            self._wake()
        return work

    def done(self, item: T) -> None:
        """End the processing of `item`; if it was added meanwhile, it becomes ready again."""
        self._state.done(item, self._now())
        if self._waiting and self._state.is_ready():
            self._wake()
        if self._idle and not self._state.is_processing():
            self._release()

    def forget(self, item: T) -> None:
        """Reset the failure count of `item`. This neither ends its processing nor cancels a delay."""
        self._state.limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """Return the failure count of `item`."""
        return self._state.limiter.num_requeues(item)

    def shut_down(self) -> None:
        """Ignore further adds and end every `get`: after the queued items (plain queue), or immediately (priority
        queue).
        """
        self._state.shut_down()
        if self._dropped_gate is not None:
            self._dropped_gate()
            self._dropped_gate = None
        self._alarm.off()
        while self._waiters:
            self._wake_one()
        self._release()

    async def shut_down_with_drain(self) -> None:
        """Shut down and wait until no item is being processed, or until `shut_down` is called; plain queues only."""
        if self._state.drops_on_shutdown:
            self.shut_down()
            return
        if not self._state.is_processing():
            self.shut_down()
            return
        drained = asyncio.get_running_loop().create_future()
        self._idle, idle = [], self._idle
        self.shut_down()
        self._idle = [*idle, drained]
        await drained

    @property
    def is_shut_down(self) -> bool:
        """Return whether the queue is shut down."""
        return self._state.shutting_down

    def __len__(self) -> int:
        return self._state.length(self._now())

    def ready(self) -> Mapping[T, int]:
        """Return the ready items with their priorities, in queue order."""
        self._state.add_due(self._now())
        return self._state.ready()

    def processing(self) -> Mapping[T, float]:
        """Return the items being processed with the time at which they were handed out."""
        return self._state.processing()

    def is_active(self, item: T) -> bool:
        """Return whether an item is ready or being processed."""
        self._state.add_due(self._now())
        return self._state.is_active(item)

    def waiting(self) -> Mapping[T, float]:
        """Return the delayed items with their deadlines, in the order of these."""
        self._state.add_due(self._now())
        return self._state.waiting()

    def due(self, item: T) -> float | None:
        """Return the deadline of a delayed item; None if it is not delayed."""
        return self._state.due(item)

    def next_deadline(self) -> float | None:
        """Return the earliest deadline of the delayed items."""
        self._state.add_due(self._now())
        return self._state.next_deadline()

    async def _wait(self) -> None:
        waiter = self._futures.new()
        self._waiters.append(waiter)
        self._waiting += 1
        if len(self._waiters) == 1:
            self._state.add_due(self._now())
            self._alarm.set(self._state.next_deadline())
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):  # already removed by `_wake_one`
                    self._waiters.remove(waiter)
            else:
                self._wake()  # this waiter was chosen: wake the next one instead
            raise
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._alarm.off()

    def _opened(self) -> bool:
        """Called when the gate opens. Delayed items that are due have been moved by the alarm already."""
        return bool(self._waiters) and self._state.is_ready() and self._wake_one()

    def _rang(self) -> None:
        self._state.add_due(self._now())  # while the gate is closed, the same deadline must not ring again and again
        self._wake()

    def _wake(self) -> None:
        """Wake the longest-waiting getter if an item is ready, and set the alarm for the next deadline of others."""
        state = self._state
        if self._waiters and (self._gate is None or self._gate.is_open()) and state.is_ready():
            self._wake_one()
        if self._waiters and not state.shutting_down:
            self._alarm.set(state.next_deadline())

    def _wake_one(self) -> bool:
        """Wake the longest-waiting getter; skips those that were cancelled but have not run since."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return True
        return False

    def _release(self) -> None:
        idle, self._idle = self._idle, []
        for future in idle:
            if not future.done():
                future.set_result(None)


def work_queue(
    limiter: RateLimiter[T] | None = None,
    *,
    clock: Clock | None = None,
    gate: Gate | None = None,
    name: str = "",
    storage: Storage[T] | None = None,
    metrics: QueueMetrics | None = None,
    strict: bool = False,
) -> WorkQueue[T]:
    """Create a plain queue; client-go's default limiter is 5 ms..1000 s per item, and 10 per second in total (burst
    100).
    """
    state = WorkQueueState(limiter, storage=storage, metrics=metrics, strict=strict)
    return WorkQueue(state, clock=clock, gate=gate, name=name)


def priority_queue(
    limiter: RateLimiter[T] | None = None,
    *,
    clock: Clock | None = None,
    gate: Gate | None = None,
    name: str = "",
    metrics: QueueMetrics | None = None,
) -> WorkQueue[T]:
    """Create a priority queue, controller-runtime's default, with a rate limiter of 5 ms..1000 s per item."""
    return WorkQueue(PriorityQueueState(limiter, metrics=metrics), clock=clock, gate=gate, name=name)
