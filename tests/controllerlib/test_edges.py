"""Boundaries and defaults of rate limiters, backoffs, correlation of events, finalizers and listeners of informers."""

from collections.abc import Sequence
from typing import Any

import pytest

from controllerlib.backoff import Backoff, DelayWithReset, KeyedBackoff, jitter, no_jitter
from controllerlib.cache.factory import NotSynced
from controllerlib.controller.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from controllerlib.controller.invocation import Caller
from controllerlib.record.correlator import Correlator, CorrelatorOptions
from controllerlib.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)


def whens(limiter: Any, count: int, item: str = "a", now: float = 0.0) -> list[float]:
    return [limiter.when(item, now) for _ in range(count)]


def test_the_delays_of_each_rate_limiter() -> None:
    assert whens(default_item_based_rate_limiter(), 3) == [0.001, 0.002, 0.004]
    assert whens(default_item_based_rate_limiter(), 30)[-1] == 1000.0
    assert whens(default_controller_rate_limiter(), 3) == [0.005, 0.01, 0.02]
    assert whens(default_controller_rate_limiter(), 30)[-1] == 1000.0
    assert whens(ItemExponentialFailureRateLimiter[str](1.0, 5.0), 5) == [1, 2, 4, 5, 5]
    assert whens(ItemExponentialFailureRateLimiter[str](), 2000)[-1] == 1000.0
    assert whens(ItemFastSlowRateLimiter[str](1.0, 9.0, 2), 4) == [1, 1, 9, 9]
    bucket = BucketRateLimiter[str]()
    assert whens(bucket, 100) == [0.0] * 100
    assert whens(bucket, 3) == pytest.approx([0.1, 0.2, 0.3])
    assert whens(WithMaxWaitRateLimiter[str](ItemExponentialFailureRateLimiter(1.0, 100.0), 3.0), 4) == [1, 2, 3, 3]
    slow, fast = ItemFastSlowRateLimiter[str](7.0, 8.0, 1), ItemFastSlowRateLimiter[str](1.0, 9.0, 1)
    assert whens(MaxOfRateLimiter[str](slow, fast), 2) == [7, 9]
    assert (MaxOfRateLimiter[str]().when("a", 0.0), MaxOfRateLimiter[str]().num_requeues("a")) == (0.0, 0)


@pytest.mark.parametrize(
    "limiter",
    [
        ItemExponentialFailureRateLimiter[str](),
        ItemFastSlowRateLimiter[str](1.0, 2.0, 3),
        WithMaxWaitRateLimiter[str](ItemExponentialFailureRateLimiter(), 1.0),
        MaxOfRateLimiter[str](BucketRateLimiter(), ItemExponentialFailureRateLimiter()),
    ],
    ids=lambda limiter: type(limiter).__name__,
)
def test_failures_are_counted_for_each_item_until_it_is_forgotten(limiter: Any) -> None:
    assert limiter.num_requeues("a") == 0
    limiter.forget("a")
    whens(limiter, 2)
    whens(limiter, 1, "b")
    assert (limiter.num_requeues("a"), limiter.num_requeues("b"), limiter.num_requeues("c")) == (2, 1, 0)
    limiter.forget("a")
    limiter.forget("c")
    assert (limiter.num_requeues("a"), limiter.num_requeues("b")) == (0, 1)


def test_a_bucket_counts_no_failures() -> None:
    limiter = BucketRateLimiter[str]()
    whens(limiter, 2)
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_jitter_extends_a_delay_by_up_to_its_factor() -> None:
    assert [jitter(2.0, factor, 0.5) for factor in (0.5, 1.0, 0.0, -1.0, 3.0)] == [2.5, 3.0, 3.0, 3.0, 5.0]
    assert no_jitter(3) == 0.0


@pytest.mark.parametrize(
    ("backoff", "fraction", "delays", "steps"),
    [
        (Backoff(1.0), 0.5, [1, 1, 1], 0),
        (Backoff(1.0, 2.0), 0.0, [1, 1, 1], 0),
        (Backoff(1.0, 2.0, 0.0, 1), 0.0, [1, 2, 2], 0),
        (Backoff(1.0, 2.0, 0.0, 9), 0.0, [1, 2, 4], 6),
        (Backoff(1.0, 2.0, 0.0, 9, 2.0), 0.0, [1, 2, 2], 0),
        (Backoff(1.0, 2.0, 0.0, 9, 8.0), 0.0, [1, 2, 4], 6),
        (Backoff(2.0, 3.0, 0.5, 9), 0.5, [2.5, 7.5, 22.5], 6),
        (Backoff(2.0, 0.0, 0.0, 5), 0.0, [2, 2, 2], 2),
    ],
)
def test_the_steps_of_a_backoff(backoff: Backoff, fraction: float, delays: Sequence[float], steps: int) -> None:
    copy = backoff.copy()
    assert copy == backoff
    assert [backoff.step(fraction) for _ in range(3)] == pytest.approx(delays)
    assert backoff.steps == steps
    assert [copy.step(fraction) for _ in range(3)] == pytest.approx(delays), "a copy is independent"


def test_a_delay_with_reset_restarts_periodically() -> None:
    delay = DelayWithReset(Backoff(1.0, 2.0, 1.0, 9), 10.0, 5.0)
    assert delay.calls == 0
    assert [delay.next(at) for at in (5.0, 6.0, 15.0, 15.5, 25.5, 26.0)] == [1, 2, 4, 1, 2, 1]
    assert delay.calls == 6
    assert delay.next(26.0, 0.5) == 3.0
    every = DelayWithReset(Backoff(1.0, 2.0, 0.0, 9), 0.0, 0.0)
    assert [every.next(0.0), every.next(0.0), every.next(9.0)] == [1, 1, 1]
    constant = DelayWithReset(Backoff(1.0, 0.0, 0.0, 9), 0.0, 0.0)
    assert [constant.next(0.0), constant.next(99.0)] == [1, 1]
    assert "calls=2" in repr(constant)
    with pytest.raises(TypeError):
        DelayWithReset(Backoff(1.0), 0.0, 0.0, 5)  # type: ignore[call-arg]


def test_the_boundaries_of_a_backoff_per_key() -> None:
    backoff = KeyedBackoff(2.0, 10.0)
    assert not backoff.is_in_backoff_since("a", 0.0, 0.0)
    assert not backoff.is_in_backoff_since_update("a", 0.0)
    backoff.next("a", 0.0, 0.0)
    assert backoff.get("a") == 2.0
    assert [backoff.is_in_backoff_since("a", 0.0, now) for now in (1.9, 2.0)] == [True, False]
    assert [backoff.is_in_backoff_since_update("a", at) for at in (1.9, 2.0, 21.0)] == [True, False, False]
    assert not backoff.is_in_backoff_since("a", 20.5, 20.5)
    backoff.collect(20.0)
    assert "a" in backoff
    backoff.next("a", 20.0, 20.0)
    assert backoff.get("a") == 4.0
    backoff.next("a", 40.5, 41.0)
    assert backoff.get("a") == 2.0
    backoff.collect(61.0)
    assert "a" in backoff
    backoff.collect(61.1)
    assert "a" not in backoff
    eager = KeyedBackoff(1.0, 9.0, expired=lambda event, updated, longest: event - updated > longest)
    eager.next("a", 0.0, 0.0)
    assert not eager.is_in_backoff_since("a", 9.5, 9.5)
    draws: list[int] = []

    def fraction(number: int) -> float:
        draws.append(number)
        return 0.5

    jittered = KeyedBackoff(4.0, 100.0, jitter=0.5, fraction=fraction)
    jittered.next("a", 0.0, 0.0)
    jittered.next("a", 0.0, 0.0)
    assert (jittered.get("a"), draws) == (5.0 * 2 + 5.0 * 0.25, [1, 2])


def event(message: str = "m", **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "d", "name": "p", "uid": "u", "apiVersion": "v1"}
    made = {"metadata": {"name": f"p.{message}", "namespace": "d"}, "involvedObject": about, "count": 1}
    stamps = {"firstTimestamp": "first", "lastTimestamp": "last"}
    return {**made, **stamps, "reason": "R", "message": message, "type": "Normal", **fields}


def test_the_defaults_of_a_correlator() -> None:
    options = CorrelatorOptions()
    assert (options.max_events, options.max_interval, options.burst, options.size) == (10, 600.0, 25, 4096)
    assert 1 / options.qps == pytest.approx(300.0)
    assert 1 / options.qps < 300.0, "one event is allowed after exactly 300 s"


@pytest.mark.parametrize("count", [0, None])
def test_an_event_that_was_not_counted_is_created_again(count: int | None) -> None:
    correlator = Correlator()
    correlator.update(event(count=count))
    found = correlator.correlate(event(), 0.0, 0)
    assert found is not None
    assert (found.patch, found.event["count"]) == (None, 1)


@pytest.mark.parametrize("version", ["", "7"])
def test_an_event_that_was_stored_is_patched(version: str) -> None:
    correlator = Correlator()
    correlator.update(event(count=4, firstTimestamp="begin", metadata={"name": "stored", "resourceVersion": version}))
    found = correlator.correlate(event(lastTimestamp="now"), 0.0, 0)
    assert found is not None
    assert found.patch == {"count": 5, "lastTimestamp": "now", "message": "m"}
    assert (found.event["firstTimestamp"], found.event["metadata"]["name"]) == ("begin", "stored")
    assert found.event["metadata"].get("resourceVersion", "") == version


def test_an_aggregate_of_similar_events() -> None:
    correlator = Correlator(CorrelatorOptions(max_events=3, max_interval=10.0))
    plain = [correlator.correlate(event(f"m{number}", source={"host": "h"}), number * 10.0, 255) for number in range(3)]
    assert [one.event["message"] for one in plain if one] == ["m0", "m1", "(combined from similar events): m2"]
    last = plain[2]
    assert last is not None
    assert last.event["metadata"] == {"name": "p.ff", "namespace": "d"}
    assert (last.event["count"], last.event["source"], last.patch) == (1, {"host": "h"}, None)
    assert last.event["firstTimestamp"] == last.event["lastTimestamp"] == "1970-01-01T00:00:00Z"
    later = correlator.correlate(event("m3"), 30.1, 255)
    assert later is not None
    assert later.event["message"] == "m3", "the interval has passed"


def test_finalizers_are_added_and_removed_in_copies() -> None:
    empty: Sequence[dict[str, Any]] = ({}, {"metadata": None}, {"metadata": {}}, {"metadata": {"finalizers": None}})
    for bare in empty:
        assert not contains_finalizer(bare, "a")
        assert add_finalizer(bare, "a") == ({"metadata": {"finalizers": ["a"]}}, True)
        assert remove_finalizer(bare, "a") == (bare, False)
    obj = {"kind": "X", "metadata": {"name": "x", "finalizers": ["a"]}}
    both, added = add_finalizer(obj, "b")
    assert (both, added) == ({"kind": "X", "metadata": {"name": "x", "finalizers": ["a", "b"]}}, True)
    assert add_finalizer(both, "a") == (both, False)
    assert remove_finalizer(both, "a") == ({"kind": "X", "metadata": {"name": "x", "finalizers": ["b"]}}, True)
    assert obj["metadata"] == {"name": "x", "finalizers": ["a"]}


def test_informers_that_have_not_synced_are_named_in_order() -> None:
    error = NotSynced(["b", "a", "c"], "timeout")
    assert error.types == ["a", "b", "c"]
    assert str(error) == "failed to sync all caches: a, b, c: timeout"


def test_what_can_reconcile() -> None:
    class Reconciler:
        def reconcile(self, request: Any) -> None: ...

    class Callable:
        def __init__(self, request: Any) -> None: ...

    assert Caller(Reconciler(), None, 1).function.__name__ == "reconcile"
    assert Caller(Callable, None, 1).function is Callable, "a class without the method is called like a function"
    with pytest.raises(TypeError, match="must be an instance of Reconciler, not the class"):
        Caller(Reconciler, None, 1)
    with pytest.raises(TypeError, match="is not callable and has no method reconcile"):
        Caller(3, None, 1)
