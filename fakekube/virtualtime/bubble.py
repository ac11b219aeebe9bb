"""A bubble: everything of one test that lives under one virtual clock."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import Duration, microseconds
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.loop import VirtualTimeLoop

T = TypeVar("T")


class Done:
    """What a sync test gets where an async test gets something to await: it has already happened."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class Bubble:
    """Owns clock and loop for one test; a context manager."""

    def __init__(self, *, stepped: bool = True) -> None:
        self.clock = VirtualClock()
        self.gate = Gate(is_open=not stepped)
        self.loop = VirtualTimeLoop(self.clock, gate=self.gate)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.close()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(main)

    def settle(self) -> Awaitable[None]:
        return self._do(self.loop.settle())

    def advance(self, duration: Duration = 0, **units: float) -> Awaitable[None]:
        return self._do(self.loop.advance(duration, **units))

    def advance_to(self, moment: datetime) -> Awaitable[None]:
        return self._do(self.loop.advance_to(moment))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        if self.loop.is_running():
            return self.loop.advance_until(predicate, timeout)
        limit = self.clock.us + microseconds(timeout)
        self.settle()
        while not predicate():
            self.loop.run_until_complete(self.loop.step(limit, timeout))
        return Done()

    def why(self) -> str:
        return self.loop.why()

    def _do(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        if self.loop.is_running():
            return work
        self.loop.run_until_complete(work)
        return Done()
