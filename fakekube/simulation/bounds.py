"""How much a run may do: many times what the reference does, so that one that never ends is a finding and no hang."""

from __future__ import annotations

from dataclasses import dataclass, field

#: A run may do so many times what the reference does, and so much more: in one virtual second, and in all.
FACTOR, MORE_AT_ONCE, MORE = 10, 2_000, 10_000

#: The same of real time, in seconds. A run that takes longer is not judged.
_REAL_FACTOR, _REAL_MORE = 50, 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run has done: requests of operators, and steps, which are their reconciles and the events they get.

    at_once: the most requests within one virtual second. seconds: of virtual time. real: seconds of real time.
    """

    requests: int = 0
    steps: int = 0
    at_once: int = 0
    seconds: float = 0.0
    real: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a run, by the cost of the reference.

    failing: the controllers and keys of reconciles that fail in the reference, too: nothing waits for their retries.
    """

    reference: Cost
    failing: frozenset[tuple[str, str]] = frozenset()

    def requests(self, seconds: float) -> int:
        """The most requests in a run that has taken so many virtual seconds."""
        return self._in_all(self.reference.requests, seconds)

    def steps(self, seconds: float) -> int:
        """The most steps in a run that has taken so many virtual seconds."""
        return self._in_all(self.reference.steps, seconds)

    def _in_all(self, usual: int, seconds: float) -> int:
        longer = max(1.0, seconds / self.reference.seconds) if self.reference.seconds else 1.0
        return int((FACTOR * usual + MORE) * longer)

    @property
    def at_once(self) -> int:
        """The most requests within one virtual second."""
        return FACTOR * self.reference.at_once + MORE_AT_ONCE

    @property
    def real(self) -> float:
        """The most seconds of real time."""
        return _REAL_FACTOR * self.reference.real + _REAL_MORE
