"""The plain, delaying and rate limiting work queue."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllerlib.clock import SystemClock, sleep
from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.registry import Registry
from controllerlib.wait import parallelize
from controllerlib.workqueue.item import NotProcessing
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queue import WorkQueue, priority_queue, work_queue
from controllerlib.workqueue.queuestate import WorkQueueState
from controllerlib.workqueue.ratelimiters import (
    ItemExponentialFailureRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from tests.controllerlib.script import play


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("+a +b +c >a >b >c", id="WQ-01"),
        pytest.param("+foo +bar +foo #2", id="WQ-02"),
        pytest.param("+foo >foo #0 .foo #0", id="WQ-03"),
        pytest.param("+foo >foo +foo #0 .foo #1 >foo .foo #0", id="WQ-04"),
        pytest.param("+foo >foo +foo +foo +foo +foo +foo .foo >foo >-", id="WQ-05"),
        pytest.param("+a >a +a +b .a >b >a", id="WQ-08"),
        pytest.param("! +x #0 >-", id="WQ-10"),
        pytest.param("+a +b ! >a >b >-", id="WQ-11"),
        pytest.param("+a >a +a ! .a >a >-", id="WQ-13"),
        pytest.param("+foo@.05 t.049 #0 t.05 #1 >foo .foo t10.05 #0", id="WQ-30"),
        pytest.param("+foo@.05 +foo@.07 t.05 >foo .foo t.07 >- t9 >-", id="WQ-31"),
        pytest.param("+foo@.05 +foo@.03 t.03 >foo .foo t.05 >- t9 >-", id="WQ-32"),
        pytest.param("+first@1 +second@.05 t.06 >second +third@2 t1.06 >first >- t3.06 >third", id="WQ-33"),
        pytest.param("+first@1 +second@.5 +third@.25 t2 >third >second >first", id="WQ-34"),
        pytest.param("+x@0 +y@-1 #2 >x >y", id="WQ-35"),
        pytest.param("+x@10 t1 +x >x .x >- t9.9 #0 t10 >x", id="WQ-36"),
        pytest.param("+x@5 t4 +x #1 t5 #1 >x .x >-", id="WQ-37"),
        pytest.param("+x@5 t4 +x >x t5 #0 .x #1 >x .x >-", id="WQ-38"),
        pytest.param("+x@10 t10 >x .x +x@60 t69 >- t70 >x", id="WQ-39"),
        pytest.param("+x@60 t30 +x@60 t60 >x .x t90 >-", id="WQ-40"),
        pytest.param("+x@5 ! +y@1 ! t10 #0 >-", id="WQ-41"),
        pytest.param("+x@5 +y@6 #0 t5 #1 t6 #2", id="WQ-43"),
        pytest.param("+a@5 +b@5 +c@5 t5 >a >b >c", id="WQ-44"),
        pytest.param("+a@5 +b@5 +a@5 t5 >a >b", id="code-1-a-second-add-for-the-same-time-keeps-its-place"),
    ],
)
def test_scripts(script: str) -> None:
    play(WorkQueueState(), script)


class Touched:
    """A storage that records its calls."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.touched: list[str] = []
        self.pushed: list[str] = []

    def touch(self, item: str) -> None:
        self.touched.append(item)

    def push(self, item: str) -> None:
        self.pushed.append(item)
        self.items.append(item)

    def pop(self) -> str:
        return self.items.pop(0)

    def __len__(self) -> int:
        return len(self.items)


@pytest.mark.parametrize(
    ("script", "touched", "pushed"),
    [
        pytest.param("+bar +bar", ["bar"], ["bar"], id="WQ-06"),
        pytest.param("+foo >foo +foo +foo", [], ["foo"], id="WQ-07"),
    ],
)
def test_a_custom_storage(script: str, touched: Sequence[str], pushed: Sequence[str]) -> None:
    storage = Touched()
    play(WorkQueueState(storage=storage), script)
    assert [storage.touched, storage.pushed] == [touched, pushed]


async def now(task: "asyncio.Task[object]") -> bool:
    """Return whether `task` is done once everything that is due has run."""
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    return task.done()


def getting(queue: WorkQueue[str]) -> "asyncio.Task[str | None]":
    return asyncio.create_task(queue.get())


async def test_wq_09_a_second_getter_waits_for_done() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    second = getting(queue)
    assert not await now(second)
    queue.done("a")
    assert await second == "a"


async def test_wq_12_shutting_down_wakes_every_getter() -> None:
    queue: WorkQueue[str] = work_queue()
    getters = [getting(queue) for _ in range(10)]
    await now(getters[0])
    queue.shut_down()
    assert await asyncio.gather(*getters) == [None] * 10


async def test_wq_14_draining_waits_for_what_is_processed() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("a"), queue.add("b")
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    drain = asyncio.create_task(queue.shut_down_with_drain())
    assert not await now(drain)
    assert await queue.get() is None
    queue.done("a")
    assert not await now(drain)
    queue.done("b")
    assert await now(drain)


async def test_wq_15_draining_looks_only_at_what_is_processed() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("a"), queue.add("b")
    await queue.shut_down_with_drain()
    assert len(queue) == 2
    assert [await queue.get(), await queue.get(), await queue.get()] == ["a", "b", None]


async def test_wq_16_shutting_down_ends_a_drain() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("x")
    await queue.get()
    drain = asyncio.create_task(queue.shut_down_with_drain())
    assert not await now(drain)
    queue.shut_down()
    assert await now(drain)


async def test_wq_17_a_drain_ends_as_soon_as_nothing_is_processed() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("foo")
    await queue.get()
    queue.add("foo")
    drain = asyncio.create_task(queue.shut_down_with_drain())
    assert not await now(drain)
    queue.done("foo")
    assert await now(drain)
    assert await queue.get() == "foo"
    queue.done("foo")
    assert await queue.get() is None


async def test_wq_18_shutting_down_does_not_wait() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("x")
    await queue.get()
    queue.shut_down()
    assert dict(queue.processing()) == {"x": 0.0}


async def test_wq_19_many_producers_and_consumers() -> None:
    queue: WorkQueue[str] = work_queue()

    async def produce(name: str) -> None:
        for _ in range(50):
            queue.add(name)
            await sleep(SystemClock(), 0.001)

    async def consume() -> None:
        while (item := await queue.get()) is not None:
            assert item != "added after shutdown"
            await sleep(SystemClock(), 0.003)
            queue.done(item)

    consumers = [asyncio.create_task(consume()) for _ in range(10)]
    await asyncio.gather(*(produce(f"p{number}") for number in range(50)))
    queue.shut_down()
    queue.add("added after shutdown")
    await asyncio.gather(*consumers)
    assert len(queue) == 0


async def test_wq_20_adding_once_more_while_processing() -> None:
    queue: WorkQueue[str] = work_queue()
    runs: dict[str, int] = {}

    async def consume() -> None:
        while (item := await queue.get()) is not None:
            runs[item] = runs.get(item, 0) + 1
            if runs[item] == 1:
                queue.add(item)
            queue.done(item)

    consumers = [asyncio.create_task(consume()) for _ in range(10)]
    for number in range(50):
        queue.add(f"item{number}")
    await now(consumers[0])
    queue.shut_down()
    await asyncio.gather(*consumers)
    assert set(runs.values()) == {2}
    assert len(queue) == 0


def test_an_item_that_is_due_while_it_is_processed_is_queued_once() -> None:
    queue: WorkQueueState[str] = WorkQueueState()
    queue.add("a", 0.0)
    assert queue.pop(0.0) is not None
    queue.add("a", 0.0, after=1.0)
    queue.done("a", 2.0)  # no call between 1 and 2
    assert queue.length(2.0) == 1
    assert queue.pop(2.0) is not None
    assert queue.pop(2.0) is None


def test_wq_21_done_without_get() -> None:
    lenient: WorkQueueState[str] = WorkQueueState()
    play(lenient, "+x .x #1 >x >-")
    strict: WorkQueueState[str] = WorkQueueState(strict=True)
    strict.add("x", 0.0)
    with pytest.raises(NotProcessing):
        strict.done("x", 0.0)


def test_wq_22_metrics_of_a_named_queue() -> None:
    registry = Registry()
    state: WorkQueueState[str] = WorkQueueState(metrics=WorkQueueMetrics(registry, "q"))
    adds = lambda: registry.value("workqueue_adds_total", "q", "q")  # noqa: E731
    depth = lambda: registry.value("workqueue_depth", "q", "q", "")  # noqa: E731
    latency = registry.histogram("workqueue_queue_duration_seconds", "q", "q")
    work = registry.histogram("workqueue_work_duration_seconds", "q", "q")
    state.add("foo", 0.0)
    assert [adds(), depth()] == [1, 1]
    state.pop(50e-6)
    assert [latency.count, latency.sum, depth()] == [1, pytest.approx(5e-5), 0]
    for _ in range(5):
        state.add("foo", 50e-6)
    assert [adds(), depth()] == [2, 1]
    state.done("foo", 75e-6)
    assert [work.count, work.sum] == [1, pytest.approx(2.5e-5)]
    state.pop(75e-6)
    assert [latency.count, latency.sum] == [2, pytest.approx(7.5e-5)]
    metrics = WorkQueueMetrics(registry, "q")
    metrics.refresh(state.processing(), 75e-6 + 0.001)
    assert registry.value("workqueue_unfinished_work_seconds", "q", "q") == pytest.approx(0.001)
    assert registry.value("workqueue_longest_running_processor_seconds", "q", "q") == pytest.approx(0.001)
    state.done("foo", 75e-6 + 0.001)
    assert [work.count, work.sum] == [2, pytest.approx(0.001025)]


async def test_wq_23_an_unnamed_queue_has_no_metrics_and_no_task() -> None:
    queue: WorkQueue[str] = work_queue()
    before = len(asyncio.all_tasks())
    queue.add("a"), queue.add_after("b", 5)
    assert len(asyncio.all_tasks()) == before


def test_wq_24_unfinished_work() -> None:
    registry = Registry()
    metrics = WorkQueueMetrics(registry, "q")
    state: WorkQueueState[str] = WorkQueueState(metrics=metrics)
    play(state, "+a t8 +b")
    state.pop(5.0), state.pop(8.0)
    metrics.refresh(state.processing(), 10.0)
    assert registry.value("workqueue_unfinished_work_seconds", "q", "q") == 7.0
    assert registry.value("workqueue_longest_running_processor_seconds", "q", "q") == 5.0
    for item in ("a", "b"):
        state.done(item, 11.0)
    metrics.refresh(state.processing(), 12.0)
    assert registry.value("workqueue_unfinished_work_seconds", "q", "q") == 0.0
    assert registry.value("workqueue_longest_running_processor_seconds", "q", "q") == 0.0


class Item:
    pass


async def test_wq_25_removed_items_are_not_referenced() -> None:
    queue: WorkQueue[Item] = work_queue()
    item = Item()
    gone = weakref.ref(item)
    queue.add(item)
    queue.done(await queue.get())  # type: ignore[arg-type]
    del item
    gc.collect()
    assert gone() is None


def test_wq_42_every_delayed_add_counts_as_a_retry() -> None:
    registry = Registry()
    state: WorkQueueState[str] = WorkQueueState(metrics=WorkQueueMetrics(registry, "q"))
    state.add_after("x", 0.0, 0.0), state.add_after("x", 1.0, 0.0), state.add_after("x", 1.0, 0.0)
    assert registry.value("workqueue_retries_total", "q", "q") == 3
    state.shut_down()
    state.add_after("x", 1.0, 0.0), state.add_after("x", 0.0, 0.0)
    assert registry.value("workqueue_retries_total", "q", "q") == 3, "WQ-41"


def test_wq_50_rate_limited() -> None:
    state: WorkQueueState[str] = WorkQueueState(ItemExponentialFailureRateLimiter(0.001, 1.0))
    dues = []
    for item in ("one", "one", "two", "two"):
        state.add(item, 0.0, rate_limited=True)
        dues.append(state.limiter.num_requeues(item))
    assert [dues, dict(state.waiting())] == [[1, 2, 1, 2], {"one": 0.001, "two": 0.001}]
    assert state.limiter.num_requeues("one") == 2
    state.limiter.forget("one")
    assert [state.limiter.num_requeues("one"), state.limiter.when("one", 0.0)] == [0, 0.001]


def test_wq_51_forget_is_not_done() -> None:
    state: WorkQueueState[str] = WorkQueueState()
    state.add("x", 0.0, rate_limited=True)
    play(state, "t1 >x")
    assert state.limiter.num_requeues("x") == 1
    state.limiter.forget("x")
    assert [state.limiter.num_requeues("x"), dict(state.processing())] == [0, {"x": 1.0}]
    play(state, "t1 +x >- #0 .x #1 >x .x >-")


async def test_wq_51_forget_of_the_queue_is_not_done() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add("x")
    assert await queue.get() == "x"
    queue.forget("x")
    queue.add("x")
    second = getting(queue)
    assert not await now(second)
    queue.done("x")
    assert await second == "x"


def test_wq_52_forgetting_does_not_cancel() -> None:
    state: WorkQueueState[str] = WorkQueueState()
    state.add("x", 0.0, rate_limited=True)
    state.limiter.forget("x")
    play(state, "t.004 #0 t.005 >x")


def test_wq_53_a_closed_queue_still_counts_failures() -> None:
    state: WorkQueueState[str] = WorkQueueState()
    state.shut_down()
    state.add("x", 0.0, rate_limited=True)
    assert [state.limiter.num_requeues("x"), state.length(99.0)] == [1, 0]


async def worker(queue: WorkQueue[str], failures: int, *, forget: bool) -> list[float]:
    """A worker that fails `failures` times; return the times of its attempts."""
    loop, tries = asyncio.get_running_loop(), list[float]()
    while len(tries) <= failures:
        item = await queue.get()
        assert item is not None
        tries.append(loop.time())
        if len(tries) <= failures:
            queue.add_rate_limited(item)
        elif forget:
            queue.forget(item)
        queue.done(item)
    return tries


async def test_wq_54_a_worker_that_forgets() -> None:
    queue: WorkQueue[str] = WorkQueue(WorkQueueState(default_controller_rate_limiter()))
    queue.add("x")
    assert await worker(queue, 4, forget=True) == pytest.approx([0, 0.005, 0.015, 0.035, 0.075])
    assert queue.num_requeues("x") == 0


async def test_wq_55_a_worker_that_does_not_forget() -> None:
    queue: WorkQueue[str] = WorkQueue(WorkQueueState(default_controller_rate_limiter()))
    queue.add("x")
    await worker(queue, 4, forget=False)
    before = asyncio.get_running_loop().time()
    queue.add_rate_limited("x")
    assert queue.due("x") == pytest.approx(before + 0.08)


async def test_wq_56_parallelize() -> None:
    done: list[int] = []
    assert await parallelize(3, 10, done.append, chunk=4) == 3
    assert sorted(done) == list(range(10))
    assert await parallelize(3, 0, done.append) == 0
    seen: list[int] = []

    async def piece(number: int) -> None:
        seen.append(number)
        if number == 0:
            task.cancel()
            await sleep(SystemClock(), 0)

    task = asyncio.create_task(parallelize(1, 10, piece))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [0]


async def test_a_cancelled_getter_wakes_the_next_one() -> None:
    queue: WorkQueue[str] = work_queue()
    first, second = getting(queue), getting(queue)
    await now(first)
    queue.add("a")
    first.cancel()
    assert await second == "a"


@pytest.mark.parametrize("make", [work_queue, priority_queue])
async def test_a_getter_cancelled_before_its_turn_is_skipped(make: Callable[[], WorkQueue[str]]) -> None:
    queue = make()
    first, second = getting(queue), getting(queue)
    await now(first)
    first.cancel()
    queue.add("a")  # before the first one processes its cancellation
    assert await second == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_an_idle_queue_has_no_timer() -> None:
    queue: WorkQueue[str] = work_queue()
    queue.add_after("x", 60)
    waiting = getting(queue)
    await now(waiting)
    waiting.cancel()
    await now(waiting)
    assert asyncio.get_running_loop().upcoming() == []  # type: ignore[attr-defined]


@given(
    dues=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 5), max_size=6),
    kind=st.sampled_from([WorkQueueState, PriorityQueueState]),
)
def test_waiting_items_are_listed_by_their_deadline_and_then_by_their_turn(
    dues: dict[str, int], kind: type[WorkQueueState[str]] | type[PriorityQueueState[str]]
) -> None:
    state = kind()
    for item, due in dues.items():
        state.add(item, now=0.0, after=due)
    expected = sorted(dues, key=lambda item: dues[item])  # a stable sort: equal deadlines keep the order of the adds
    assert list(state.waiting().items()) == [(item, dues[item]) for item in expected]


def test_delays_of_the_default_limiter_of_items() -> None:
    """1 ms, doubled up to 1000 s (client-go: `DefaultItemBasedRateLimiter`)."""
    limiter = default_item_based_rate_limiter()
    delays = [limiter.when("a", 0.0) for _ in range(30)]
    assert delays == pytest.approx([min(0.001 * 2**failures, 1000.0) for failures in range(30)])
    assert limiter.when("b", 0.0) == 0.001
