"""Waits in real time for clients outside of the test's process, whose work the cluster sees only in their requests."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from contextlib import suppress

from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.blocking import HELPER

#: Real seconds between two checks of a condition that may depend on something outside of the cluster.
INTERVAL = 0.1


async def until(
    is_done: Callable[[], object],
    bubble: Bubble,
    runner: ServerRunner,
    timeout: float,
    what: str,
    *,
    interval: float | None = None,
) -> None:
    """Wait until `is_done()`, which is checked after each request and each change, and at an interval; virtual time is
    held.

    Raises TimeoutError after `timeout` real seconds.
    """
    loop = bubble.loop
    changed = loop.create_future()
    expired, checking = False, False

    def wake(*_: object) -> None:
        if not (checking or changed.done()):
            changed.set_result(None)

    def expire() -> None:
        nonlocal expired
        expired = True
        wake()

    forget = [runner.on_request(wake), runner.on_write(wake)]
    fuse = _fuse(timeout, interval, lambda late: loop.call_soon_threadsafe(expire if late else wake), what)
    try:
        with bubble.clock.hold(what, endless=True):
            while True:
                changed, checking = loop.create_future(), True
                done = is_done()  # may make requests itself
                checking = False
                if done:
                    return
                if expired:
                    raise TimeoutError(f"{what}: not within {timeout:g} s of real time\n{bubble.why()}")
                await changed
    finally:
        fuse()
        for each in forget:
            each()


def _fuse(seconds: float, interval: float | None, call: Callable[[bool], object], what: str) -> Callable[[], None]:
    """Calls `call(False)` at an interval, and `call(True)` after some real seconds, in another thread.

    Returns a function that prevents it.
    """
    lock = _thread.allocate_lock()
    lock.acquire()
    times = 1 if interval is None else max(1, round(seconds / interval))

    def wait() -> None:
        for number in range(1, times + 1):
            if lock.acquire(timeout=seconds / times):
                return
            with suppress(RuntimeError):  # the loop is closed
                call(number == times)

    threading.Thread(target=wait, name=HELPER + what, daemon=True).start()
    return lock.release
