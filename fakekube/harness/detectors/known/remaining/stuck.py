"""Detects reconciles, handlers of kopf and threads that wait for ever."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakekube.harness.detectors.detector import Doing, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.remains.waiting import Wait, Waits, handlers_of_kopf, is_shared
from fakekube.virtualtime.loop import VirtualTimeLoop


class Stuck:
    """What waits at the end of the test, without a timeout, for something that nothing does any more.

    `stuck-reconcile`: a reconcile, or a handler of kopf that is no daemon. `stuck-thread`: a thread that waits for a
    lock which itself, an ended thread, or another such thread holds. Threads that wait for work or for an event are
    fine. A wait is not judged if a timer, or code that can go on, refers to what it is for; or if it is for a
    connection.
    """

    levels: Mapping[str, Level] = {"stuck-reconcile": "error", "stuck-thread": "error"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._loop: VirtualTimeLoop | None = None
        #: what the waits that were reported are for
        self._reported: list[tuple[object, ...]] = []
        self._in_progress: Callable[[], Iterable[Doing]] = tuple

    def open(self, surroundings: Surroundings) -> None:
        """Judge the tasks and threads of a bubble, and the reconciles in progress."""
        self._loop, self._in_progress = surroundings.bubble.loop, surroundings.in_progress

    def finish(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed() or not loop.is_at_rest():
            return
        waits, judged = self._waits(loop), set[int]()
        for doing in self._in_progress():
            task = _worker(doing)
            process = doing.operator.process
            if task is None or (process is not None and (process.fenced or not process.runs)):
                continue
            judged.add(id(task))
            wait = waits.of(task)
            if wait is not None and not waits.may_be_ended(wait) and not self._may_be_set_later(doing, wait):
                self._report("stuck-reconcile", str(doing), wait, doing.run.controller, doing.at)
        for task in self._tasks(loop) if "kopf" in sys.modules else ():
            handler = handlers_of_kopf(task) if id(task) not in judged else ""
            if handler and (wait := waits.of(task)) is not None and not waits.may_be_ended(wait):
                self._report("stuck-reconcile", f"the handler {handler}", wait, "kopf", None)
        for thread in loop.threads.active():
            found = waits.of_thread(thread)
            is_judged = found is not None and found.objects in self._reported
            if found is not None and found.is_lock and not is_judged and not waits.may_be_ended(found):
                self._report("stuck-thread", f"the thread {thread.name}", found, thread.name, None)

    def waiting_for(self, doing: Doing) -> str:
        """Where a reconcile in progress waits without a timeout, for the timeline; empty if it does not."""
        loop, task = self._loop, _worker(doing)
        if loop is None or loop.is_closed() or task is None:
            return ""
        wait = self._waits(loop).of(task)
        return "" if wait is None else str(wait)

    def _waits(self, loop: VirtualTimeLoop) -> Waits:
        return Waits(self._tasks(loop), list(loop.threads.active()))

    def _tasks(self, loop: VirtualTimeLoop) -> list[asyncio.Task[Any]]:
        """The unfinished tasks of the code under test, of all event loops."""
        found = loop.tasks.under_test()
        for thread in loop.threads.active():
            if thread.loop is not None and not thread.loop.is_closed():
                found += sorted(asyncio.all_tasks(thread.loop), key=lambda task: task.get_name())
        return found

    def _may_be_set_later(self, doing: Doing, wait: Wait) -> bool:
        """Whether a later reconcile may set what this one waits for."""
        manager = doing.operator.manager
        if wait.is_lock or manager is None or not is_shared(wait.objects):
            return False
        return any(key != doing.run.request for one in manager.controllers.values() for key in one.queue.waiting())

    def _report(self, detector: str, what: str, wait: Wait, who: str, since: float | None) -> None:
        self._reported.append(wait.objects)
        lasts = "" if since is None else f" for {self._scene.runner.clock.monotonic() - since:g} s"
        self._scene.report(
            detector,
            f"{what} has waited{lasts} at {wait.place} for {wait.what}, without a timeout, and nothing that runs can "
            "end the wait",
            key=(who, what, wait.place),
        )
        if since is None:
            self._scene.note(who, f"waits for {wait.what} at {wait.place}, and nothing ends the wait")

    def retire(self) -> None:
        self._loop = None
        self._in_progress = tuple
        self._reported.clear()


def _worker(doing: Doing) -> asyncio.Task[Any] | None:
    """The task that runs a reconcile."""
    manager = doing.operator.manager
    controller = None if manager is None else manager.controllers.get(doing.run.controller)
    return None if controller is None else controller.worker(doing.run.worker)


DETECTORS = (Stuck,)
