"""The hooks from which a harness learns what happened and why, and through which it may interfere."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from controllerlib.cache.delta import Delta
    from controllerlib.cache.process import Notification
    from controllerlib.controller.reconcile import Outcome, Run
    from controllerlib.workqueue.cause import Cause

__all__ = ["NOOP_OBSERVER", "Call", "InformerEvent", "Observer", "current_run"]


class Call(NamedTuple):
    """One request of a client (a tuple, not a dataclass: one is made for every request).

    `run` is the reconcile it belongs to, if any.
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
    """Something an informer did.

    list: a LIST answered · stream: a streamed list ended · watch: a watch began · resync: the timer told everything
    again · failed: an attempt failed. `again` marks every list or stream after the first: a relist.
    """

    informer: str
    kind: Literal["list", "stream", "watch", "resync", "failed"]
    resource_version: str = ""
    objects: int = 0
    again: bool = False
    error: BaseException | None = None


class Observer(Protocol):
    """Called at each step; every hook does nothing unless overridden (derive from this class).

    Plain methods must not block. What a hook raises ends the step it was called from: so `before_call` and
    `after_call` can simulate a crash before or after a write was sent.
    """

    def enqueued(
        self, controller: str, request: Any, cause: "Cause | None", after: float | None, priority: int | None
    ) -> None:
        """`request` was asked for; `after` None: when the limiter says."""
        return

    def reconcile_started(self, run: "Run") -> None:
        """A worker took a request."""
        return

    def reconcile_finished(self, run: "Run", outcome: "Outcome") -> None:
        """The run ended and its requeue was decided."""
        return

    async def before_call(self, call: Call) -> None:
        """A client is about to send a request."""
        return

    async def after_call(self, call: Call, code: int, answer: Any) -> None:
        """A client has the answer (code 0 and the exception when there was none) and has not yet returned it."""
        return

    async def before_delta(self, informer: str, delta: "Delta") -> None:
        """A delta is about to enter an indexer: waiting here makes the cache stale."""
        return

    def handled(self, informer: str, handler: str, notification: "Notification") -> None:
        """A handler is about to be called."""
        return

    def informer(self, event: InformerEvent) -> None:
        """An informer listed, watched, resynced or failed."""
        return


class _NoopObserver(Observer):
    """Sees nothing, says nothing."""


#: The default.
NOOP_OBSERVER: Observer = _NoopObserver()


def overrides(observer: Observer, hook: str) -> bool:
    """Whether the observer has a `hook` of its own (hot paths do not call empty ones)."""
    return getattr(type(observer), hook, None) is not getattr(Observer, hook)


_current: ContextVar["Run | None"] = ContextVar("controllerlib_run", default=None)


def current_run() -> "Run | None":
    """The run that this code is part of; None outside a reconcile."""
    return _current.get()


def set_current(run: "Run | None") -> None:
    """The controller's: from here on, this task is part of `run`."""
    _current.set(run)
