"""The run of an exploration that perturbs a test, if it is explored: what the harness asks it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol


class Perturbed(Protocol):
    """A run of the test under the faults of a plan (`fakekube.simulation`)."""

    @property
    def calm(self) -> bool:
        """Whether the plan has no faults."""

    async def recovered(self) -> None:
        """Wait until what a fault has broken is mended."""

    def awaited(self) -> None:
        """Called when the test waits for an operator."""

    def moves(self) -> None:
        """Called when a step of the test begins."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """A step of the test."""

    def skips(self) -> bool:
        """Whether the test's writes are left out."""

    def external(self, name: str, fake: Any, error: Callable[[], BaseException]) -> Any:
        """An outside API, whose items are part of the final state. Returns what operators call in its place."""

    def absorbs(self, error: BaseException) -> bool:
        """Whether a failure of an operator is part of the plan."""

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is to be started in place of a function: that of the release that runs now."""


class Perturbation:
    """The present run of an exploration (None: the test is not explored)."""

    def __init__(self) -> None:
        self.run: Perturbed | None = None

    @property
    def calm(self) -> bool:
        """Whether nothing perturbs the test."""
        return self.run is None or self.run.calm

    def awaited(self) -> None:
        """The test waits for an operator."""
        if self.run is not None:
            self.run.awaited()

    def moves(self) -> None:
        """A step of the test begins."""
        if self.run is not None:
            self.run.moves()

    def step(self, name: str) -> AbstractContextManager[None]:
        """A named step of the test."""
        return nullcontext() if self.run is None else self.run.step(name)

    def skips(self) -> bool:
        """Whether the test's writes are left out."""
        return self.run is not None and self.run.skips()

    def external(self, name: str, fake: Any, error: Callable[[], BaseException]) -> Any:
        """An outside API. Returns what operators call."""
        return fake if self.run is None else self.run.external(name, fake, error)

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is to be started in place of a function of the test."""
        return function if self.run is None else self.run.released(function)

    def absorbs(self, error: BaseException) -> bool:
        """Whether a failure of an operator is part of the plan."""
        return self.run is not None and self.run.absorbs(error)
