"""Detects tasks that handlers of kopf leave behind."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from fakekube.apiserver.storage.store import path_of
from fakekube.harness.detectors.detector import REPEATED, Scene, meta_of
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.remains.coroutines import is_library, named
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current_client

#: Where kopf has the cause of the handler that runs, in a context variable `cause_var` (see tests/test_canaries.py).
EXECUTION = "kopf._core.actions.execution"

#: Tasks that are kept before those that have ended are dropped.
KEPT = 1000

#: Handlers that run when the object ends, so that their tasks may outlive it.
_AT_THE_END = frozenset({"delete", "free", "gone"})


class Started(NamedTuple):
    """A task that a handler has started, and the object that the handler was called for."""

    task: weakref.ref[asyncio.Task[Any]]
    program: SimulatedProcess
    plural: str
    collection: str
    path: str
    uid: str


class HandlerTasks:
    """Tasks of the operator's own functions, started in handlers of an object, that still run at the end of the test.

    Reported if the object has been deleted, or if handlers have started several of the same function for it. Handlers
    of the deletion may start what outlives the object; those of startup have no object.
    """

    levels: Mapping[str, Level] = {"leaked-handler-task": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._started: list[Started] = []

    def task_created(self, task: asyncio.Task[Any]) -> None:
        kopf = sys.modules.get(EXECUTION)
        variable: ContextVar[Any] | None = getattr(kopf, "cause_var", None) if kopf is not None else None
        cause = variable.get(None) if variable is not None else None
        body, program = getattr(cause, "body", None), current_client()
        if cause is None or body is None or program is None or is_library(task.get_coro()):
            return
        if str(getattr(getattr(cause, "reason", None), "value", "")) in _AT_THE_END:
            return
        meta, kind = body.get("metadata") or {}, cause.resource
        resource = self._scene.runner.apiserver.catalog.find(kind.group, kind.version, kind.plural)
        if resource is not None:
            path = path_of(meta.get("namespace") or "", meta.get("name") or "")
            if len(self._started) >= KEPT:
                self._started = [one for one in self._started if (known := one.task()) is not None and not known.done()]
            self._started.append(
                Started(weakref.ref(task), program, kind.plural, resource.collection, path, str(meta.get("uid", "")))
            )

    def finish(self) -> None:
        running: dict[tuple[str, str, str, str], list[Started]] = {}
        for one in self._started:
            task = one.task()
            if task is not None and not task.done() and not task.cancelling() and not one.program.fenced:
                what = named(task.get_coro())
                running.setdefault((what, one.collection, one.path, one.uid), []).append(one)
        for (what, collection, path, uid), started in running.items():
            entry = self._scene.store.get(collection, path)
            is_gone = entry is None or meta_of(entry.object).get("uid") != uid
            if is_gone or len(started) >= REPEATED:
                number = "a task" if len(started) == 1 else f"{len(started)} tasks"
                runs = "still runs" if len(started) == 1 else "still run"
                gone = f" although {path} has been deleted: cancel it then" if is_gone else ": await or cancel them"
                self._scene.report(
                    "leaked-handler-task",
                    f"handlers of {started[0].plural} {path} started {number} of {what} that {runs}{gone}",
                    who=started[0].program.name,
                    key=(what, collection),
                )

    def retire(self) -> None:
        self._started.clear()


DETECTORS = (HandlerTasks,)
