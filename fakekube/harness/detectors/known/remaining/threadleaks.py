"""Detects threads that an operator leaves behind."""

from __future__ import annotations

import gc
import sysconfig
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import controllerlib
from fakekube.harness.detectors.detector import REPEATED, Doing, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current_client

#: Where the threads of libraries come from, which keep some for later use.
_LIBRARIES = (
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    str(Path(controllerlib.__file__ or "").parent),
    str(Path(__file__).parents[4]),
)


#: Real seconds in which a thread may end after its operator has ended.
_PATIENCE = 1.0

_real_join = threading.Thread.join


class Started(NamedTuple):
    """Who has started a thread: a reconcile, and the process of an operator, if these are known."""

    doing: Doing | None = None
    process: SimulatedProcess | None = None


class Left(NamedTuple):
    """A thread that ran at the end of the test. `is_orphan`: the process that has started it had ended."""

    thread: threading.Thread
    by: Started
    is_orphan: bool


class Threads:
    """Threads that the code under test leaves behind, unless the test has started threads in the cluster.

    They are judged when operators have been ended after the test: these may end their threads then. A daemon thread
    ends with its process, so that one which an operator has is fine while the operator runs. A daemon thread that a
    reconcile has started is reported as a task is: its object has been deleted, each reconcile starts one, or nothing
    keeps it.
    """

    levels: Mapping[str, Level] = {"leaked-thread": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._before: frozenset[int] = frozenset()
        self._has_own: Callable[[], bool] = bool
        self._is_of_bubble: Callable[[threading.Thread], object] = _no
        self._doing: Callable[[], Doing | None] = _nothing
        self._started: list[tuple[weakref.ref[threading.Thread], Started]] = []
        self._left: list[Left] = []

    def open(self, surroundings: Surroundings) -> None:
        """Note the threads that run already."""
        bubble = surroundings.bubble
        self._before = frozenset(id(thread) for thread in threading.enumerate())
        self._has_own, self._doing = surroundings.has_threads, surroundings.doing
        self._is_of_bubble = bubble.loop.threads.find
        bubble.on_thread(self.started_thread)

    def started_thread(self, thread: threading.Thread) -> None:
        """Note who starts a thread."""
        if _is_tested(thread):
            self._started = [one for one in self._started if one[0]() is not None]
            self._started.append((weakref.ref(thread), Started(self._doing(), current_client())))

    def finish(self) -> None:
        if self._has_own():
            return
        known = {id(thread): started for reference, started in self._started if (thread := reference()) is not None}
        for thread in threading.enumerate():
            if id(thread) not in self._before and _is_tested(thread):
                by = known.get(id(thread), Started())
                self._left.append(Left(thread, by, by.process is not None and by.process.ended))
        for one in self._left:
            if self._is_of_bubble(one.thread):  # these end before operators do
                self._report(one)

    def closed(self) -> None:
        patience = _PATIENCE
        for one in self._left:
            is_killed = one.by.process is not None and one.by.process.fenced
            if one.thread.is_alive() and not is_killed and not self._is_of_bubble(one.thread) and self._reason(one):
                _real_join(one.thread, patience)
                if one.thread.is_alive():
                    patience = 0.0
                    self._report(one)

    def _report(self, left: Left) -> None:
        if reason := self._reason(left):
            what = f"the thread {left.thread.name} of {_function(left.thread).__qualname__}"
            self._scene.report("leaked-thread", f"{what} {reason}")

    def _reason(self, left: Left) -> str:
        """Why a thread that still runs is a leak; empty if it is none."""
        doing = left.by.doing
        if not left.thread.daemon:
            return "still runs when its operator has ended: end and join it"
        if left.is_orphan:
            return "still runs although its operator was stopped: end and join it"
        if doing is None:
            return ""
        if doing.run.controller in doing.operator.reconciled and self._scene.reconciled(doing) is None:
            return f"that {doing} started still runs although {doing.key} has been deleted: end it then"
        if len(set(self._reconciles(left, doing))) >= REPEATED:
            return f"is one of several that reconciles of {doing.key} started and that still run: end and join them"
        if not self._is_kept(left.thread):
            return f"that {doing} started still runs, and nothing keeps it: end and join it"
        return ""

    def _reconciles(self, left: Left, doing: Doing) -> Iterator[int]:
        """The reconciles of the same key that have started threads of the same function."""
        code = _function(left.thread).__code__
        for one in self._left:
            if one.by.doing is not None and one.by.doing.who == doing.who and _function(one.thread).__code__ is code:
                yield id(one.by.doing)

    def _is_kept(self, thread: threading.Thread) -> bool:
        """Whether the code under test refers to a thread."""
        own = {id(getattr(threading, "_active", None)), *map(id, self._left)}
        kinds = types.FrameType | types.MethodType
        return any(id(one) not in own and not isinstance(one, kinds) for one in gc.get_referrers(thread))

    def retire(self) -> None:
        self._has_own, self._is_of_bubble, self._doing = bool, _no, _nothing
        self._started.clear()
        self._left.clear()


def _is_tested(thread: threading.Thread) -> bool:
    """Whether a thread runs a function of the code under test, not of a library."""
    code = getattr(_function(thread), "__code__", None)
    return code is not None and not code.co_filename.startswith(_LIBRARIES)


def _no(thread: threading.Thread) -> None:
    """The threads of no bubble."""


def _nothing() -> Doing | None:
    return None


def _function(thread: threading.Thread) -> Any:
    """What a thread runs: its target, or the method of its class."""
    target = getattr(thread, "_target", None)
    return getattr(target, "__func__", target) if target is not None else type(thread).run


DETECTORS = (Threads,)
