"""Requests and results of reconcilers (controller-runtime: pkg/reconcile)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from controllerlib.client.errors import is_not_found
from controllerlib.client.names import split_key
from controllerlib.controller.outcome import ResultLabel
from controllerlib.tasks import OnceEvent
from controllerlib.workqueue.cause import Cause


@dataclass(frozen=True, slots=True)
class Request:
    """The namespace ("" for cluster-scoped objects) and name of the object to reconcile.

    Source: controller-runtime, reconcile.Request.
    """

    namespace: str
    name: str

    @classmethod
    def parse(cls, key: str) -> "Request":
        """Parse a key, `namespace/name` or `name`; raises ValueError."""
        return cls(*split_key(key))

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> "Request":
        """Return the request of an object."""
        meta = obj.get("metadata") or {}
        return cls(meta.get("namespace") or "", meta.get("name") or "")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, init=False)
class Result:
    """The result of a successful reconcile (controller-runtime: reconcile.Result).

    `requeue_after`: reconcile again that many seconds (or a timedelta) after the end of this reconcile; None, zero and
    negative values mean no requeue. `priority`: the priority of the requeue; None keeps that of the request. `requeue`
    (deprecated in controller-runtime, kept for operators that are ported): requeue with the delay of the rate limiter.
    """

    requeue_after: float | None = None
    priority: int | None = None
    requeue: bool = False

    def __init__(
        self, requeue_after: float | timedelta | None = None, priority: int | None = None, requeue: bool = False
    ) -> None:
        """TypeError or ValueError for an invalid delay or priority."""
        object.__setattr__(self, "requeue_after", None if requeue_after is None else _seconds(requeue_after))
        object.__setattr__(self, "priority", _priority(priority))
        object.__setattr__(self, "requeue", requeue)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise TypeError(f"requeue_after must be a number of seconds or a timedelta, not {value!r}")
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    try:
        timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise ValueError(f"requeue_after must be a finite delay, not {value!r}") from None
    return seconds


def _priority(value: Any) -> int | None:
    if value is not None and not isinstance(value, int):
        raise TypeError(f"priority must be an int, not {value!r}")
    return value


class TerminalError(Exception):
    """A failure that must not be retried; `__cause__` is its cause.

    Source: controller-runtime, reconcile.TerminalError.
    """

    def __init__(self, cause: BaseException | str | None = None) -> None:
        super().__init__(f"terminal error: {cause}" if cause is not None else "nil terminal error")
        if isinstance(cause, BaseException):
            self.__cause__: BaseException | None = cause


class ReconcileError(Exception):
    """A failure that sets the priority of its retry: `raise ReconcileError(priority=10) from error`."""

    priority: int | None

    def __init__(self, message: str = "", *, priority: int | None = None) -> None:
        super().__init__(message)
        self.priority = _priority(priority)


def is_terminal(error: BaseException) -> bool:
    """Return whether the chain of causes contains a TerminalError."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        if isinstance(following, TerminalError):
            return True
        seen.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return False


class Run(NamedTuple):
    """One call of a reconciler. A named tuple because one is created for every call."""

    controller: str
    request: Any
    #: Unique in the process; also in log records.
    id: str
    worker: int
    #: The failure count of the request.
    failures: int
    priority: int
    #: The causes since the last reconcile.
    causes: tuple[Cause, ...]
    #: When the request became ready, and when the reconcile started (monotonic seconds).
    queued_since: float
    started: float
    #: Set when the controller stops.
    stopping: OnceEvent


class Outcome(NamedTuple):
    """The result of a reconcile and the decided requeue."""

    label: ResultLabel
    result: Result
    error: BaseException | None
    #: Seconds until the requeue; None without a requeue.
    requeue_after: float | None
    #: The end of the reconcile (monotonic seconds).
    finished: float


ObjectReconciler = Callable[[dict[str, Any]], Awaitable[Result | None]]


def as_reconciler(
    get: Callable[..., Awaitable[dict[str, Any]]], api_version: str, kind: str, reconcile: ObjectReconciler
) -> Callable[[Request], Awaitable[Result | None]]:
    """Return a reconciler that gets the object and calls `reconcile` with it; does nothing if it does not exist.

    The object is read by `get(api_version, kind, name, namespace=...)`.
    """

    async def fetch_and_reconcile(request: Request) -> Result | None:
        try:
            obj = await get(api_version, kind, request.name, namespace=request.namespace or None)
        except Exception as error:  # other errors propagate
            if is_not_found(error):
                return None
            raise
        return await reconcile(obj)

    return fetch_and_reconcile
