"""Patches the portal of kr8s: the thread whose event loop runs the coroutines of its sync API, one for a process.

Each portal that the bubble makes is a thread of the bubble. The one that kr8s keeps may be older, or
live in real time; therefore each simulated process has a portal of its own.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.importhook import IMPORTS
from fakekube.virtualtime.simulatedprocess import HARNESS, SimulatedProcess, current
from fakekube.virtualtime.threads.scheduler import ThreadScheduler

_MODULE = "kr8s._async_utils"

_WHERE = "starting the event loop of kr8s"


class PortalPatches:
    def __init__(self, blocking: Blocking, threads: ThreadScheduler) -> None:
        self._blocking = blocking
        self._threads = threads
        self._portals: WeakKeyDictionary[SimulatedProcess, Any] = WeakKeyDictionary()
        self._undo: list[Callable[[], None]] = []

    def start(self) -> None:
        self._undo.append(IMPORTS.listen(self._patch))
        if (module := sys.modules.get(_MODULE)) is not None:
            self._patch(module)

    def stop(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._portals.clear()

    def _patch(self, module: ModuleType) -> None:
        kind: Any = getattr(module, "Portal", None)
        if module.__name__ != _MODULE or kind is None:
            return
        before = vars(kind)["__new__"]
        kind.__new__ = staticmethod(self._portal(kind.__new__))
        self._undo.append(lambda: setattr(kind, "__new__", before))

    def _portal(self, real: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def portal(kind: Any) -> Any:
            if not self._blocking.concerns() or self._blocking.on_own_loop():
                return real(kind)
            process = current() or HARNESS
            if process not in self._portals:
                if self._threads.current() is None:  # in the test, which is no thread of the bubble
                    self._in_thread(partial(self._own, process, kind, real))
                else:
                    self._own(process, kind, real)
            return self._portals[process]

        return portal

    def _in_thread(self, function: Callable[[], None]) -> None:
        thread = self._threads.start(function)
        self._blocking.wait(_WHERE, lambda: not thread.is_alive(), thread.ended)

    def _own(self, process: SimulatedProcess, kind: Any, real: Callable[[Any], Any]) -> None:
        """Make a portal that is not that of the class, and wait until its event loop runs, which kr8s does without a
        pause."""
        before = vars(kind).get("_instance")
        if before is not None:
            del kind._instance
        try:
            made = real(kind)
        finally:
            if before is not None:
                kind._instance = before
            elif "_instance" in vars(kind):
                del kind._instance
        while not hasattr(made, "_portal"):
            self._blocking.take_turn(_WHERE)
        self._portals[process] = made
