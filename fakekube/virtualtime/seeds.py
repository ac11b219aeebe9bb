"""One seed, any number of independent draws: each is named, so none depends on who drew before."""

import random
import uuid
import zlib
from dataclasses import dataclass
from hashlib import blake2b

Part = str | int

#: One more than the largest number of seven bytes, the most that a float holds exactly.
_ABOVE = 1 << 56


@dataclass(frozen=True, slots=True)
class Seed:
    """The source of everything random in a bubble.

    Draws are per (purpose, key, attempt), the same in every process and whatever PYTHONHASHSEED is. One shared stream
    would not do: one more draw anywhere would change all that follow.
    """

    value: int = 0

    @classmethod
    def of_name(cls, name: str) -> "Seed":
        """The seed that belongs to a name, for example a test's node id."""
        return cls(zlib.crc32(name.encode()))

    def random(self, purpose: str, key: Part = "", attempt: int = 0) -> random.Random:
        """A generator of its own."""
        return random.Random(self._digest(purpose, key, attempt))

    def float(self, purpose: str, key: Part = "", attempt: int = 0) -> float:
        """A number in [0, 1)."""
        return int.from_bytes(self._digest(purpose, key, attempt)[:7], "big") / _ABOVE

    def uuid(self, purpose: str, key: Part = "", attempt: int = 0) -> uuid.UUID:
        """A UUID in the form of a random one (version 4)."""
        return uuid.UUID(bytes=self._digest(purpose, key, attempt), version=4)

    def _digest(self, purpose: str, key: Part, attempt: int) -> bytes:
        key = str(key)
        # lengths keep ("a", "bc") and ("ab", "c") apart
        name = f"{self.value}:{attempt}:{len(purpose)}:{purpose}:{len(key)}:{key}"
        return blake2b(name.encode(), digest_size=16).digest()
