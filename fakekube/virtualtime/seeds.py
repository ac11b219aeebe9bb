"""Seeded randomness: any number of independent draws, each by a key, so that none depends on the order of draws."""

import random
import zlib
from functools import lru_cache
from hashlib import blake2b

from fakekube.struct import Struct

Part = str | int

_MASK = (1 << 64) - 1

#: The increment and the multipliers of SplitMix64 (Steele, Lea, Flood 2014).
_STEP, _FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

#: The digit that has the variant of RFC 9562: its two highest bits are 10.
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}

#: How many evenly spaced floats there are in [0, 1).
_ABOVE = 1 << 53


class Seed(Struct, frozen=True):
    """The source of everything random in a bubble.

    A draw depends on (purpose, key, attempt) only, not on the process nor on PYTHONHASHSEED. With one shared stream, an
    additional draw anywhere would change all later ones.
    """

    value: int = 0

    @classmethod
    def of_name(cls, name: str) -> "Seed":
        """The seed derived from a name, for example a test's node id."""
        return cls(zlib.crc32(name.encode()))

    def random(self, purpose: str, key: Part = "", attempt: int = 0) -> random.Random:
        """An independent generator."""
        return random.Random(_digest(self.value, purpose, key, attempt))

    def float(self, purpose: str, key: Part = "", attempt: int = 0) -> float:
        """A number in [0, 1): number `attempt` of the SplitMix64 sequence of this purpose and key."""
        x = (_start(self.value, purpose, key if type(key) is str else str(key)) + attempt * _STEP) & _MASK
        x = ((x ^ x >> 30) * _FACTORS[0]) & _MASK
        x = ((x ^ x >> 27) * _FACTORS[1]) & _MASK
        return ((x ^ x >> 31) >> 11) / _ABOVE

    def uuid(self, purpose: str, key: Part = "", attempt: int = 0) -> str:
        """A UUID of version 4, as text."""
        return uuid_of(_digest(self.value, purpose, key, attempt))


def uuid_of(drawn: bytes) -> str:
    """The UUID of version 4 with these 16 bytes, as text: `uuid.UUID` takes several times as long."""
    text = drawn.hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


def _digest(value: int, purpose: str, key: Part, attempt: int) -> bytes:
    key = str(key)
    # lengths keep ("a", "bc") and ("ab", "c") apart
    name = f"{value}:{attempt}:{len(purpose)}:{purpose}:{len(key)}:{key}"
    return blake2b(name.encode(), digest_size=16).digest()


@lru_cache(maxsize=16_384)
def _start(value: int, purpose: str, key: str) -> int:
    """The initial state of the sequence of a purpose and a key."""
    return int.from_bytes(_digest(value, purpose, key, 0)[:8], "big")
