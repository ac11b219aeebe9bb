"""Seeds the randomness of code in the bubble, so that names and jitter of an operator are the same in each run.

`uuid.uuid4`, `secrets` and `random.SystemRandom` draw from `os.urandom`; the functions of `random` share one generator,
and each `random.Random()` is seeded by the operating system. Code in C (TLS, `cryptography`) is not affected.
"""

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.seeds import Seed


class RandomnessPatches:
    """Threads outside the bubble keep the randomness of the operating system."""

    def __init__(self, seed: Seed, blocking: Blocking) -> None:
        self._seed = seed
        self._blocking = blocking
        self._bytes = seed.random("os.urandom")
        self._generators = 0
        self._before: object = None

    def patches(self) -> Iterator[Patch]:
        urandom = self._urandom(os.urandom)
        yield Patch(os, "urandom", urandom)
        yield Patch(random, "_urandom", urandom)
        yield Patch(random.Random, "seed", self._seed_of_generator(random.Random.seed))

    def start(self) -> None:
        """Seed the generator of the functions of `random`."""
        self._before = random.getstate()
        random.setstate(self._seed.random("random").getstate())

    def stop(self) -> None:
        random.setstate(self._before)  # type: ignore[arg-type]

    def _urandom(self, real: Callable[[int], bytes]) -> Callable[[int], bytes]:
        def urandom(size: int, /) -> bytes:
            return self._bytes.randbytes(size) if self._blocking.concerns() else real(size)

        return urandom

    def _seed_of_generator(self, real: Callable[..., None]) -> Callable[..., None]:
        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and self._blocking.concerns():
                self._generators += 1
                a = self._seed.float("random.Random", attempt=self._generators)
            real(generator, a, version)

        return seed
