"""Detects tasks that swallow their cancellation at the end of a test."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any

from fakekube.harness.detectors.detector import Report
from fakekube.harness.detectors.remains.coroutines import tested_place
from fakekube.harness.detectors.remains.tasknames import title


class Swallowed:
    """Reports the tasks of operators that still run 30 virtual seconds after the end of the test has cancelled them.

    Clean-up may wait for less than that. Implements `fakekube.harness.operators.background.Survivors`.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        #: what was reported: a task is noted again each time that something waits for it
        self._noted: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    def is_cancelled(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task runs code under test and was cancelled."""
        return task.cancelling() > 0 and not task.done() and bool(tested_place(task.get_coro()))

    def note(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Report tasks that still run long after they were cancelled."""
        for task in tasks:
            where = tested_place(task.get_coro())
            if where and task not in self._noted:
                self._noted.add(task)
                self._report(
                    "swallowed-cancellation",
                    f"{title(task)}, {where}, still runs 30 s after it was cancelled at the end of the test: raise "
                    "CancelledError again, and clean up in less time",
                    key=where.partition("(")[0],
                )
