"""Runs the jobs of the code's own thread pools in threads of the bubble, as many at a time as the pool has workers."""

import asyncio
import functools
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Submit(Protocol):
    def __call__(self, function: Callable[[], T], /) -> asyncio.Future[T]: ...


class Pools:
    """Replaces every ThreadPoolExecutor that is passed to `run_in_executor`, as kopf does for synchronous handlers.

    The pool itself is not used: its workers do not belong to the bubble, and a job that waits for a free worker would
    look busy for ever.
    """

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._pools: weakref.WeakKeyDictionary[ThreadPoolExecutor, _Pool] = weakref.WeakKeyDictionary()

    def submit(self, executor: ThreadPoolExecutor, job: Callable[[], T]) -> asyncio.Future[T]:
        pool = self._pools.setdefault(executor, _Pool(executor._max_workers))
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        pool.waiting.append((job, future))
        self._feed(pool)
        return future

    def _feed(self, pool: "_Pool") -> None:
        while pool.waiting and pool.free > 0:
            job, future = pool.waiting.popleft()
            if future.cancelled():
                continue
            pool.free -= 1
            running = self._submit(job)
            running.add_done_callback(functools.partial(self._done, pool, future))

    def _done(self, pool: "_Pool", future: asyncio.Future[Any], done: asyncio.Future[Any]) -> None:
        pool.free += 1
        self._feed(pool)
        if done.cancelled():
            future.cancel()
        elif future.done():
            done.exception()  # marks it as retrieved: its future was cancelled
        elif (error := done.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())


class _Pool:
    def __init__(self, workers: int) -> None:
        self.free = workers
        self.waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
