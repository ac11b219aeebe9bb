"""What runs beside a test: operators, tasks and threads, and the exceptions that the test has to raise for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVarTuple

from fakekube.harness.operator import Operator
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in
from fakekube.virtualtime.threads.scheduler import BubbleThread

Args = TypeVarTuple("Args")


class Background:
    """Starts and ends them; the next step of the test raises what one of them failed with."""

    def __init__(self, bubble: Bubble) -> None:
        self._bubble = bubble
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[object, SimulatedProcess] = {}
        self._failures: list[BaseException] = []

    @property
    def operators(self) -> Sequence[Operator]:
        return tuple(self._operators)

    def add(self, operator: Operator) -> None:
        """Add an operator, started or not."""
        self._operators.append(operator)

    def task(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[None]:
        name = name or getattr(work, "__qualname__", "task")
        process = SimulatedProcess(name)
        task = self._bubble.loop.create_task(self._guarded(work, process), name=name, context=process.context())
        self._tasks.append(task)
        self._processes[task] = process
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any], process: SimulatedProcess) -> None:
        try:
            await work
        except Exception as error:  # raised by the next step of the test
            if not process.fenced:
                self.failed(error)

    def thread(self, function: Callable[[*Args], object], args: tuple[*Args], name: str | None) -> BubbleThread:
        process = SimulatedProcess(name or str(getattr(function, "__qualname__", "thread")))

        def guarded() -> None:
            try:
                function(*args)
            except Exception as error:  # raised by the next step of the test
                if not process.fenced:
                    self.failed(error)

        with running_in(process):
            thread = self._bubble.thread(guarded, name=name or getattr(function, "__qualname__", None))
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

    def failed(self, error: BaseException) -> None:
        self._failures.append(error)

    def raise_failure(self, instead_of: BaseException | None = None) -> None:
        """Raise the oldest failure that has not been raised yet, if any."""
        if self._failures:
            raise self._failures.pop(0) from instead_of

    def facts(self) -> Sequence[str]:
        """The state of the work queues, one controller a line."""
        return [
            f"controller {view.name}: ready {view.ready}, processing {view.processing}, waiting {list(view.waiting)}"
            for operator in self._operators
            for view in operator.views()
        ]

    async def end(self) -> None:
        """End everything, the latest operator first."""
        while self._operators:
            await self._operators.pop().end()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
