"""The event loop of a test on a real cluster, in the place of a bubble of virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, NoReturn, TypeVar

from fakekube.harness.members import skip
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

T = TypeVar("T")


class RealLoop:
    """Runs async tests, their fixtures, and operators; everything else of a bubble skips the test."""

    def __init__(self, loop: asyncio.AbstractEventLoop, backend: str) -> None:
        self._loop, self._backend = loop, backend

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        skip("the clock", f"bubble.{name}", self._backend)

    @property
    def loop(self) -> RealLoop:
        """Itself: it creates tasks and futures, too."""
        return self

    @property
    def tasks(self) -> RealLoop:
        """Itself: it owns no tasks."""
        return self

    def own(self, task: asyncio.Task[Any]) -> None:
        """Does nothing: a real loop has no tasks of its own."""

    def create_future(self) -> asyncio.Future[Any]:
        return self._loop.create_future()

    def create_task(
        self, work: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        return self._loop.create_task(work, name=name, context=context)

    def has_work(self) -> bool:
        """Whether something is known to be ready to run: in real time it is not known."""
        return False

    def start_process(
        self, coro: Coroutine[Any, Any, None], process: SimulatedProcess, name: str = ""
    ) -> asyncio.Task[None]:
        """Start an operator."""
        return self._loop.create_task(coro, name=name or process.name)

    def run(self, main: Coroutine[Any, Any, T], context: Context | None = None) -> T:
        """Run an async test or fixture to its end."""
        return self._loop.run_until_complete(self._loop.create_task(main, context=context))
