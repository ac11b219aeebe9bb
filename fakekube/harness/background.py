"""What runs beside a test: operators, tasks and threads, and the exceptions that the test has to raise for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVarTuple

from fakekube.harness.operator import Operator
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.threads.scheduler import BubbleThread

Args = TypeVarTuple("Args")


class Background:
    """Starts and ends them; the next step of the test raises what one of them failed with."""

    def __init__(self, bubble: Bubble) -> None:
        self._bubble = bubble
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._failures: list[BaseException] = []
        self._threads_started = 0

    @property
    def operators(self) -> Sequence[Operator]:
        return tuple(self._operators)

    def add(self, operator: Operator) -> None:
        """Add an operator, started or not."""
        self._operators.append(operator)

    def task(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[None]:
        task = self._bubble.loop.create_task(self._guarded(work), name=name or getattr(work, "__qualname__", "task"))
        self._tasks.append(task)
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Exception as error:  # raised by the next step of the test
            self.failed(error)

    def has_threads(self) -> bool:
        """Whether the test has started a thread."""
        return self._threads_started > 0

    def thread(self, function: Callable[[*Args], object], args: tuple[*Args], name: str | None) -> BubbleThread:
        def guarded() -> None:
            try:
                function(*args)
            except Exception as error:  # raised by the next step of the test
                self.failed(error)

        self._threads_started += 1
        return self._bubble.thread(guarded, name=name or getattr(function, "__qualname__", None))

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
