"""The desk `fakekube.exploration`: what a test says to the exploration that may run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from fakekube.harness.members import reads
from fakekube.harness.perturbation import Perturbation

E = TypeVar("E", bound=Iterable[Any])


class Exploration:
    """The run of an exploration that this test is in, if it is explored (docs/explorations/tutorial.md)."""

    def __init__(self, perturbation: Perturbation) -> None:
        self._perturbation = perturbation

    @property
    @reads()
    def calm(self) -> bool:
        """Whether nothing perturbs this run of the test: always, unless it is explored."""
        return self._perturbation.calm

    @reads()
    def step(self, name: str) -> AbstractContextManager[None]:
        """A named part of the test, `with fakekube.exploration.step("resize"):`, which the shrinking of a failure may
        leave out. What the test writes in a step that is left out is not written.
        """
        if not isinstance(name, str) or not name:
            raise TypeError(f"step(name={name!r}): pass a text")
        return self._perturbation.step(name)

    @reads()
    def external(self, name: str, fake: E, *, error: Callable[[], BaseException] = ConnectionResetError) -> E:
        """An outside API of which the operator makes and removes items: `external("buckets", buckets)`.

        `fake` is iterable. An exploration crashes operators after they have changed it; what it has at the end of a run
        must be what it has without faults, and nothing is made more often. Returns what the operator is to call: `fake`
        itself, or in an exploration what stands for it. Calls of that fail with `error()`, before or after they take
        effect, and the answers of coroutines are late.
        """
        iter(fake)
        found: E = self._perturbation.external(name, fake, error)
        return found
