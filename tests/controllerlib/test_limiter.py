"""Rate limiters: the delay of the n-th failure."""

from collections.abc import Sequence

import pytest

from controllerlib.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from controllerlib.workqueue.tokenbucket import TokenBucket

MS = 0.001


def delays(limiter: RateLimiter[str], count: int, item: str = "one") -> list[float]:
    return [limiter.when(item, 0.0) for _ in range(count)]


def exponential(base: float, cap: float) -> ItemExponentialFailureRateLimiter[str]:
    return ItemExponentialFailureRateLimiter(base, cap)


def test_rl_01_each_item_doubles_by_itself() -> None:
    limiter = exponential(MS, 1.0)
    assert delays(limiter, 5) == pytest.approx([0.001, 0.002, 0.004, 0.008, 0.016])
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, 2, "two") == pytest.approx([0.001, 0.002])


def test_rl_02_forget_starts_over() -> None:
    limiter = exponential(MS, 1.0)
    delays(limiter, 5), delays(limiter, 2, "two")
    limiter.forget("one")
    assert [limiter.num_requeues("one"), limiter.when("one", 0.0), limiter.num_requeues("two")] == [0, MS, 2]


@pytest.mark.parametrize(
    ("base", "cap", "call", "delay"),
    [
        pytest.param(MS, 1000.0, 6, 0.032, id="RL-03-sixth"),
        pytest.param(MS, 1000.0, 1001, 1000.0, id="RL-03-no-overflow"),
        pytest.param(60.0, 3_600_000.0, 3, 240.0, id="RL-04-third"),
        pytest.param(60.0, 3_600_000.0, 1001, 3_600_000.0, id="RL-04-no-overflow"),
        pytest.param(0.005, 1000.0, 18, 655.36, id="RL-05-18th"),
        pytest.param(0.005, 1000.0, 19, 1000.0, id="RL-05-19th"),
    ],
)
def test_the_nth_delay(base: float, cap: float, call: int, delay: float) -> None:
    assert delays(exponential(base, cap), call)[-1] == pytest.approx(delay, rel=1e-12)


def test_rl_06_fast_then_slow() -> None:
    limiter = ItemFastSlowRateLimiter[str](0.005, 10.0, 3)
    assert delays(limiter, 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.num_requeues("one") == 5
    limiter.forget("one")
    assert limiter.when("one", 0.0) == 0.005


def test_rl_07_the_longest_of_several() -> None:
    limiter = MaxOfRateLimiter[str](ItemFastSlowRateLimiter(0.005, 3.0, 3), exponential(MS, 1.0))
    assert delays(limiter, 5) == [0.005, 0.005, 0.005, 3.0, 3.0]
    assert limiter.num_requeues("one") == 5
    limiter.forget("one")
    assert [limiter.num_requeues("one"), limiter.when("one", 0.0)] == [0, 0.005]


def test_rl_08_never_longer_than() -> None:
    limiter = WithMaxWaitRateLimiter[str](ItemFastSlowRateLimiter(0.005, 1000.0, 100), 500.0)
    assert delays(limiter, 101) == [0.005] * 100 + [500.0]


def test_rl_09_the_default_lets_a_hundred_through() -> None:
    limiter = default_controller_rate_limiter()
    found = [limiter.when(f"item-{number}", 0.0) for number in range(102)]
    assert found == [0.005] * 100 + [0.1, 0.2]


def test_rl_10_one_item_spends_tokens_too() -> None:
    bucket = TokenBucket(10.0, 100)
    limiter = MaxOfRateLimiter[str](ItemExponentialFailureRateLimiter(), BucketRateLimiter(bucket))
    assert delays(limiter, 5) == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert bucket.level(0.0) == 95


def test_rl_11_a_deficit_is_paid_first() -> None:
    limiter = BucketRateLimiter[str]()
    delays(limiter, 110)
    assert limiter.when("one", 1.0) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "limiter",
    [
        default_controller_rate_limiter(),
        default_item_based_rate_limiter(),
        WithMaxWaitRateLimiter(exponential(1, 2), 1),
    ],
    ids=["default", "item-based", "max-wait"],
)
def test_rl_12_forgetting_the_unknown(limiter: RateLimiter[str]) -> None:
    limiter.forget("never seen")
    assert limiter.num_requeues("never seen") == 0


def test_defaults_are_those_of_client_go() -> None:
    found: Sequence[float] = delays(ItemExponentialFailureRateLimiter(), 3)
    assert found == [0.005, 0.01, 0.02]
    assert default_item_based_rate_limiter().when("a", 0.0) == 0.001
