"""Waits in real time for clients outside of the test's process, whose work the cluster sees only in their requests."""

from __future__ import annotations

import _thread
import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
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
    why: Callable[[], str] | None = None,
) -> None:
    """Wait until `is_done()`, which is checked after each request and each change, and at an interval; virtual time is
    held.

    Raises TimeoutError after `timeout` real seconds, with what `why()` says, by default what the loop waits for.
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
                    raise TimeoutError(f"{what}: not within {timeout:g} s of real time\n{(why or bubble.why)()}")
                await changed
    finally:
        fuse()
        for each in forget:
            each()


class Quiet:
    """Whether clients outside of the test's process have nothing left to do, as far as the server can see.

    Each open watch has been sent the changes that it selects, and for some real seconds no client but the test itself
    (`own`: its User-Agent) has made a request.
    """

    def __init__(self, runner: ServerRunner, seconds: float, own: str) -> None:
        self._runner, self._seconds, self._own = runner, seconds, own
        self._clock = SystemClock()
        self._latest, self._since = "", self._clock.monotonic()

    def note(self, record: RequestRecord) -> None:
        """A request was answered."""
        if record.user_agent != self._own:
            self._since, self._latest = self._clock.monotonic(), f"{record.user_agent or record.user}: {record}"

    def is_so(self) -> bool:
        """Whether they are quiet."""
        if any(watch.is_behind for watch in self._runner.watches):
            self._since = self._clock.monotonic()
            return False
        return self._clock.monotonic() - self._since >= self._seconds

    def why_not(self) -> str:
        """What has happened last."""
        behind = [
            f"{watch!r} of {watch.client[0]} has not been sent all" for watch in self._runner.watches if watch.is_behind
        ]
        return "; ".join([*behind, *([f"the last request was {self._latest}"] if self._latest else [])])


async def real_time(seconds: float) -> None:
    """Wait for some real seconds, whatever virtual time does meanwhile."""
    loop = asyncio.get_running_loop()
    passed = loop.create_future()

    def end() -> None:
        if not passed.done():
            passed.set_result(None)

    forget = _fuse(seconds, None, lambda late: loop.call_soon_threadsafe(end), "a client outside of the test's process")
    try:
        await passed
    finally:
        forget()


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
