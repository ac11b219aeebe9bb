"""Detects threads that an operator leaves behind."""

from __future__ import annotations

import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import controllerlib
from fakekube.harness.detectors.detector import Scene

#: Where the threads of libraries come from, which keep some for later use.
_LIBRARIES = (
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    str(Path(controllerlib.__file__ or "").parent),
    str(Path(__file__).parents[2]),
)


class Threads:
    """Threads that run at the end and did not at the beginning, unless the test has started threads in the cluster."""

    names: tuple[str, ...] = ("leaked-thread",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._before: frozenset[int] = frozenset()
        self._is_foreign: Callable[[threading.Thread], bool] = bool

    def open(self, has_threads: Callable[[], bool]) -> None:
        """Note the threads that run already. `has_threads`: whether the test has started threads of its own."""
        self._before = frozenset(id(thread) for thread in threading.enumerate())
        self._is_foreign = lambda thread: not has_threads()

    def finish(self) -> None:
        for thread in threading.enumerate():
            if id(thread) in self._before or not self._is_foreign(thread):
                continue
            function = _function(thread)
            code = getattr(function, "__code__", None)
            if code is not None and not code.co_filename.startswith(_LIBRARIES):
                self._scene.report(
                    "leaked-thread", f"the thread {thread.name} of {function.__qualname__} still runs: end and join it"
                )

    def retire(self) -> None:
        self._is_foreign = bool


def _function(thread: threading.Thread) -> Any:
    """What a thread runs: its target, or the method of its class."""
    target = getattr(thread, "_target", None)
    return getattr(target, "__func__", target) if target is not None else type(thread).run
