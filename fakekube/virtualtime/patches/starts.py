"""The hook on `Thread.start`: a thread that a thread of the bubble starts is of the bubble, too; and so are the workers
in which anyio runs what its coroutines may not wait for (kr8s reads its files so)."""

import sys
import threading
from collections.abc import Callable, Iterator

from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.callers import POOLS, module_of
from fakekube.virtualtime.threads.scheduler import ThreadScheduler

#: The class of anyio's workers, which wait for their jobs in a `queue.Queue`, where they are seen.
_ANYIO_WORKER = ("anyio._backends._asyncio", "WorkerThread")


class StartPatches:
    """Workers of pools stay strangers: they wait for their jobs in C, where they would look busy for ever."""

    def __init__(self, threads: ThreadScheduler) -> None:
        self._threads = threads

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Thread, "start", self._start(threading.Thread.start))

    def _start(self, real: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        def start(thread: threading.Thread) -> None:
            if self._threads.current() is not None and thread.ident is None:
                starter = module_of(sys._getframe(1)) or ""
                if not starter.startswith(POOLS):
                    self._threads.adopt(thread)
            elif self._is_anyio_worker(thread):
                self._threads.adopt(thread)
            real(thread)

        return start

    def _is_anyio_worker(self, thread: threading.Thread) -> bool:
        """Whether the loop starts a worker of its own."""
        kind = type(thread)
        return (kind.__module__, kind.__name__) == _ANYIO_WORKER and self._threads.serves(getattr(thread, "loop", None))
