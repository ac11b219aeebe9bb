"""Rate limiters of work queues: how long a failed item waits (client-go: util/workqueue/default_rate_limiters.go).

A limiter is told the time: `when(item, now)` counts a failure and returns the delay in seconds.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from controllerlib.workqueue.tokenbucket import TokenBucket

T = TypeVar("T", bound=Hashable)
T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[T_contra]):
    """What a rate limiting queue asks (client-go: workqueue.TypedRateLimiter)."""

    def when(self, item: T_contra, now: float) -> float:
        """Count a failure of `item` and return how long it should wait (seconds)."""
        ...

    def forget(self, item: T_contra) -> None:
        """Stop counting `item`; unknown ones are fine."""
        ...

    def num_requeues(self, item: T_contra) -> int:
        """How many failures of `item` are counted."""
        ...


@dataclass(slots=True)
class ItemExponentialFailureRateLimiter(Generic[T]):
    """`base` * 2**failures seconds for each item, at most `cap` (client-go's defaults: 5 ms, 1000 s)."""

    base: float = 0.005
    cap: float = 1000.0
    _failures: dict[T, int] = field(init=False, default_factory=dict)

    def when(self, item: T, now: float) -> float:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        return min(self.base * 2.0 ** min(failures, 1000), self.cap)

    def forget(self, item: T) -> None:
        if self._failures:
            self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        return self._failures.get(item, 0) if self._failures else 0


@dataclass(slots=True)
class ItemFastSlowRateLimiter(Generic[T]):
    """`fast` seconds for the first `attempts` failures of an item, then `slow`.

    Source: client-go, workqueue.ItemFastSlowRateLimiter.
    """

    fast: float
    slow: float
    attempts: int
    _failures: dict[T, int] = field(init=False, default_factory=dict)

    def when(self, item: T, now: float) -> float:
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        return self.fast if failures <= self.attempts else self.slow

    def forget(self, item: T) -> None:
        self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        return self._failures.get(item, 0)


@dataclass(slots=True)
class BucketRateLimiter(Generic[T]):
    """One token bucket for all items; tokens never come back (client-go's default: 10 per second, burst 100)."""

    bucket: TokenBucket = field(default_factory=lambda: TokenBucket(10.0, 100))

    def when(self, item: T, now: float) -> float:
        return self.bucket.reserve(now)

    def forget(self, item: T) -> None:
        """Nothing to forget: the bucket does not know items."""

    def num_requeues(self, item: T) -> int:
        return 0


class MaxOfRateLimiter(Generic[T]):
    """Asks every limiter (so each counts, or spends a token) and takes the longest delay.

    Source: client-go, workqueue.MaxOfRateLimiter.
    """

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        self._limiters = limiters

    def when(self, item: T, now: float) -> float:
        return max([limiter.when(item, now) for limiter in self._limiters], default=0.0)

    def forget(self, item: T) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return max((limiter.num_requeues(item) for limiter in self._limiters), default=0)


@dataclass(slots=True)
class WithMaxWaitRateLimiter(Generic[T]):
    """Another limiter, but never longer than `longest` seconds (client-go: workqueue.WithMaxWaitRateLimiter)."""

    limiter: RateLimiter[T]
    longest: float

    def when(self, item: T, now: float) -> float:
        return min(self.limiter.when(item, now), self.longest)

    def forget(self, item: T) -> None:
        self.limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return self.limiter.num_requeues(item)


def default_controller_rate_limiter() -> RateLimiter[Hashable]:
    """client-go's default: 5 ms to 1000 s per item, and 10 per second with a burst of 100 over all."""
    return MaxOfRateLimiter[Hashable](ItemExponentialFailureRateLimiter(), BucketRateLimiter())


def default_item_based_rate_limiter() -> RateLimiter[Hashable]:
    """client-go's default without a bucket: 1 ms to 1000 s per item."""
    return ItemExponentialFailureRateLimiter[Hashable](0.001, 1000.0)
