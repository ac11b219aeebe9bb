"""The steps of a test: they run the code under test, move time, and raise what failed meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fakekube.harness.assertions.invariants import Invariants
from fakekube.harness.audit import Audit
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.driving.driver import Driver
from fakekube.harness.driving.steps import Steps, calling
from fakekube.harness.operators.background import Background
from fakekube.harness.perturbation import Perturbation
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.bubble import Done
from fakekube.virtualtime.durations import Duration

T = TypeVar("T")


class Stepping:
    """Makes the steps of a test, which block in a sync test and are awaited in an async one."""

    def __init__(
        self,
        bubble: Bubble,
        driver: Driver,
        perturbation: Perturbation,
        detection: Detection,
        background: Background,
        invariants: Invariants,
        audit: Audit,
    ) -> None:
        self._bubble, self._driver, self._perturbation = bubble, driver, perturbation
        self._detection, self._background, self._invariants, self._audit = detection, background, invariants, audit
        self._steps = Steps()

    def in_async_test(self) -> bool:
        """Whether the caller is an async test, which must await a step. Raises RuntimeError on another loop."""
        return self._driver.in_async_test()

    def settle(self) -> Awaitable[None]:
        """Wait until the cluster is quiescent."""
        return self.step(self._bubble.settle)

    def step(self, move: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        """A step that calls `move`. Raises RuntimeError in a callback, and what failed in the background."""
        if self.in_async_test():
            self._refuse_callback()
            return self.awaited(self._checked(move), "step")
        with self._reporting():
            done = move()
            if (run := self._perturbation.run) is not None:
                self._bubble.loop.drive(run.recovered())
            return done

    def until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """A step that moves time until `predicate()` is true. Raises TimeoutError."""
        self._perturbation.awaited()
        return self.step(lambda: self._bubble.advance_until(predicate, timeout))

    def awaited(self, work: Coroutine[Any, Any, T], name: str) -> Coroutine[Any, Any, T]:
        """`work`, which an async test must await: the test fails if it does not."""
        try:
            self._steps.check()
        except BaseException:
            work.close()
            raise
        return self._steps.make(work, name)

    def expect(self, name: str) -> Callable[[], None]:
        """Note a call that an async test must await; returns what notes that it was."""
        self._steps.check()
        number = self._steps.expect(calling(name))
        return lambda: self._steps.awaited(number)

    def in_real_time(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        """Run `work`, which holds virtual time; an async test awaits it."""
        if self.in_async_test():
            return work
        self._bubble.loop.drive(work)
        return Done()

    def finish(self) -> None:
        """Raises NotAwaited naming what an async test had to await and did not."""
        self._steps.finish()

    def _refuse_callback(self) -> None:
        """Raises RuntimeError for a step in code that the event loop runs in a sync test."""
        if not self._bubble.loop.runs_test():
            raise RuntimeError(
                "a step (settle(), advance(), ...) in a callback, for example `before` of a fault, a predicate or a "
                "coroutine of task(): only the test itself settles or moves time"
            )

    async def _checked(self, move: Callable[[], Awaitable[None]]) -> None:
        with self._reporting():
            await move()
            if (run := self._perturbation.run) is not None:
                await run.recovered()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raises what failed in the background instead of its consequences; names the writes of a hot loop."""
        self._perturbation.moves()
        try:
            try:
                with self._detection.step():
                    yield
            except (Deadlock, HotLoop, NotQuiescent) as error:
                self._background.raise_failure(error)
                raise
            self._background.raise_failure()
            self._invariants.raise_violation()
        except HotLoop as error:
            for writer in self._audit.busiest():
                error.add_note(f"writes within this virtual second: {writer}")
            raise
