"""Random numbers, injected: reproducible under a seed (the order of drawing does not matter)."""

import random
from typing import Protocol

__all__ = ["FixedRandom", "Random", "SeededRandom", "SystemRandom"]


class Random(Protocol):
    """A source of draws that do not depend on the order of drawing."""

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """A number in [0, 1) for the `attempt`-th draw for `key` and `purpose`."""
        ...


class SystemRandom:
    """The machine's own randomness: another number at each call."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """A number in [0, 1), a new one at each call."""
        return self._random.random()


class SeededRandom:
    """The same draws for the same seed, whatever the order in which they are asked for."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """A number in [0, 1) that depends on the seed and the three arguments only."""
        return random.Random(f"{self._seed}/{purpose}/{key}/{attempt}").random()


class FixedRandom:
    """Always the same fraction (0: no jitter at all)."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        """The fixed number."""
        return self.value
