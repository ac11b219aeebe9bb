"""Patches `time.sleep`: code of the bubble sleeps in virtual time."""

import sys
import time
from collections.abc import Iterator
from time import sleep as real_sleep

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.importers import importers, lives_in_real_time
from fakekube.virtualtime.patches.patch import Patch


class SleepPatches:
    """Replaces `time.sleep`, and the `sleep` of every module that did `from time import sleep`."""

    def __init__(self, blocking: Blocking) -> None:
        self._blocking = blocking

    def patches(self) -> Iterator[Patch]:
        yield Patch(time, "sleep", virtual_sleep)
        for module in importers("sleep", real_sleep):
            if module is not time:
                yield Patch(module, "sleep", virtual_sleep)

    def start(self) -> None:
        _active.append(self._blocking)

    def stop(self) -> None:
        _active.remove(self._blocking)


#: The open bubble, if any. Process-wide, because `virtual_sleep` may outlive its bubble: a module that runs `from time
#: import sleep` while a bubble is open keeps it.
_active: list[Blocking] = []


def virtual_sleep(seconds: float, /) -> None:
    """`time.sleep`: virtual for code of the open bubble, real for all other code."""
    if not _active or not seconds >= 0 or not _active[-1].concerns():
        real_sleep(seconds)
        return
    blocking = _active[-1]
    # in a thread of the bubble the caller may be `Thread.run`, or a pool, whose job this is
    if blocking.is_test() and lives_in_real_time(sys._getframe(1).f_globals.get("__name__", "")):
        real_sleep(seconds)
        return
    if seconds > 0:
        blocking.refuse_in_coroutine("time.sleep()", "use `await asyncio.sleep(...)`")
    elif blocking.is_test():
        return
    blocking.sleep(seconds)
