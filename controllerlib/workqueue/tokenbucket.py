"""A token bucket: at most `burst` tokens, refilled by `qps` per second (golang.org/x/time/rate, client-go:
flowcontrol).
"""

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenBucket:
    """Initially full. A reservation may take the level below zero; its delay is the time to refill the deficit."""

    qps: float
    burst: int
    _level: float = field(init=False)
    _at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._level = float(self.burst)

    def level(self, now: float) -> float:
        """Return the number of tokens at `now`; negative while reservations wait."""
        if self._at is None:
            return self._level
        return min(float(self.burst), self._level + max(0.0, now - self._at) * self.qps)

    def try_accept(self, now: float) -> bool:
        """Take a token if there is one."""
        level = self.level(now)
        if level < 1:
            return False
        self._level, self._at = level - 1, now
        return True

    def reserve(self, now: float, tokens: int = 1) -> float:
        """Take `tokens` and return the delay in seconds; above `burst` nothing is taken and the delay is infinite."""
        if tokens > self.burst:
            return math.inf
        self._level, self._at = self.level(now) - tokens, now
        # rounded to nanoseconds like a Go duration; otherwise sums of 1/qps drift
        return max(0.0, round(-self._level / self.qps, 9))
