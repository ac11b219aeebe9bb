"""Rate limiters: the delay of a failed item (client-go: util/workqueue/default_rate_limiters.go).

`when(item, now)` counts a failure and returns the delay in seconds.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from controllerlib.workqueue.tokenbucket import TokenBucket

T = TypeVar("T", bound=Hashable)
T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[T_contra]):
    """A rate limiter (client-go: workqueue.TypedRateLimiter)."""

    def when(self, item: T_contra, now: float) -> float:
        """Count a failure of `item` and return its delay in seconds."""
        ...

    def forget(self, item: T_contra) -> None:
        """Reset the failure count of `item`; unknown items are ignored."""
        ...

    def num_requeues(self, item: T_contra) -> int:
        """Return the failure count of `item`."""
        ...


@dataclass(slots=True)
class ItemExponentialFailureRateLimiter(Generic[T]):
    """`base` * 2**failures seconds per item, at most `cap` (client-go's defaults: 5 ms, 1000 s)."""

    base: float = 0.005
    cap: float = 1000.0
    _failures: dict[T, int] = field(init=False, default_factory=dict)

    def when(self, item: T, now: float) -> float:
        """See RateLimiter."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        return min(self.base * 2.0 ** min(failures, 1000), self.cap)

    def forget(self, item: T) -> None:
        """See RateLimiter."""
        if self._failures:
            self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        """See RateLimiter."""
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
        """See RateLimiter."""
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        return self.fast if failures <= self.attempts else self.slow

    def forget(self, item: T) -> None:
        """See RateLimiter."""
        self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        """See RateLimiter."""
        return self._failures.get(item, 0)


@dataclass(slots=True)
class BucketRateLimiter(Generic[T]):
    """One token bucket for all items; tokens are never returned (client-go's default: 10 per second, burst 100)."""

    bucket: TokenBucket = field(default_factory=lambda: TokenBucket(10.0, 100))

    def when(self, item: T, now: float) -> float:
        """See RateLimiter."""
        return self.bucket.reserve(now)

    def forget(self, item: T) -> None:
        """Do nothing: the bucket does not distinguish items."""

    def num_requeues(self, item: T) -> int:
        """See RateLimiter."""
        return 0


class MaxOfRateLimiter(Generic[T]):
    """The longest delay of several rate limiters; each of them counts the failure.

    Source: client-go, workqueue.MaxOfRateLimiter.
    """

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        self._limiters = limiters

    def when(self, item: T, now: float) -> float:
        """See RateLimiter."""
        return max([limiter.when(item, now) for limiter in self._limiters], default=0.0)

    def forget(self, item: T) -> None:
        """See RateLimiter."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """See RateLimiter."""
        return max((limiter.num_requeues(item) for limiter in self._limiters), default=0)


@dataclass(slots=True)
class WithMaxWaitRateLimiter(Generic[T]):
    """Another rate limiter, limited to `longest` seconds (client-go: workqueue.WithMaxWaitRateLimiter)."""

    limiter: RateLimiter[T]
    longest: float

    def when(self, item: T, now: float) -> float:
        """See RateLimiter."""
        return min(self.limiter.when(item, now), self.longest)

    def forget(self, item: T) -> None:
        """See RateLimiter."""
        self.limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """See RateLimiter."""
        return self.limiter.num_requeues(item)


def default_controller_rate_limiter() -> RateLimiter[Hashable]:
    """Return client-go's default: 5 ms to 1000 s per item, and 10 per second in total with a burst of 100."""
    return MaxOfRateLimiter[Hashable](ItemExponentialFailureRateLimiter(), BucketRateLimiter())


def default_item_based_rate_limiter() -> RateLimiter[Hashable]:
    """Return client-go's default without a token bucket: 1 ms to 1000 s per item."""
    return ItemExponentialFailureRateLimiter[Hashable](0.001, 1000.0)
