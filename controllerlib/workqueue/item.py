"""The items of a work queue, and the interface of its metrics."""

from typing import Any, NamedTuple, Protocol

from controllerlib.workqueue.cause import Cause


class WorkItem(NamedTuple):
    """An item that was handed to a worker. A named tuple because one is created for every item."""

    item: Any
    priority: int
    #: The causes that are due, in the order in which they were added.
    causes: tuple[Cause, ...]
    #: When the item became ready (monotonic seconds).
    since: float


class QueueMetrics(Protocol):
    """The metrics that a queue updates; no method may wait (client-go: workqueue/metrics.go)."""

    def added(self, item: Any, priority: int, now: float) -> None:
        """An item became ready at `now`."""
        ...

    def raised(self, item: Any, before: int, after: int) -> None:
        """A ready item moved to another priority."""
        ...

    def got(self, item: Any, priority: int, since: float, now: float) -> None:
        """An item that became ready at `since` was handed to a worker."""
        ...

    def done(self, item: Any, since: float, now: float) -> None:
        """An item that was handed to a worker at `since` was processed."""
        ...

    def retried(self) -> None:
        """An item was added with a delay."""
        ...


class NotProcessing(Exception):
    """`done` was called for an item that is not being processed (client-go would queue it twice)."""
