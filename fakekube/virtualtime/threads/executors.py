"""Thread pools of the operator: their jobs run in the bubble's threads, as many at a time as the pool has workers."""

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
    """Stands for every ThreadPoolExecutor that somebody gave to `run_in_executor`.

    The pool itself is not used: its workers are none of the bubble's, and a job that waits for a free worker would
    look busy for ever. (kopf runs synchronous handlers so.)
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
            done.exception()  # retrieved, as nobody else will
        elif (error := done.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())


class _Pool:
    def __init__(self, workers: int) -> None:
        self.free = workers
        self.waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
