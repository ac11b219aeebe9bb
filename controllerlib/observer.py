"""Hooks with which a test harness observes, delays and fails what controllers do."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from controllerlib.cache.delta import Delta
    from controllerlib.cache.process import Notification
    from controllerlib.controller.reconcile import Outcome, Run
    from controllerlib.workqueue.cause import Cause

__all__ = ["NOOP_OBSERVER", "Call", "InformerEvent", "Observer", "current_run", "reconcile_id"]


class Call(NamedTuple):
    """One request of a client. `run` is the reconcile that it belongs to, if any.

    A named tuple because one is created for every request.
    """

    run: "Run | None"
    verb: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any
    user_agent: str


@dataclass(frozen=True, slots=True)
class InformerEvent:
    """One step of an informer.

    list: a LIST was answered · stream: a streamed list is complete · watch: a watch was opened · resync: the resync
    timer fired · failed: an attempt failed. `again` is set for every list or stream after the first (a relist).
    """

    informer: str
    kind: Literal["list", "stream", "watch", "resync", "failed"]
    resource_version: str = ""
    objects: int = 0
    again: bool = False
    error: BaseException | None = None


class Observer(Protocol):
    """The hooks of a test harness; each does nothing unless a subclass overrides it.

    Plain methods must not block. An exception raised by a hook propagates into the step that called it: `before_call`,
    `answered` and `after_call` can thus simulate a crash before or after a write is sent.
    """

    def enqueued(
        self, controller: str, request: Any, cause: "Cause | None", after: float | None, priority: int | None
    ) -> None:
        """`request` was added to a queue. `after` is the delay in seconds; None if the rate limiter chooses it."""
        return

    def reconcile_started(self, run: "Run") -> None:
        """A worker is about to call the reconciler."""
        return

    def reconcile_finished(self, run: "Run", outcome: "Outcome") -> None:
        """The reconciler returned or raised, and the requeue was decided."""
        return

    async def before_call(self, call: Call) -> None:
        """A client is about to send a request."""
        return

    def answered(self, call: Call, code: int, answer: Any) -> None:
        """A client received an answer and has not returned it yet. Without an answer, `code` is 0 and `answer` the
        exception.
        """
        return

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        """A client received an answer, as in `answered`, which is called before; waiting here makes it wait."""
        return

    async def before_delta(self, informer: str, delta: "Delta") -> None:
        """A delta is about to be applied to an indexer. Waiting here makes the cache stale."""
        return

    def handled(self, informer: str, handler: str, notification: "Notification") -> None:
        """A handler is about to be called."""
        return

    def informer(self, event: InformerEvent) -> None:
        """An informer listed, watched, resynced or failed."""
        return


class _NoopObserver(Observer):
    """The default observer: every hook does nothing."""


NOOP_OBSERVER: Observer = _NoopObserver()


def overrides(observer: Observer, hook: str) -> bool:
    """Return whether `observer` overrides `hook`, so that hot paths can skip empty hooks."""
    return getattr(type(observer), hook, None) is not getattr(Observer, hook)


_current: ContextVar["Run | None"] = ContextVar("controllerlib_run", default=None)


def current_run() -> "Run | None":
    """Return the reconcile that the calling code belongs to; None outside of one."""
    return _current.get()


def set_current(run: "Run | None") -> None:
    """Set the reconcile that the current task belongs to; for the controller only."""
    _current.set(run)


def reconcile_id() -> str:
    """Return the id of the current reconcile; "" outside of one (controller-runtime: ReconcileIDFromContext)."""
    run = current_run()
    return run.id if run else ""
