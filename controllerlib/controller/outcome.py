"""The decision after a reconcile (controller-runtime: pkg/internal/controller, reconcileHandler)."""

from typing import Literal, NamedTuple

#: The label of a reconcile in controller_runtime_reconcile_total.
ResultLabel = Literal["success", "error", "requeue", "requeue_after"]


class Decision(NamedTuple):
    """The metric label, whether to forget failures, and how to requeue."""

    label: ResultLabel
    forget: bool
    #: Requeue with the delay of the rate limiter.
    rate_limited: bool = False
    #: Requeue after this many seconds.
    after: float | None = None


def decide(*, failed: bool, terminal: bool, requeue: bool, requeue_after: float | None) -> Decision:
    """Decide in this order: error (terminal ones are neither retried nor forgotten), `requeue_after`, `requeue`."""
    if failed:
        return Decision("error", forget=False, rate_limited=not terminal)
    if requeue_after is not None and requeue_after > 0:
        return Decision("requeue_after", forget=True, after=requeue_after)
    if requeue:
        return Decision("requeue", forget=False, rate_limited=True)
    return Decision("success", forget=True)
