"""Patches `time.sleep`: code of the bubble sleeps in virtual time."""

import sys
import time
from collections.abc import Iterator
from time import sleep as real_sleep

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.patch import Patch

#: Modules, with their submodules, that sleep in real time.
REAL_TIME = (
    "_pytest",
    "asyncio",
    "concurrent.futures",
    "execnet",
    "multiprocessing",
    "pluggy",
    "queue",
    "selectors",
    "socketserver",
    "subprocess",
    "threading",
    "xdist",
)


def lives_in_real_time(module: str) -> bool:
    return module.startswith(REAL_TIME) and module.split(".")[0] in _ROOTS


_ROOTS = frozenset(name.split(".")[0] for name in REAL_TIME)


class SleepPatches:
    """Replaces `time.sleep`, and the `sleep` of every module that did `from time import sleep`."""

    def __init__(self, blocking: Blocking) -> None:
        self._blocking = blocking

    def patches(self) -> Iterator[Patch]:
        yield Patch(time, "sleep", virtual_sleep)
        for name, module in tuple(sys.modules.items()):
            names = getattr(module, "__dict__", None)
            if names and names.get("sleep") is real_sleep and module is not time and not lives_in_real_time(name):
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
    caller = sys._getframe(1).f_globals.get("__name__", "")
    if not _active or not seconds >= 0 or not _active[-1].concerns() or lives_in_real_time(caller):
        real_sleep(seconds)
        return
    blocking = _active[-1]
    if seconds > 0:
        blocking.refuse_in_coroutine("time.sleep()", "`await asyncio.sleep(...)`")
    elif blocking.is_test():
        return
    blocking.sleep(seconds)
