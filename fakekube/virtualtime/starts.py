"""The hook on `Thread.start`: a thread that a thread of the bubble starts is of the bubble, too."""

import sys
import threading
from collections.abc import Callable, Iterator

from fakekube.virtualtime.callers import POOLS, module_of
from fakekube.virtualtime.hooks import Hook
from fakekube.virtualtime.turnstile import Turnstile


class StartHooks:
    """Workers of pools stay strangers: they wait for their jobs in C, where they would look busy for ever."""

    def __init__(self, turnstile: Turnstile) -> None:
        self._turnstile = turnstile

    def hooks(self) -> Iterator[Hook]:
        yield Hook(threading.Thread, "start", self._start(threading.Thread.start))

    def _start(self, real: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        def start(thread: threading.Thread) -> None:
            if self._turnstile.current() is not None and thread.ident is None:
                starter = module_of(sys._getframe(1)) or ""
                if not starter.startswith(POOLS):
                    self._turnstile.adopt(thread)
            real(thread)

        return start
