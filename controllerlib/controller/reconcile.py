"""What a reconciler is asked and answers (controller-runtime: pkg/reconcile)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from controllerlib.client.errors import is_not_found
from controllerlib.client.names import split_key
from controllerlib.controller.outcome import ResultLabel
from controllerlib.observer import current_run
from controllerlib.tasks import OnceEvent
from controllerlib.workqueue.cause import Cause


@dataclass(frozen=True, slots=True)
class Request:
    """The object to reconcile: its namespace ("" when it has none) and name, nothing else.

    Source: controller-runtime, reconcile.Request.
    """

    namespace: str
    name: str

    @classmethod
    def parse(cls, key: str) -> "Request":
        """The request of a key, `namespace/name` or `name`; raises ValueError."""
        return cls(*split_key(key))

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> "Request":
        """The request of an object."""
        meta = obj.get("metadata") or {}
        return cls(meta.get("namespace") or "", meta.get("name") or "")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, init=False)
class Result:
    """A success, and what should follow.

    `requeue_after`: run again that many seconds (or a timedelta) after this run ended; None, zero and negative mean no
    requeue. `priority`: of that requeue; None keeps the one the request had. `requeue` is
    controller-runtime's deprecated way to ask for a rate limited run without failing.
    """

    requeue_after: float | None = None
    priority: int | None = None
    requeue: bool = False

    def __init__(
        self, requeue_after: float | timedelta | None = None, priority: int | None = None, requeue: bool = False
    ) -> None:
        """TypeError or ValueError for a time or a priority that is none."""
        object.__setattr__(self, "requeue_after", None if requeue_after is None else _seconds(requeue_after))
        object.__setattr__(self, "priority", _priority(priority))
        object.__setattr__(self, "requeue", requeue)


#: What a timedelta holds.
_LONGEST = timedelta.max.total_seconds()


def _seconds(value: Any) -> float:
    if type(value) is float and -_LONGEST < value < _LONGEST:  # most are such, and quicker to see
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise TypeError(f"requeue_after is a number of seconds or a timedelta, not {value!r}")
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    try:
        timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise ValueError(f"requeue_after must be a time that can be waited for, not {value!r}") from None
    return seconds


def _priority(value: Any) -> int | None:
    if value is not None and not isinstance(value, int):
        raise TypeError(f"priority is an int, not {value!r}")
    return value


class TerminalError(Exception):
    """A failure that retrying cannot help: counted as an error, never retried. The cause is its `__cause__`.

    Source: controller-runtime, reconcile.TerminalError.
    """

    def __init__(self, cause: BaseException | str | None = None) -> None:
        super().__init__(f"terminal error: {cause}" if cause is not None else "nil terminal error")
        if isinstance(cause, BaseException):
            self.__cause__: BaseException | None = cause


class ReconcileError(Exception):
    """A failure with a say in the priority of its retry: `raise ReconcileError(priority=10) from error`."""

    priority: int | None

    def __init__(self, message: str = "", *, priority: int | None = None) -> None:
        super().__init__(message)
        self.priority = _priority(priority)


def is_terminal(error: BaseException) -> bool:
    """Whether a TerminalError is anywhere in the chain of causes."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        if isinstance(following, TerminalError):
            return True
        seen.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return False


class Run(NamedTuple):
    """One call of a reconciler (a tuple, not a dataclass: one is made for every call)."""

    controller: str
    request: Any
    #: unique within the process: also in log records
    id: str
    worker: int
    #: failures of this request that are being counted
    failures: int
    priority: int
    #: why it runs: everything that asked for it since the last hand-out
    causes: tuple[Cause, ...]
    #: when it became ready, and when it was started (monotonic seconds)
    queued_since: float
    started: float
    #: set when the controller is being stopped: finish soon
    stopping: OnceEvent


class Outcome(NamedTuple):
    """How a run ended and what was decided."""

    label: ResultLabel
    result: Result
    error: BaseException | None
    #: seconds until the next run; None: none was asked for
    requeue_after: float | None
    #: monotonic seconds
    finished: float


def reconcile_id() -> str:
    """The id of the current run, "" outside (controller-runtime: ReconcileIDFromContext)."""
    run = current_run()
    return run.id if run else ""


ObjectReconciler = Callable[[dict[str, Any]], Awaitable[Result | None]]


def as_reconciler(
    get: Callable[..., Awaitable[dict[str, Any]]], api_version: str, kind: str, reconcile: ObjectReconciler
) -> Callable[[Request], Awaitable[Result | None]]:
    """A reconciler of objects, fetched with `get(api_version, kind, name, namespace=...)`; a missing one is done."""

    async def fetch_and_reconcile(request: Request) -> Result | None:
        try:
            obj = await get(api_version, kind, request.name, namespace=request.namespace or None)
        except Exception as error:  # only "does not exist" is an answer here, everything else is the caller's
            if is_not_found(error):
                return None
            raise
        return await reconcile(obj)

    return fetch_and_reconcile
