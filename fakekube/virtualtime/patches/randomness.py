"""Seeds the randomness of code in the bubble, so that names and jitter of an operator are the same in each run.

`uuid.uuid4`, `secrets` and `random.SystemRandom` draw from `os.urandom`; the functions of `random` share one generator,
and each `random.Random()` is seeded by the operating system. A draw from `os.urandom` follows from the seed, from where
in the code it is made and from how many were made there: a library that draws only when it is first used in a process
changes no other draw. Code in C (TLS, `cryptography`) is not affected.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.seeds import Seed

#: The modules that draw on behalf of their callers.
_SOURCES = frozenset({"random", "secrets", "uuid", __name__})


def seed_functions(seed: Seed) -> None:
    """Seed the generator of the functions of `random`."""
    random.setstate(seed.random("random").getstate())


class RandomnessPatches:
    """Threads outside the bubble keep the randomness of the operating system."""

    def __init__(self, seed: Seed, blocking: Blocking) -> None:
        self._seed = seed
        self._blocking = blocking
        self._draws: Counter[str] = Counter()
        self._before: object = None

    def patches(self) -> Iterator[Patch]:
        urandom = self._urandom(os.urandom)
        yield Patch(os, "urandom", urandom)
        yield Patch(random, "_urandom", urandom)
        yield Patch(random.Random, "seed", self._seed_of_generator(random.Random.seed))

    def start(self) -> None:
        """Seed the generator of the functions of `random`."""
        self._before = random.getstate()
        seed_functions(self._seed)

    def stop(self) -> None:
        random.setstate(self._before)  # type: ignore[arg-type]

    def _urandom(self, real: Callable[[int], bytes]) -> Callable[[int], bytes]:
        def urandom(size: int, /) -> bytes:
            return self._next("os.urandom").randbytes(size) if self._blocking.concerns() else real(size)

        return urandom

    def _seed_of_generator(self, real: Callable[..., None]) -> Callable[..., None]:
        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and self._blocking.concerns():
                a = self._next("random.Random").random()
            real(generator, a, version)

        return seed

    def _next(self, purpose: str) -> random.Random:
        """A generator for the next draw at the place that calls one of the sources."""
        place = f"{purpose} {_caller()}"
        self._draws[place] += 1
        return self._seed.random(purpose, place, self._draws[place])


def _caller() -> str:
    """The module and the line of the first frame outside the sources of randomness."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _SOURCES:
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__')}:{frame.f_lineno}"
