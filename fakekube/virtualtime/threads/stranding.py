"""Suspends the calling thread for ever: it catches the exceptions that are to end it."""

import _thread
import concurrent.futures.thread
import threading
from typing import Any, NoReturn

#: What keeps the interpreter from ending before a thread has, in CPython up to 3.12. Since then the threads of a bubble
#: are started so that it does not (`patches/starts.py`).
_LOCKS: set[Any] | None = getattr(threading, "_shutdown_locks", None)


def strand(real: threading.Thread | None) -> NoReturn:
    """Never returns. The process does not wait for the thread `real`, the caller, when it ends."""
    if real is not None:
        _let_go(real)
    forever = _thread.allocate_lock()
    while True:
        forever.acquire()


def _let_go(real: threading.Thread) -> None:
    getattr(concurrent.futures.thread, "_threads_queues", {}).pop(real, None)
    if real.daemon:
        return
    if _LOCKS is not None:
        _LOCKS.discard(getattr(real, "_tstate_lock", None))
