"""Patches `ThreadPoolExecutor.submit`: a pool that is older than the bubble has workers of its own in the bubble.

Those that it has live in real time, or have ended with another bubble. A module keeps such a pool for all tests.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

from fakekube.virtualtime.patches.locks import SimpleQueue
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.scheduler import ThreadScheduler

#: What a ThreadPoolExecutor consists of: its jobs, its workers, and how many of them are idle.
_PARTS = ("_work_queue", "_threads", "_idle_semaphore")


class PoolPatches:
    def __init__(self, threads: ThreadScheduler) -> None:
        self._threads = threads
        #: the pools that were used in threads of the bubble, and what they had before; None: they were made there
        self._used: WeakKeyDictionary[Any, dict[str, Any] | None] = WeakKeyDictionary()

    def patches(self) -> Iterator[Patch]:
        yield Patch(ThreadPoolExecutor, "submit", self._submit(ThreadPoolExecutor.submit))

    def restore(self) -> None:
        """Called when nothing is patched any more. Workers of the bubble have ended."""
        for pool, before in tuple(self._used.items()):
            vars(pool).update(_new() if before is None else before)
        self._used.clear()

    def _submit(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def submit(pool: Any, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
            if (
                self._threads.current() is not None
                and pool not in self._used
                and all(hasattr(pool, one) for one in _PARTS)
            ):
                is_own = isinstance(pool._work_queue, SimpleQueue) and all(each.is_alive() for each in pool._threads)
                self._used[pool] = None if is_own else {name: getattr(pool, name) for name in _PARTS}
                if not is_own:
                    vars(pool).update(_new())
            return real(pool, function, *args, **options)

        return submit


def _new() -> dict[str, Any]:
    return dict(zip(_PARTS, (queue.SimpleQueue(), set(), threading.Semaphore(0)), strict=True))
