"""Random numbers, injected so that tests are reproducible."""

import random
from typing import Protocol

__all__ = ["FixedRandom", "Random", "SeededRandom", "SystemRandom"]


class Random(Protocol):
    """A source of random numbers that do not depend on the order of the calls."""

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """Return a number in [0, 1): the `attempt`-th one for `purpose` and `key`."""
        ...


class SystemRandom:
    """Random numbers of the operating system: a different one at each call."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """Return a number in [0, 1), a different one at each call."""
        return self._random.random()


class SeededRandom:
    """Reproducible random numbers: they depend on the seed and the arguments, not on the order of the calls."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """Return the number in [0, 1) that the seed and the three arguments determine."""
        return random.Random(f"{self._seed}/{purpose}/{key}/{attempt}").random()


class FixedRandom:
    """Returns the same number each time; 0 disables jitter."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """Return the fixed number."""
        return self.value
