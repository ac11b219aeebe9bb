"""Patches `Thread.start`: threads that a thread of the bubble starts belong to it, and so do anyio's workers."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.patches.locks import SimpleQueue
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.callers import POOLS, module_of
from fakekube.virtualtime.threads.scheduler import ThreadScheduler

_LOGGER = logging.getLogger("concurrent.futures")

#: The class of anyio's workers (kr8s reads files in them). They wait for jobs in a `queue.Queue`, which is patched.
_ANYIO_WORKER = ("anyio._backends._asyncio", "WorkerThread")

#: Modules whose threads run an operator beside the test, which starts them: `kopf.testing.KopfRunner`.
_RUNNERS = ("kopf._kits.runner",)


#: Whether Python notes at its start whether it waits for a thread at the end of the process.
_DECIDED_AT_START = sys.version_info >= (3, 13)


class StartPatches:
    """Workers of a ThreadPoolExecutor belong to the bubble if their queue does, that is, if it was created in it.

    Those of older executors, and of `multiprocessing`, do not: they wait for jobs in C, and would look busy for ever.
    """

    def __init__(self, blocking: Blocking, threads: ThreadScheduler) -> None:
        self._blocking = blocking
        self._threads = threads

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Thread, "start", self._start(threading.Thread.start))

    def start(self) -> None:
        _LOGGER.addFilter(_is_no_end_of_bubble)

    def stop(self) -> None:
        _LOGGER.removeFilter(_is_no_end_of_bubble)

    def _start(self, real: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        def start(thread: threading.Thread) -> None:
            if self._blocking.concerns():
                self._blocking.on_thread(thread)
            if self._is_of_bubble(thread):
                self._threads.adopt(thread)
                _start_adopted(thread, real)
            else:
                real(thread)

        return start

    def _is_of_bubble(self, thread: threading.Thread) -> bool:
        """Whether a thread that is about to start belongs to the bubble. Called by its start()."""
        if thread.ident is None and _is_visible_worker(thread) and self._blocking.concerns():
            return True
        if self._threads.current() is not None and thread.ident is None:
            return not (module_of(sys._getframe(2)) or "").startswith(POOLS)
        return self._is_anyio_worker(thread) or self._runs_operator(thread)

    def _runs_operator(self, thread: threading.Thread) -> bool:
        """Whether the test starts an operator with what its framework has for tests."""
        return thread.ident is None and self._blocking.is_test() and module_of(sys._getframe(3)) in _RUNNERS

    def _is_anyio_worker(self, thread: threading.Thread) -> bool:
        """Whether the loop itself starts a worker of anyio."""
        kind = type(thread)
        return (kind.__module__, kind.__name__) == _ANYIO_WORKER and self._threads.serves(getattr(thread, "loop", None))


def _start_adopted(thread: threading.Thread, start: Callable[[threading.Thread], None]) -> None:
    """Start a thread of the bubble, which the cluster ends: Python does not wait for it at the end of the process.

    It would wait for ever for one that catches every exception (`stranding`). Since Python 3.13 that is decided when
    the thread starts.
    """
    if _DECIDED_AT_START and not thread.daemon:
        thread.daemon = True
        start(thread)
        thread._daemonic = False  # type: ignore[attr-defined] # what the code under test sees
    else:
        start(thread)


def _is_no_end_of_bubble(record: logging.LogRecord) -> bool:
    """Drops what a worker logs when its thread ends because its bubble or its process does: that is no error."""
    return not (record.exc_info and isinstance(record.exc_info[1], BubbleClosed))


def _is_visible_worker(thread: threading.Thread) -> bool:
    """Whether this is a worker of a ThreadPoolExecutor that takes its jobs from a queue of the bubble."""
    return any(isinstance(argument, SimpleQueue) for argument in getattr(thread, "_args", ()))
