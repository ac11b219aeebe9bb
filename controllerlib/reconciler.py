"""Calling a reconciler, whatever its shape: sync or async, with or without the client, a function or an object."""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from controllerlib.blocking import BlockingClient
from controllerlib.client import Client
from controllerlib.reconcile import Result

Answer = Result | None
#: `reconcile(request)` or `reconcile(request, client)`, sync or async; a sync one gets a client that blocks.
ReconcileFunc = (
    Callable[[Any], Awaitable[Answer]]
    | Callable[[Any, Client], Awaitable[Answer]]
    | Callable[[Any], Answer]
    | Callable[[Any, BlockingClient], Answer]
)


class ReconcilerObject(Protocol):
    """An object with a method `reconcile` (controller-runtime: reconcile.Reconciler)."""

    @property
    def reconcile(self) -> ReconcileFunc:
        """The method."""
        ...


Reconciler = ReconcileFunc | ReconcilerObject


class RecoveredPanic(Exception):
    """A bug in a reconciler, turned into an error that is retried; the bug is its `__cause__`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"panic: {cause!r} [recovered]")
        self.__cause__ = cause


#: What only a bug raises: counted as a panic, as Go's runtime errors are.
PANICS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IndexError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
)


class Caller:
    """Calls a reconciler on the loop, or in a thread when it is a plain function."""

    def __init__(self, reconcile: Any, client: Client | None, threads: int) -> None:
        """`threads`: how many plain calls may run at a time. TypeError when it cannot be called with a request."""
        func = getattr(reconcile, "reconcile", reconcile)
        if not callable(func):
            raise TypeError("must provide a non-nil Reconciler")
        self._func, self._client, self._threads = func, client, threads
        self._takes_client = _positional(func) >= 2
        self.is_async = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
            getattr(func, "__call__", None)  # noqa: B004  an object with an async __call__
        )
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, request: Any) -> Result:
        """One reconcile; raises what it raises, TypeError when it returns neither None nor a Result."""
        if self.is_async:
            answer = self._func(request, self._client) if self._takes_client else self._func(request)
        else:
            answer = await self._call_in_thread(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return Result()
        if not isinstance(answer, Result):
            raise TypeError(f"a reconciler returns None or a Result, not {answer!r}")
        return answer

    def close(self) -> None:
        """Give up the threads, without waiting for them."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _call_in_thread(self, request: Any) -> Awaitable[Any]:
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="reconcile")
        client = BlockingClient(self._client, loop) if self._client is not None else None
        args = (request, client) if self._takes_client else (request,)
        context = contextvars.copy_context()
        return loop.run_in_executor(self._pool, lambda: context.run(self._func, *args))


def _positional(func: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
