"""The priority queue: one entry per key, highest priority first."""

import asyncio
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib.clock import SystemClock, sleep
from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.registry import Registry
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queue import WorkQueue, priority_queue
from controllerlib.workqueue.ratelimiters import ItemExponentialFailureRateLimiter
from tests.controllerlib.script import play


class Metered:
    """The state of a queue with its metrics."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.state: PriorityQueueState[str] = PriorityQueueState(
            metrics=WorkQueueMetrics(self.registry, "q", priorities=True)
        )

    def play(self, script: str) -> "Metered":
        play(self.state, script)
        return self

    def depth(self, priority: int) -> float:
        return self.registry.value("workqueue_depth", "q", "q", str(priority))

    @property
    def adds(self) -> float:
        return self.registry.value("workqueue_adds_total", "q", "q")

    @property
    def retries(self) -> float:
        return self.registry.value("workqueue_retries_total", "q", "q")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("+foo +bar >foo >bar", id="PQ-02"),
        pytest.param("+foo >foo +foo +bar >bar +baz .foo >foo >baz", id="PQ-04"),
        pytest.param("+foo >foo +foo #1 >- .foo >foo", id="PQ-06"),
        pytest.param("+foo!2 +foo!1 >foo!2", id="PQ-08"),
        pytest.param("+foo +bar!1 +foo!1 >bar >foo", id="PQ-10"),
        pytest.param("+foo +foo@3600 >foo .foo t3600 >-", id="PQ-11"),
        pytest.param("+foo@60 t10 +foo >foo .foo t60 >-", id="PQ-12"),
        pytest.param("+foo@10 +foo@20 t9 >- t10 >foo .foo t20 >-", id="PQ-13"),
        pytest.param("+foo@20 +foo@10 t9 >- t10 >foo .foo t20 >-", id="PQ-13-reversed"),
        pytest.param("+foo@1 +bar@.2 t1 >bar >foo", id="PQ-15"),
        pytest.param("+foo~@1 t.004 >- t.005 >foo", id="PQ-20"),
        pytest.param("+foo~@-1 #1 >foo", id="PQ-21"),
        pytest.param("+baz ! +foo@1 >- >- #0 ! t9 >-", id="PQ-22"),
        pytest.param("+x@10 +b +c +x >x >b >c", id="PQ-26-added"),
        pytest.param("+x@10 +b +c t10 >b >c >x", id="PQ-26-ripened"),
        pytest.param("+x@10!-100 +x >x!0", id="PQ-27"),
        pytest.param("+a!9 >a +a!9 +b >b >- .a >a!9", id="PQ-28"),
        pytest.param("+a@5!1 +b@5!2 +c@5!2 t5 >b >c >a", id="ripening-ties-by-priority"),
    ],
)
def test_scripts(script: str) -> None:
    play(PriorityQueueState(), script)


def test_pq_01_one_add() -> None:
    queue = Metered().play("+foo >foo")
    assert [queue.depth(0), queue.adds, queue.retries] == [0, 1, 0]


def test_pq_03_a_locked_key_is_not_handed_out() -> None:
    queue = Metered().play("+foo >foo +foo +bar >bar")
    assert [queue.depth(0), queue.adds] == [1, 3]


def test_pq_05_adding_twice_is_adding_once() -> None:
    queue = Metered().play("+foo +foo #1")
    assert queue.adds == 1


def test_pq_07_the_higher_priority_wins() -> None:
    queue = Metered().play("+foo!1 +foo!2 >foo!2")
    assert [queue.depth(1), queue.depth(2), queue.adds] == [0, 0, 1]


def test_pq_09_raised_above_the_others() -> None:
    queue = Metered().play("+foo +bar +baz +baz!1 >baz")
    assert [queue.depth(0), queue.depth(1)] == [2, 0]


async def test_pq_14_a_getter_is_released_at_the_deadline() -> None:
    registry = Registry()
    queue: WorkQueue[str] = priority_queue(metrics=WorkQueueMetrics(registry, "q", priorities=True))
    queue.add_after("foo", 1)
    assert await queue.get() == "foo"
    assert asyncio.get_running_loop().time() == 1.0
    assert registry.value("workqueue_adds_total", "q", "q") == 1
    assert registry.value("workqueue_retries_total", "q", "q") == 1
    histogram = registry.histogram("workqueue_queue_duration_seconds", "q", "q")
    assert [histogram.count, histogram.sum] == [1, 0.0]


def test_pq_16_an_item_that_became_due_with_high_priority_is_first() -> None:
    queue = Metered().play("+low!-100 +high@1 t1 >high")
    assert [queue.depth(-100), queue.depth(0)] == [1, 0]


@pytest.mark.parametrize("after", [-1, 0, 1], ids=lambda after: f"PQ-17-after-{after}")
def test_by_priority_then_by_insertion(after: int) -> None:
    queue, order = Metered(), []
    for number in range(1000):
        for priority in range(5):
            queue.state.add(f"{priority}-{number}", 0.0, after, priority=priority)
    while (work := queue.state.pop(1.0)) is not None:
        order.append(work.item)
    assert order == [f"{priority}-{number}" for priority in (4, 3, 2, 1, 0) for number in range(1000)]
    assert queue.retries == (5000 if after > 0 else 0)


def test_pq_18_waiting_entries_do_not_count() -> None:
    queue = Metered().play("+foo@.5 +bar@.5 +baz +bal #2")
    assert queue.depth(0) == 2
    queue.play("t.5 #4")
    assert queue.depth(0) == 4


def test_pq_19_each_key_has_its_own_failures() -> None:
    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter()
    for _ in range(7):
        limiter.when("bar", 0.0)
    state = PriorityQueueState(limiter)
    state.add("foo", 0.0, rate_limited=True), state.add("bar", 0.0, rate_limited=True)
    assert dict(state.waiting()) == {"foo": 0.005, "bar": 0.64}


def test_pq_21_counts_a_failure_all_the_same() -> None:
    state: PriorityQueueState[str] = PriorityQueueState()
    state.add("foo", 0.0, -1.0, rate_limited=True)
    assert [state.length(0.0), state.limiter.num_requeues("foo")] == [1, 1]


async def test_pq_23_shutting_down_wakes_getters() -> None:
    queue: WorkQueue[str] = priority_queue()
    getter = asyncio.create_task(queue.get())
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    queue.shut_down()
    assert await getter is None


def test_pq_24_due_and_added_again() -> None:
    queue = Metered().play("+x@.05 t.05 +x #1")
    assert [queue.depth(0), queue.adds] == [1, 1]


def test_pq_25_waiting_and_then_added_without_a_delay() -> None:
    queue = Metered().play("+foo@3600 +foo!1 #1")
    assert queue.depth(1) == 1
    queue.play(">foo!1")


def test_pq_29_failures_are_counted_at_once() -> None:
    state: PriorityQueueState[str] = PriorityQueueState()
    state.add("x", 0.0, rate_limited=True)
    assert state.limiter.num_requeues("x") == 1
    state.shut_down()
    state.add("x", 0.0, rate_limited=True)
    assert state.limiter.num_requeues("x") == 1, "a closed queue counts nothing"


@pytest.mark.parametrize("seed", range(5), ids=lambda seed: f"PQ-30-{seed}")
async def test_shutting_down_at_any_time(seed: int) -> None:
    queue: WorkQueue[str] = priority_queue()
    draws = random.Random(seed)

    async def work(number: int) -> None:
        while (item := await queue.get()) is not None:
            await sleep(SystemClock(), draws.random() / 100)
            queue.add(f"item{number}", after=draws.choice([0.0, 0.001, 0.01]))
            queue.done(item)

    workers = [asyncio.create_task(work(number)) for number in range(20)]
    for number in range(20):
        queue.add(f"item{number}")
    await sleep(SystemClock(), draws.random())
    queue.shut_down()
    await asyncio.gather(*workers)


Steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "get", "done", "tick"]),
        st.integers(0, 4),
        st.sampled_from([0.0, 0.0, 1.0, 3.0]),
        st.integers(-2, 2),
    ),
    max_size=60,
)


class Model:
    """A slow implementation of the rules."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, float | None]] = {}
        self.locked: set[str] = set()

    def add(self, key: str, now: float, after: float, priority: int) -> None:
        due = now + after if after > 0 else None
        if key in self.entries:
            before, was = self.entries[key]
            due = None if due is None or was is None else min(due, was)
            priority = max(priority, before)
        self.entries[key] = (priority, due)

    def best(self, now: float) -> int | None:
        """Return the highest priority that may be handed out."""
        ready = [p for k, (p, due) in self.entries.items() if k not in self.locked and (due is None or due <= now)]
        return max(ready, default=None)


@pytest.mark.slow
@given(Steps)
@settings(max_examples=300, deadline=None)
def test_pq_31_never_twice_without_done_and_always_the_highest(steps: list[tuple[str, int, float, int]]) -> None:
    queue, model, now, held = Metered(), Model(), 0.0, list[str]()
    depths: Callable[[], list[float]] = lambda: [queue.depth(priority) for priority in range(-2, 3)]  # noqa: E731
    for verb, number, after, priority in steps:
        key = f"k{number}"
        if verb == "add":
            queue.state.add(key, now, after, priority=priority)
            for ripe, (its, due) in list(model.entries.items()):
                model.entries[ripe] = (its, None if due is not None and due <= now else due)
            model.add(key, now, after, priority)
        elif verb == "tick":
            now += 1.0
        elif verb == "done" and held:
            model.locked.discard(held[0])
            queue.state.done(held.pop(0), now)
        elif verb == "get":
            best, found = model.best(now), queue.state.pop(now)
            assert (found is None) == (best is None)
            if found is not None:
                assert found.priority == best
                assert found.item not in held
                assert model.entries.pop(found.item)[0] == found.priority
                held.append(found.item)
                model.locked.add(found.item)
        assert min(depths()) >= 0
    due = [k for k, (_, due) in model.entries.items() if due is None or due <= now]
    assert queue.state.length(now) == len(due) == sum(depths())
