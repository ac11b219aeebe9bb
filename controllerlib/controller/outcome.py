"""What follows from how a reconcile ended (controller-runtime: pkg/internal/controller, reconcileHandler)."""

from typing import Literal, NamedTuple

#: The label of a reconcile in controller_runtime_reconcile_total.
ResultLabel = Literal["success", "error", "requeue", "requeue_after"]


class Decision(NamedTuple):
    """The label it counts under, whether failures are forgotten, and the requeue."""

    label: ResultLabel
    forget: bool
    #: ask the limiter for the delay
    rate_limited: bool = False
    #: run again after this many seconds
    after: float | None = None


def decide(*, failed: bool, terminal: bool, requeue: bool, requeue_after: float | None) -> Decision:
    """An error counts before a result, a terminal one is neither retried nor forgotten, a time before `requeue`."""
    if failed:
        return Decision("error", forget=False, rate_limited=not terminal)
    if requeue_after is not None and requeue_after > 0:
        return Decision("requeue_after", forget=True, after=requeue_after)
    if requeue:
        return Decision("requeue", forget=False, rate_limited=True)
    return Decision("success", forget=True)
