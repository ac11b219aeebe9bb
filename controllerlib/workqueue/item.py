"""What a work queue hands out, and what it tells those who measure it."""

from typing import Any, NamedTuple, Protocol

from controllerlib.workqueue.cause import Cause


class WorkItem(NamedTuple):
    """An item given to a worker (a tuple, not a dataclass: one is made for every item)."""

    item: Any
    priority: int
    #: why it was asked for, in the order of asking; only what was due by now
    causes: tuple[Cause, ...]
    #: when it became ready (monotonic seconds)
    since: float


class QueueMetrics(Protocol):
    """Told by a queue's state what happens; nothing here may wait (client-go: workqueue/metrics.go)."""

    def added(self, item: Any, priority: int, now: float) -> None:
        """An item became ready at `now`."""
        ...

    def raised(self, item: Any, before: int, after: int) -> None:
        """A ready item moved to another priority."""
        ...

    def got(self, item: Any, priority: int, since: float, now: float) -> None:
        """An item that was ready since `since` was handed out."""
        ...

    def done(self, item: Any, since: float, now: float) -> None:
        """An item that was handed out at `since` is done."""
        ...

    def retried(self) -> None:
        """An item was added with a delay."""
        ...


class NotProcessing(Exception):
    """`done` for an item that was never handed out (client-go would queue it twice)."""
