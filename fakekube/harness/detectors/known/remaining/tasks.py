"""Detects tasks, threads and coroutines that reconciles leave behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from controllerlib.observer import current_run
from fakekube.harness.detectors.detector import REPEATED, Doing, Scene, Surroundings
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.remains.coroutines import (
    UNKNOWN_PLACE,
    called_at,
    created_at,
    definition_of,
    failed_child,
    is_of_controllerlib,
    is_ours,
    named,
    unstarted,
)
from fakekube.harness.detectors.texts.places import Line, calling_line, raised_at
from fakekube.virtualtime.loop import VirtualTimeLoop


class Started(NamedTuple):
    """A task, the reconcile that has started it, and where."""

    task: asyncio.Task[Any]
    doing: Doing
    line: Line | None

    @property
    def at(self) -> str:
        """Where it was started, as an addition to a text."""
        return "" if self.line is None else f" at {self.line}"


#: Tasks that are kept before those that have ended are dropped.
_KEPT = 1000


class Tasks:
    """The tasks that reconciles start, which they should await or cancel.

    `leaked-task`: one still runs at the end of the test, and its reconcile is over; unless the operator keeps it, once
    for each object, and the object still exists. `failed-task`: one has failed and
    its exception was never retrieved. `swallowed-cancellation`: one was cancelled and still runs.
    `unawaited-coroutine`: a coroutine was created and never awaited.
    """

    levels: Mapping[str, Level] = {
        "leaked-task": "error",
        "failed-task": "error",
        "unawaited-coroutine": "error",
        "swallowed-cancellation": "error",
    }

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._tasks: list[Started] = []
        #: tasks that no reconcile has started and that have failed
        self._failed_elsewhere: list[weakref.ref[asyncio.Task[Any]]] = []
        self._doing: Callable[[], Doing | None] = _nothing
        self._real_warning: Callable[[Any], None] | None = None
        self._loop: VirtualTimeLoop | None = None
        self._has_other_loops = False

    def open(self, surroundings: Surroundings) -> None:
        self._loop, self._doing = surroundings.bubble.loop, surroundings.doing
        loop = self._loop
        loop.on_task, loop.on_task_failure = self._created, self._ended
        loop.set_exception_handler(self._failed)
        loop.threads.on_loop = self._open_other
        self._real_warning = getattr(warnings, "_warn_unawaited_coroutine", None)
        if self._real_warning is not None:
            warnings._warn_unawaited_coroutine = self._unawaited  # type: ignore[attr-defined]

    def retire(self) -> None:
        if self._real_warning is not None:
            warnings._warn_unawaited_coroutine = self._real_warning  # type: ignore[attr-defined]
            self._real_warning = None
        if self._loop is not None:
            self._loop.on_task = self._loop.on_task_failure = None
            self._loop.set_exception_handler(None)
            self._loop.threads.on_loop = None
            self._loop = None
        self._tasks.clear()
        self._failed_elsewhere.clear()
        self._doing = _nothing

    def _created(self, task: asyncio.Task[Any]) -> None:
        doing = self._doing() if current_run() is not None else None
        if doing is not None and not is_ours(task.get_coro()):
            self._tasks.append(Started(task, doing, calling_line()))
            if len(self._tasks) > _KEPT:
                self._tasks = [one for one in self._tasks if not one[0].done() or _is_unretrieved(one[0])]

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not is_ours(task.get_coro()):
            self._failed_elsewhere.append(weakref.ref(task))

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error, task = context.get("exception"), context.get("task") or context.get("future")
        if error is not None and "never retrieved" in context.get("message", "") and task is not None:
            if isinstance(task, asyncio.Task):
                self._report_failure(f"a task of {named(task.get_coro())}", error)
            else:
                self._report_future(task, error)
        loop.default_exception_handler(context)

    def _open_other(self, loop: asyncio.AbstractEventLoop) -> None:
        """Observe what ends tasks of an event loop in a thread, unless the code under test does."""
        self._has_other_loops = True
        if loop.get_exception_handler() is None:
            loop.set_exception_handler(self._failed_in_thread)

    def _failed_in_thread(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report what is no Exception, and which libraries do therefore not expect: the outcome of the test, too."""
        error = context.get("exception")
        if isinstance(error, Exception) or error is None or self._loop is None:
            loop.default_exception_handler(context)
        elif isinstance(error, self._loop.fatal_errors):
            self._loop.fail_with(error)
        else:
            self._failed(loop, context)

    def _report_future(self, future: asyncio.Future[Any], error: BaseException) -> None:
        """Report the error of a future that is no task: one of `asyncio.gather`, or of a thread pool."""
        child = failed_child(future, error)
        if child is None:
            self._report_failure(f"a future{raised_at(error)}", error)
        else:
            by = next((f" (started by {one.doing}{one.at})" for one in self._tasks if one.task is child), "")
            lost = "it belongs to an asyncio.gather(...) that nothing awaits"
            self._report_failure(f"a task{by} of {named(child.get_coro())}", error, lost)

    def _report_failure(self, what: str, error: BaseException, lost: str = "nothing awaits it") -> None:
        self._scene.report(
            "failed-task",
            f"{what} failed with {type(error).__name__}: {error}; {lost}, so the error is lost",
            key=(what.partition(" of ")[2] or what, type(error)),
        )

    def _unawaited(self, coro: Any) -> None:
        if self._real_warning is None or self._loop is None or self._loop.threads.is_ending():
            return
        is_call = is_of_controllerlib(coro)  # operators call it; its own modules await each other
        if (is_call or not is_ours(coro)) and not self._loop.processes.ending:
            doing = self._doing()
            place = called_at(coro, sys._getframe(1))
            defined = "" if place or is_call else f", defined at {definition_of(coro)},"
            called = f"{getattr(coro, '__qualname__', coro)}(...){defined} was called and never awaited"
            called += place or UNKNOWN_PLACE
            by = f", in {doing}" if doing is not None else ""
            self._scene.report("unawaited-coroutine", called + by, key=called)
        self._real_warning(coro)

    def finish(self) -> None:
        running: dict[tuple[object, str], list[Started]] = {}
        for one in self._tasks:
            task, doing = one.task, one.doing
            if doing.operator.process.fenced:
                continue
            what = named(task.get_coro())
            if task.done():
                if _is_unretrieved(task):
                    error = task.exception()  # retrieves it: it is reported once
                    if error is not None:
                        self._report_failure(f"a task (started by {doing}{one.at}) of {what}", error)
            elif task.cancelling():
                self._scene.report(
                    "swallowed-cancellation",
                    f"a task of {what} that {doing} started{one.at} was cancelled and goes on: raise CancelledError "
                    "again",
                    key=(doing.run.controller, what),
                )
            elif doing.is_over:
                running.setdefault((doing.who, what), []).append(one)
        for (_, what), started in running.items():
            self._judge_running(what, started)
        for reference in self._failed_elsewhere:
            failed = reference()
            if failed is not None and _is_unretrieved(failed) and (error := failed.exception()) is not None:
                self._report_failure(f"a task of {named(failed.get_coro())}", error)

    def closed(self) -> None:
        if self._has_other_loops:
            gc.collect()  # tasks of event loops in threads report what they failed with when they are freed
        for operator in self._scene.operators:
            if operator.manager is not None and not operator.process.fenced:
                for coro in unstarted([operator.manager, vars(operator.manager)]):
                    self._report_kept(coro, operator.name)

    def _report_kept(self, coro: types.CoroutineType[Any, Any, Any], operator: str) -> None:
        if is_of_controllerlib(coro) or not is_ours(coro):
            self._scene.report(
                "unawaited-coroutine",
                f"{coro.__qualname__}(...) was called and never awaited: {operator} keeps the coroutine "
                f"({f'called at {called}' if (called := created_at(coro)) else f'defined at {definition_of(coro)}'})",
                key=(operator, coro.__qualname__),
            )
            coro.close()  # Python would warn of it when it is collected

    def _judge_running(self, what: str, started: Sequence[Started]) -> None:
        """Tasks of one function for one key. Those that an operator keeps may belong to the object, and end with it."""
        doing, at = started[-1].doing, started[-1].at
        reconciles = len({id(one.doing) for one in started})
        is_known = doing.run.controller in doing.operator.reconciled
        if is_known and self._scene.reconciled(doing) is None:
            text = (
                f"{doing} started a task of {what}{at} that still runs although {doing.key} has been deleted: cancel "
                "it then"
            )
        elif reconciles >= REPEATED:
            text = (
                f"{reconciles} reconciles of {doing.key} ({doing.run.controller}) started tasks of {what}{at} that "
                "still run: await or cancel them"
            )
        elif not self._is_kept(started[-1].task):
            text = (
                f"{doing} started a task of {what}{at} that still runs after the reconcile, and nothing keeps it: "
                "await or cancel it"
            )
        else:
            return
        self._scene.report("leaked-task", text, key=(doing.run.controller, what))

    def _is_kept(self, task: asyncio.Task[Any]) -> bool:
        """Whether anything but the event loop and the harness refers to a task."""
        harness = {id(one) for one in self._tasks}
        if self._loop is not None:
            harness.update(map(id, self._loop.tasks.records()))
        for one in gc.get_referrers(task):
            if id(one) not in harness and not isinstance(one, types.FrameType) and not _is_wakeup(one):
                return True
        return False


def _nothing() -> Doing | None:
    return None


def _is_wakeup(value: object) -> bool:
    """Whether it is what the future that a task awaits calls back."""
    return getattr(value, "__name__", type(value).__name__) in ("task_wakeup", "TaskWakeupMethWrapper", "__wakeup")


def _is_unretrieved(task: asyncio.Task[Any]) -> bool:
    return bool(getattr(task, "_log_traceback", False))


DETECTORS = (Tasks,)
