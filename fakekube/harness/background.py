"""What runs beside a test: operators, tasks and threads, and the exceptions that the test has to raise for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fakekube.harness.operator import Operator
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.shutdown import end_tasks
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in
from fakekube.virtualtime.threads.scheduler import BubbleThread


class Background:
    """Starts and ends them; the next step of the test raises what one of them failed with."""

    def __init__(self, bubble: Bubble) -> None:
        self._bubble = bubble
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[object, SimulatedProcess] = {}
        self._failures: list[BaseException] = []
        self._threads_started = 0

    @property
    def operators(self) -> Sequence[Operator]:
        return tuple(self._operators)

    def add(self, operator: Operator) -> None:
        """Add an operator, started or not."""
        self._operators.append(operator)

    def task(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[None]:
        name = name or getattr(work, "__qualname__", "task")
        process = SimulatedProcess(name)
        task = self._bubble.loop.start_process(self._guarded(work, process), process)
        self._tasks.append(task)
        self._processes[task] = process
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any], process: SimulatedProcess) -> None:
        try:
            await work
        except Exception as error:  # raised by the next step of the test
            if not process.fenced:
                self.failed(error)

    def has_threads(self) -> bool:
        """Whether the test has started a thread."""
        return self._threads_started > 0

    def thread(self, function: Callable[[], object], name: str | None) -> BubbleThread:
        process = SimulatedProcess(name or "thread")

        def guarded() -> None:
            try:
                function()
            except Exception as error:  # raised by the next step of the test
                if not process.fenced:
                    self.failed(error)

        self._threads_started += 1
        with running_in(process):
            thread = self._bubble.thread(guarded, name=name)
        self._processes[thread] = process
        return thread

    def process_of(self, target: object) -> SimulatedProcess:
        """The process of an operator, or of a task or thread that was started here. Raises TypeError, ValueError."""
        if isinstance(target, Operator):
            return target.process
        if not isinstance(target, asyncio.Task | BubbleThread):
            raise TypeError(
                f"{target!r} is no operator: pass what start(), task() or thread() returned (in an async test, what "
                "`await start()` returned)"
            )
        if target not in self._processes:
            raise ValueError(f"{target!r} was not started with task() or thread() of this cluster")
        return self._processes[target]

    @property
    def is_busy(self) -> bool:
        """Whether an operator, a task or a thread runs."""
        tasks = any(not task.done() for task in self._tasks)
        threads = next(iter(self._bubble.loop.threads.active()), None) is not None
        return tasks or threads or any(one.is_running for one in self._operators)

    def failed(self, error: BaseException) -> None:
        self._failures.append(error)

    def raise_failure(self, instead_of: BaseException | None = None) -> None:
        """Raise the oldest failure that has not been raised yet, if any."""
        reported = self._bubble.failures or self._failures
        if reported:
            error = reported.pop(0)
            self._failures = [other for other in self._failures if other is not error]
            raise error from instead_of

    def facts(self) -> Sequence[str]:
        """The state of the work queues, one controller a line."""
        return [
            f"controller {view.name}: ready {view.ready}, processing {view.processing}, waiting {list(view.waiting)}"
            for operator in self._operators
            for view in operator.views()
        ]

    async def end(self, own: Operator | None) -> None:
        """End everything that the test has started, the latest operator first, and then `own`, the cluster's operator.

        Raises NotQuiescent naming the tasks that do not end.
        """
        loop, operators = self._bubble.loop, self._operators[::-1]
        try:
            await self._end_operators(operators)
            await end_tasks(loop, self._tasks)
        finally:
            await self._end_operators([own] if own is not None else [])
            await end_tasks(loop, loop.tasks.under_test())
            for operator in operators:
                operator.retrieve()
            self._operators.clear()  # they refer to the cluster
            self._tasks.clear()

    async def _end_operators(self, operators: Sequence[Operator]) -> None:
        """The first cancellation stops a manager, the second one cancels the reconciles that run."""
        tasks = [task for operator in operators for task in operator.cancel()]
        await self._bubble.loop.settle()
        await end_tasks(self._bubble.loop, tasks)
        for operator in operators:
            await operator.end()
