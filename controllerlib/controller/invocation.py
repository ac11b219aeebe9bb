"""Calls of reconcilers: plain or coroutine functions or objects, with or without a client."""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, MethodType
from typing import Any, Literal, Protocol
from weakref import WeakKeyDictionary

from controllerlib.client.blocking import BlockingClient
from controllerlib.client.client import Client
from controllerlib.controller.reconcile import Result
from controllerlib.tasks import ENDINGS

#: `reconcile(request)` or `reconcile(request, client)`. A plain function is passed a blocking client. A second
#: parameter with a default value is passed the client only if its name is `client`.
ReconcileFunc = (
    Callable[[Any], Awaitable[Result | None]]
    | Callable[[Any, Client], Awaitable[Result | None]]
    | Callable[[Any], Result | None]
    | Callable[[Any, BlockingClient], Result | None]
)


class ReconcilerObject(Protocol):
    """An object with a method `reconcile` (controller-runtime: reconcile.Reconciler)."""

    @property
    def reconcile(self) -> ReconcileFunc:
        """The method, with a request and optionally a client as arguments."""
        ...


Reconciler = ReconcileFunc | ReconcilerObject


class RecoveredPanic(Exception):
    """A bug in a reconciler, converted to an error that is retried (controller-runtime: "panic: ... [recovered]").

    Also of an exception that is no Exception, unless it ends the process: it must not end the worker.

    `__cause__` is the original exception.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"panic: {cause!r} [recovered]")
        self.__cause__: BaseException | None = cause


class UnexpectedCancellation(Exception):
    """A reconciler raised CancelledError although it was not cancelled; retried like other errors.

    `__cause__` is that CancelledError.
    """


#: Exceptions that indicate a bug. They count as panics, like runtime errors in Go.
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


def is_panic(failure: BaseException) -> bool:
    """Return whether an exception counts as a panic: a bug, or what is neither an Exception nor ends the process.

    Extensions that are written in Rust raise such a one if they panic; some libraries do for their timeouts.
    """
    return isinstance(failure, PANICS) or not isinstance(failure, (Exception, *ENDINGS))


class Caller:
    """Calls a reconciler: a coroutine function on the event loop, a plain one in a thread."""

    def __init__(self, reconcile: Any, client: Client | None, threads: int) -> None:
        """`threads`: maximum number of concurrent calls in threads. TypeError if `reconcile` does not accept a
        request.
        """
        func = getattr(reconcile, "reconcile", reconcile)
        if isinstance(reconcile, type) and func is not reconcile:
            raise TypeError(f"a reconciler must be an instance of {reconcile.__name__}, not the class")
        if not callable(func):
            raise TypeError(
                f"must provide a non-nil Reconciler: {reconcile!r} is not callable and has no method reconcile"
            )
        self._func, self._client, self._threads = func, client, threads
        self._takes = _how_called(func)
        self.is_async: bool = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
            getattr(func, "__call__", None)  # noqa: B004  an object with an async __call__
        )
        self._pool: ThreadPoolExecutor | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function or method that it calls."""
        found: Callable[..., Any] = self._func
        return found

    async def call(self, request: Any) -> Result:
        """Reconcile once. Raises the exceptions of the reconciler, and TypeError if it returns neither None nor a
        Result.
        """
        if self.is_async:
            args, named = self._arguments(request, self._client)
            answer = await self._func(*args, **named)
        else:
            answer = await self._call_in_thread(request)
            if inspect.isawaitable(answer):
                answer = await answer
        if answer is None:
            return Result()
        if not isinstance(answer, Result):
            raise TypeError(f"a reconciler must return None or a Result, not {answer!r}")
        return answer

    def close(self) -> None:
        """Shut down the threads without waiting for them."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _call_in_thread(self, request: Any) -> Awaitable[Any]:
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="reconcile")
        client = BlockingClient(self._client, loop) if self._client is not None else None
        args, named = self._arguments(request, client)
        context = contextvars.copy_context()
        return loop.run_in_executor(
            self._pool, lambda: context.run(_without_ends_of_iterators, self._func, *args, **named)
        )

    def _arguments(self, request: Any, client: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self._takes == "second":
            return (request, client), {}
        return (request,), {"client": client} if self._takes == "keyword" else {}


def _without_ends_of_iterators(func: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call `func`. A StopIteration or GeneratorExit becomes a RuntimeError, as in a coroutine (PEP 479).

    A future refuses the first (before CPython 3.12, its worker would wait for ever), and the second would close the
    coroutine that awaits the future.
    """
    try:
        return func(*args, **named)
    except (StopIteration, GeneratorExit) as error:
        raise RuntimeError(f"the reconciler raised {type(error).__name__}") from error


Passing = Literal["", "second", "keyword"]
"""How the client is passed to a reconciler: not at all, as the second argument, or by name."""

#: What is known of methods: to look at a signature takes longer than all else that a controller is made with.
_of_methods: WeakKeyDictionary[FunctionType, Passing] = WeakKeyDictionary()


def _how_called(func: Callable[..., Any]) -> Passing:
    """Return how to pass the client; TypeError for other signatures."""
    method = func.__func__ if isinstance(func, MethodType) else None
    if not isinstance(method, FunctionType):
        return _found_how_called(func)
    if method not in _of_methods:
        _of_methods[method] = _found_how_called(func)
    return _of_methods[method]


def _found_how_called(func: Callable[..., Any]) -> Passing:
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = any(p.name == "client" and p.kind is not p.POSITIONAL_ONLY for p in parameters[1:])
    how: Passing = ""
    if len(positional) > 1:
        if positional[1].default is inspect.Parameter.empty or positional[1].name == "client":
            how = "second"
    elif any(p.kind is p.VAR_POSITIONAL for p in parameters):
        how = "second"
    if not how and named:
        how = "keyword"
    try:
        signature.bind(*(None,) * (2 if how == "second" else 1), **({"client": None} if how == "keyword" else {}))
    except TypeError as error:
        name = getattr(func, "__qualname__", None) or repr(func)
        raise TypeError(
            f"reconciler {name}{signature} cannot be called with (request) or (request, client): {error}"
        ) from None
    return how
