"""Delays between attempts: wait.Backoff, its periodic reset, and client-go's backoff per key."""

from collections.abc import Callable
from dataclasses import dataclass, field

#: Returns a random number in [0, 1) for the n-th step.
Fraction = Callable[[int], float]


def no_jitter(attempt: int) -> float:
    """Return 0: a backoff without jitter."""
    return 0.0


def jitter(duration: float, factor: float, fraction: float) -> float:
    """Return `duration` plus up to `factor` of it; a factor of 0 or less counts as 1 (wait.Jitter)."""
    return duration + fraction * (factor if factor > 0 else 1.0) * duration


@dataclass(slots=True)
class Backoff:
    """A sequence of delays in seconds: `duration`, multiplied by `factor` each step, at most `cap` (wait.Backoff).

    Below 1 `steps` the delay stays constant; reaching `cap` sets `steps` to 0. A `factor` of 0 means constant. `jitter`
    extends the returned delay only, never the sequence.
    """

    duration: float
    factor: float = 0.0
    jitter: float = 0.0
    steps: int = 0
    cap: float = 0.0

    def step(self, fraction: float = 0.0) -> float:
        """Return the current delay and advance to the next one."""
        current = self.duration
        if self.steps >= 1:
            self.steps -= 1
            if self.factor != 0:
                following = current * self.factor
                if 0 < self.cap < following:
                    following, self.steps = self.cap, 0
                self.duration = following
        return current + fraction * max(self.jitter, 0.0) * current

    def copy(self) -> "Backoff":
        """Return an independent backoff with the same parameters."""
        return Backoff(self.duration, self.factor, self.jitter, self.steps, self.cap)


#: The backoff of client-go's reflector: 0.8 s, doubling up to 30 s, each extended by up to its own length.
REFLECTOR = Backoff(duration=0.8, factor=2.0, jitter=1.0, steps=38, cap=30.0)


@dataclass(slots=True)
class DelayWithReset:
    """The delays of `backoff`, restarted when more than `interval` seconds have passed since the last restart.

    The reset is periodic and does not depend on idle time: even a permanent failure returns to the first delay
    (wait.Backoff.DelayWithReset, client-go 0.36). `created` is the time of construction.
    """

    backoff: Backoff
    interval: float
    created: float
    _current: Backoff = field(init=False)
    _since: float = field(init=False)
    calls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._current, self._since = self.backoff.copy(), self.created

    def next(self, now: float, fraction: float = 0.0) -> float:
        """Return the next delay in seconds."""
        self.calls += 1
        if self.interval <= 0:
            return self.backoff.copy().step(fraction)
        if now - self._since > self.interval:
            self._current, self._since = self.backoff.copy(), now
        return self._current.step(fraction)


@dataclass(slots=True)
class _KeyState:
    backoff: float
    updated: float


#: Takes the time of the event, the time of the last update and the longest backoff; returns whether the key has
#: expired.
Expiry = Callable[[float, float, float], bool]


def _expired(event: float, updated: float, longest: float) -> bool:
    return event - updated > 2 * longest


class KeyedBackoff:
    """A backoff per key (client-go: util/flowcontrol.Backoff). Times and durations are seconds."""

    def __init__(
        self,
        initial: float,
        longest: float,
        *,
        jitter: float = 0.0,
        fraction: Fraction = no_jitter,
        expired: Expiry = _expired,
    ) -> None:
        """`longest` does not limit `initial`. `expired` decides when a key starts over, by default after 2 * `longest`
        idle.
        """
        self._initial, self._longest, self._jitter = initial, longest, jitter
        self._fraction, self._expired = fraction, expired
        self._states: dict[str, _KeyState] = {}
        self._draws = 0

    def get(self, key: str) -> float:
        """Return the current backoff of `key`; 0 if it is unknown."""
        state = self._states.get(key)
        return state.backoff if state else 0.0

    def next(self, key: str, event: float, now: float) -> None:
        """Advance the backoff of `key` for an event at time `event`."""
        state = self._states.get(key)
        if state is None or self._expired(event, state.updated, self._longest):
            self._states[key] = _KeyState(self._initial + self._stretch(self._initial), now)
            return
        state.backoff = min(state.backoff * 2 + self._stretch(state.backoff), self._longest)
        state.updated = now

    def is_in_backoff_since(self, key: str, event: float, now: float) -> bool:
        """Return whether less than the backoff of `key` has passed between `event` and now."""
        state = self._states.get(key)
        if state is None or self._expired(event, state.updated, self._longest):
            return False
        return now - event < state.backoff

    def is_in_backoff_since_update(self, key: str, event: float) -> bool:
        """Return whether `event` is within the backoff of `key`, counted from its last update."""
        state = self._states.get(key)
        if state is None or self._expired(event, state.updated, self._longest):
            return False
        return event - state.updated < state.backoff

    def reset(self, key: str) -> None:
        """Remove `key`."""
        self._states.pop(key, None)

    def collect(self, now: float) -> None:
        """Remove every expired key (flowcontrol's GC)."""
        for key in [k for k, e in self._states.items() if self._expired(now, e.updated, self._longest)]:
            del self._states[key]

    def __contains__(self, key: str) -> bool:
        return key in self._states

    def _stretch(self, delay: float) -> float:
        if self._jitter <= 0:
            return 0.0
        self._draws += 1
        return self._fraction(self._draws) * self._jitter * delay
