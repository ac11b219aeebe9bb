"""Patches `Thread.join`: the loop keeps running while the test waits.

The loop runs on the test's thread; if that blocked in the kernel, the server could not answer what it waits for.
"""

import threading
from collections.abc import Callable, Iterator

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.scheduler import ThreadScheduler


class JoinPatches:
    def __init__(self, blocking: Blocking, threads: ThreadScheduler) -> None:
        self._blocking = blocking
        self._threads = threads

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Thread, "join", self._join(threading.Thread.join))

    def _join(self, real: Callable[..., None]) -> Callable[..., None]:
        def join(target: threading.Thread, timeout: float | None = None) -> None:
            ours = self._threads.find(target)
            waits = self._waits() or (ours is not None and self._blocking.on_own_loop())
            if not waits or not target.is_alive() or target is threading.current_thread():
                self._blocking.timed(f"waits for the end of {target.name}", lambda: real(target, timeout))
            elif ours is not None:
                where = f"waiting for the end of {target.name}"
                ended = self._blocking.wait(where, lambda: not ours.is_alive(), ours.ended, timeout=timeout)
                if ended and not ours.stranded:
                    real(target)
            else:
                self._blocking.outside(f"waiting for thread {target.name}", lambda: real(target, timeout))

        return join

    def _waits(self) -> bool:
        """Whether the caller belongs to the bubble and would block the loop."""
        return self._blocking.concerns() and not self._blocking.on_own_loop()
