"""Finds the modules that have imported a name that is patched: `from time import sleep`."""

import queue
import select
import sys
import threading
import time
from time import sleep
from types import ModuleType
from typing import Any

#: Modules, with their submodules, that live in real time.
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

_ROOTS = frozenset(name.split(".")[0] for name in REAL_TIME)

#: The names and what they were before any patch.
_ORIGINALS: dict[str, Any] = {
    "sleep": sleep,
    "Lock": threading.Lock,
    "RLock": threading.RLock,
    "SimpleQueue": queue.SimpleQueue,
    "asctime": time.asctime,
    "clock_gettime": time.clock_gettime,
    "clock_gettime_ns": time.clock_gettime_ns,
    "ctime": time.ctime,
    **{name: getattr(select, name) for name in ("select", "poll", "epoll", "kqueue") if hasattr(select, name)},
}


def lives_in_real_time(module: str) -> bool:
    return module.startswith(REAL_TIME) and module.split(".")[0] in _ROOTS


_scanned: dict[str, ModuleType] = {}
_found: dict[str, list[ModuleType]] = {}


def look_for_modules() -> None:
    """Note which modules are loaded.

    `sys.modules` is scanned again only when it has changed: a scan takes a tenth of the time in which a cluster is set
    up.
    """
    if sys.modules != _scanned:
        _scan()


def importers(name: str, value: object) -> list[ModuleType]:
    """The modules, except for those in real time, in which `name` is `value`, one of those patched here.

    They are those that were loaded when `look_for_modules` was called.
    """
    return [module for module in _found.get(name, ()) if module.__dict__.get(name) is value]


def _scan() -> None:
    _scanned.clear()
    _scanned.update(sys.modules)
    _found.clear()
    for title, module in _scanned.items():
        names = getattr(module, "__dict__", None)
        if names is None or lives_in_real_time(title):
            continue
        for name, value in _ORIGINALS.items():
            if names.get(name) is value:
                _found.setdefault(name, []).append(module)
