"""Patches `time.sleep`: code of the bubble sleeps in virtual time."""

import sys
import time
from collections.abc import Iterator
from time import sleep as real_sleep
from types import ModuleType

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
        for module in _sleepers():
            if module.__dict__.get("sleep") is real_sleep:
                yield Patch(module, "sleep", virtual_sleep)

    def start(self) -> None:
        _active.append(self._blocking)

    def stop(self) -> None:
        _active.remove(self._blocking)


_scanned: dict[str, ModuleType] = {}
_found: list[ModuleType] = []


def _sleepers() -> list[ModuleType]:
    """The modules that did `from time import sleep`. `sys.modules` is scanned again only when it has changed: a scan
    takes a tenth of the time in which a cluster is set up."""
    if sys.modules != _scanned:
        _scanned.clear()
        _scanned.update(sys.modules)
        _found[:] = [
            module
            for name, module in _scanned.items()
            if getattr(module, "__dict__", {}).get("sleep") is real_sleep
            and module is not time
            and not lives_in_real_time(name)
        ]
    return _found


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
