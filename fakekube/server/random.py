"""Randomness for uids, generated names and jitter: seeded in tests, from the operating system otherwise."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Protocol

from fakekube.virtualtime.seeds import Seed, uuid_of

#: The characters of generated names: no vowels, and none that are easily confused (apimachinery `util/rand`).
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


class Random(Protocol):
    """Random values by key (and purpose), so that no value depends on those drawn for other keys."""

    def uid(self, key: str) -> str: ...

    def suffix(self, key: str) -> str: ...

    def fraction(self, purpose: str, key: str) -> float: ...


class SeededRandom:
    """Random values that depend only on the seed, the key and how often it was used before."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed
        self._attempts: Counter[tuple[str, str]] = Counter()

    def _attempt(self, purpose: str, key: str) -> int:
        attempts, place = self._attempts, (purpose, key)
        attempts[place] = attempt = attempts.get(place, 0) + 1  # faster than += of a Counter
        return attempt

    @property
    def attempts(self) -> Counter[tuple[str, str]]:
        """How often each purpose and key was used: a copy, with which `resume` continues."""
        return self._attempts.copy()

    def resume(self, attempts: Counter[tuple[str, str]], *, keep: bool = False) -> None:
        """Continue after these attempts. keep: after the later ones of both, so that no value is drawn again."""
        self._attempts = self._attempts | attempts if keep else attempts.copy()

    def uid(self, key: str) -> str:
        return self._seed.uuid("uid", key, self._attempt("uid", key))

    def suffix(self, key: str) -> str:
        draw = self._seed.random("suffix", key, self._attempt("suffix", key))
        return "".join(draw.choices(ALPHABET, k=SUFFIX_LENGTH))

    def fraction(self, purpose: str, key: str) -> float:
        return self._seed.float(purpose, key, self._attempt(purpose, key))


class SystemRandom:
    """Random values of the operating system."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def uid(self, key: str) -> str:
        return uuid_of(os.urandom(16))

    def suffix(self, key: str) -> str:
        return "".join(self._random.choices(ALPHABET, k=SUFFIX_LENGTH))

    def fraction(self, purpose: str, key: str) -> float:
        return self._random.random()
