"""Metrics of controllers and queues, the names of handlers, bounds of results, and causes and events of sources."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from controllerlib import Result
from controllerlib.cache.process import Notification
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.client.names import DeletedFinalStateUnknown
from controllerlib.client.restmapper import RESTMapper
from controllerlib.controller.event import CreateEvent, DeleteEvent, GenericEvent, UpdateEvent
from controllerlib.controller.handler import EnqueueRequestForOwner, RequestQueue, low_priority
from controllerlib.controller.owners import OwnerKind
from controllerlib.controller.source import ChannelSource, cause_of, event_of
from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.reconcilemetrics import ControllerMetrics
from controllerlib.metrics.registry import Histogram, Registry
from controllerlib.observer import Observer
from controllerlib.tasks import Tasks
from controllerlib.workqueue import WorkQueue, work_queue
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.prioritystate import PriorityQueueState
from tests.controllerlib.handlerlog import HandlerLog, running
from tests.controllerlib.objects import pod
from tests.controllerlib.rig import Rig, acting
from tests.controllerlib.scripted import Scripted

# --- metrics


async def test_work_in_progress_is_measured_when_metrics_are_read() -> None:
    rig = Rig(acting(None, seconds=10.0), max_concurrent_reconciles=2)

    def unfinished() -> tuple[float, float]:
        rig.controller.registry.collect()
        value = rig.controller.registry.value
        return tuple(
            value(f"workqueue_{name}", "test", "test")
            for name in ("unfinished_work_seconds", "longest_running_processor_seconds")
        )

    assert unfinished() == (0.0, 0.0)
    await rig.add("a")
    await rig.run(2.0)
    await rig.add("b")
    await rig.run(3.0)
    assert unfinished() == (8.0, 5.0)
    await rig.run(5.0)
    assert unfinished() == (8.0, 8.0)
    assert rig.task is not None
    rig.task.cancel()
    await rig.run(1.0)
    assert unfinished() == (8.0, 8.0), "a queue that is shut down is measured no more"


LABELS = {"terminal": False, "panicked": False, "timed_out": False}


@pytest.mark.parametrize(
    ("label", "more", "counted"),
    [
        ("success", {}, {}),
        ("requeue", {}, {}),
        ("requeue_after", {"timed_out": True}, {"timeouts": 1}),
        ("error", {}, {"errors": 1}),
        ("error", {"terminal": True}, {"errors": 1, "terminal_reconcile_errors": 1}),
        ("error", {"panicked": True, "timed_out": True}, {"errors": 1, "panics": 1, "timeouts": 1}),
    ],
)
def test_what_is_counted_of_a_reconcile(label: str, more: dict[str, bool], counted: dict[str, int]) -> None:
    registry = Registry()
    metrics = ControllerMetrics(registry, "x")
    metrics.begin(3)
    metrics.started()
    metrics.started()
    metrics.finished(label, 0.5, **{**LABELS, **more})
    prefix = "controller_runtime"
    for result in ("error", "requeue", "requeue_after", "success"):
        assert registry.value(f"{prefix}_reconcile_total", "x", result) == (result == label)
    found = {
        name: registry.value(f"{prefix}_{'' if 'reconcile' in name else 'reconcile_'}{name}_total", "x")
        for name in ("errors", "terminal_reconcile_errors", "panics", "timeouts")
    }
    assert found == {"errors": 0, "terminal_reconcile_errors": 0, "panics": 0, "timeouts": 0, **counted}
    assert registry.value(f"{prefix}_active_workers", "x") == 1
    assert registry.value(f"{prefix}_max_concurrent_reconciles", "x") == 3
    assert registry.histogram(f"{prefix}_reconcile_time_seconds", "x").sum == 0.5


@pytest.mark.parametrize("priorities", [True, False])
def test_the_depth_of_a_queue_by_priority(priorities: bool) -> None:
    registry = Registry()
    metrics = WorkQueueMetrics(registry, "q", "c", priorities=priorities)
    for priority in (0, 7, 7):
        metrics.added("x", priority, 0.0)
    metrics.raised("x", 0, 9)
    metrics.got("x", 7, 1.0, 3.0)
    metrics.done("x", 3.0, 7.0)
    metrics.retried()

    def depth(priority: str) -> float:
        return registry.value("workqueue_depth", "q", "c", priority)

    assert [depth(p) for p in ("0", "7", "9", "")] == ([0.0, 1.0, 1.0, 0.0] if priorities else [0.0, 0.0, 0.0, 2.0])
    assert registry.value("workqueue_adds_total", "q", "c") == 3
    assert registry.value("workqueue_retries_total", "q", "c") == 1
    assert registry.histogram("workqueue_queue_duration_seconds", "q", "c").sum == 2.0
    assert registry.histogram("workqueue_work_duration_seconds", "q", "c").sum == 4.0


def test_the_first_priorities_have_a_label_of_their_own() -> None:
    registry = Registry()
    metrics = WorkQueueMetrics(registry, "q", priorities=True)
    for priority in range(27):
        metrics.added("x", priority, 0.0)
    shown = registry.families["workqueue_depth"].series
    assert {labels[2]: series.value for labels, series in shown.items()} == {
        **{str(priority): 1.0 for priority in range(25)},
        "exceeded_cardinality_limit": 2.0,
    }
    assert {labels[:2] for labels in shown} == {("q", "q")}


def test_an_observation_is_in_the_first_bucket_that_has_it() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 2.5):
        histogram.observe(value)
    assert (histogram.counts, histogram.sum, histogram.count) == ([2, 2, 1], 7.5, 5)


def test_families_are_made_once_and_unknown_ones_are_zero() -> None:
    registry = Registry()
    family = registry.family("a", "help", "counter", ("x",))
    assert registry.family("a", "other", "gauge") is family
    assert (registry.value("a", "1"), registry.value("b")) == (0.0, 0.0)
    assert family.series == {}, "reading makes no series"
    family.add("1")
    family.add("1")
    family.set(5.0, "2")
    assert (family.of("1") is family.of("1"), registry.value("a", "1"), registry.value("a", "2")) == (True, 2.0, 5.0)
    with pytest.raises(KeyError):
        registry.histogram("b")


# --- handlers


class Names(Observer):
    """Records the names of handlers."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def handled(self, informer: str, handler: str, notification: Notification) -> None:
        self.seen.append(f"{informer}: {handler}")


async def test_handlers_without_a_name_are_numbered() -> None:
    names = Names()
    informer = SharedIndexInformer(Scripted([([pod("a")], "1")]), name="pods", observer=names)
    for name in ("", "own", ""):
        informer.add_handler(HandlerLog(), name=name)
    task = await running(informer, 1)
    task.cancel()
    assert names.seen == ["pods: pods#1", "pods: own", "pods: pods#2"]


class Enqueued(Observer):
    """Records requests that are added."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def enqueued(self, *seen: Any) -> None:
        self.seen.append(seen)


def test_a_request_has_its_cause_and_the_priority_of_the_queue() -> None:
    queue: WorkQueue[str] = WorkQueue(PriorityQueueState(), clock=Still())  # type: ignore[arg-type]
    observer = Enqueued()
    cause, other = Cause("generic"), Cause("added")
    requests = RequestQueue(queue, "test", observer, cause=cause, priority=5)
    requests.add("a")
    requests.add("b", priority=0)
    requests.add_after("c", 2.0)
    requests.add_rate_limited("d")
    changed = requests.with_options(cause=other, priority=-1)
    changed.add("e")
    requests.with_options().add("f")
    assert observer.seen == [
        ("test", "a", cause, 0.0, 5), ("test", "b", cause, 0.0, 0), ("test", "c", cause, 2.0, 5),
        ("test", "d", cause, None, 5), ("test", "e", other, 0.0, -1), ("test", "f", cause, 0.0, 5),
    ]  # fmt: skip
    assert dict(queue.ready()) == {"a": 5, "b": 0, "e": -1, "f": 5}
    assert list(queue.ready()) == ["a", "f", "b", "e"]
    assert dict(queue.waiting()) == {"d": 0.005, "c": 2.0}


class Still:
    """A clock that stands still."""

    def monotonic(self) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        (CreateEvent(pod("a"), True), -100),
        (CreateEvent(pod("a")), None),
        (UpdateEvent(pod("a", 1), pod("a", 1)), -100),
        (UpdateEvent(pod("a", 1), pod("a", 2)), None),
        (DeleteEvent(pod("a")), None),
        (GenericEvent(pod("a")), None),
    ],
)
def test_what_has_a_low_priority(event: Any, priority: int | None) -> None:
    queue: Any = object()
    assert low_priority(event, RequestQueue(queue)).priority == priority
    assert low_priority(event, RequestQueue(queue, priority=3)).priority == 3
    assert low_priority(event, RequestQueue(queue, priority=0)).priority == 0


# --- results

LONGEST = timedelta.max.total_seconds()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        (1, 1),
        (0.0, 0.0),
        (-2.5, -2.5),
        (timedelta(days=1), 86400.0),
        (1e12, 1e12),
        (86_399_999_999_999, None),
    ],
)
def test_a_delay_is_kept_as_it_is(value: Any, seconds: float | None) -> None:
    found = Result(value).requeue_after
    assert found == (value if seconds is None else seconds)
    assert type(found) is (float if isinstance(value, timedelta) else type(value))


@pytest.mark.parametrize(
    "value", [LONGEST, -LONGEST, -86_399_999_999_999, -86_399_999_999_999.0, float("inf"), float("nan")]
)
def test_a_delay_that_no_timedelta_holds_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"^requeue_after must be a finite delay, not"):
        Result(value)


# --- queues


async def test_what_a_queue_says_of_itself() -> None:
    queue: WorkQueue[str] = work_queue(name="mine")
    assert (repr(queue), repr(work_queue())) == (
        "<WorkQueue mine ready=0 processing=0 waiting=0>", "<WorkQueue - ready=0 processing=0 waiting=0>",
    )  # fmt: skip
    for item in ("a", "b", "c"):
        queue.add(item)
    queue.add_after("d", 1.0)
    assert (await queue.get(), len(queue)) == ("a", 2)
    queue.shut_down()
    assert repr(queue) == "<WorkQueue mine ready=2 processing=1 waiting=0 shut down>"
    assert (queue.is_shut_down, [await queue.get() for _ in range(3)]) == (True, ["b", "c", None])


async def test_getters_are_served_in_the_order_of_their_waiting() -> None:
    queue: WorkQueue[str] = work_queue()
    getters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    queue.add("a")
    queue.add("b")
    queue.add_after("c", 3.0)
    assert [await getter for getter in getters] == ["a", "b", "c"]
    assert asyncio.get_running_loop().time() == 3.0


# --- sources

POD, NEWER = pod("a", 1), pod("a", 2)
GONE = DeletedFinalStateUnknown("default/a", POD)
BARE: dict[str, Any] = {"kind": "Bare", "metadata": {"name": "x"}}


def notification(kind: Any, obj: Any, old: Any = None, origin: Any = "watch", *, sync: bool = False) -> Notification:
    return Notification(kind, obj, old, False, origin, sync)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (notification("added", POD), Cause("added", "v1", "Pod", "default", "a", "1")),
        (notification("added", POD, origin="list"), Cause("added", "v1", "Pod", "default", "a", "1")),
        (notification("updated", NEWER, POD), Cause("updated", "v1", "Pod", "default", "a", "2")),
        (notification("updated", NEWER, POD, "list"), Cause("updated", "v1", "Pod", "default", "a", "2")),
        (notification("updated", POD, POD, "resync", sync=True), Cause("resync", "v1", "Pod", "default", "a", "1")),
        (notification("updated", POD, POD, "list", sync=True), Cause("relist", "v1", "Pod", "default", "a", "1")),
        (notification("updated", POD, POD, "watch", sync=True), Cause("relist", "v1", "Pod", "default", "a", "1")),
        (notification("deleted", NEWER), Cause("deleted", "v1", "Pod", "default", "a", "2")),
        (notification("deleted", GONE, origin="list"), Cause("deleted", "v1", "Pod", "default", "a", "1")),
        (notification("deleted", DeletedFinalStateUnknown("default/a", None)), Cause("deleted")),
        (notification("added", BARE), Cause("added", "", "Bare", "", "x", "")),
        (notification("added", {"apiVersion": "v1"}), Cause("added", "v1")),
    ],
)
def test_the_cause_of_a_notification(given: Notification, cause: Cause) -> None:
    assert cause_of(given) == cause


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Cause("retry"), "retry"),
        (Cause("updated", "v1", "Pod", "default", "a", "2"), "updated Pod default/a@2"),
        (Cause("deleted", "v1", "Node", "", "a", "2"), "deleted Node a@2"),
        (Cause("generic", "v1", "Pod", "default", "a"), "generic Pod default/a"),
    ],
)
def test_the_text_of_a_cause(cause: Cause, text: str) -> None:
    assert str(cause) == text


@pytest.mark.parametrize(
    ("given", "event"),
    [
        (Notification("added", POD, None, True, "list", False), CreateEvent(POD, True)),
        (notification("added", POD), CreateEvent(POD, False)),
        (notification("updated", NEWER, POD), UpdateEvent(POD, NEWER)),
        (notification("deleted", NEWER), DeleteEvent(NEWER, False)),
        (notification("deleted", GONE), DeleteEvent(POD, True)),
        (notification("deleted", DeletedFinalStateUnknown("default/a", None)), None),
        (notification("deleted", DeletedFinalStateUnknown("default/a", "text")), None),
    ],
)
def test_the_event_of_a_notification(given: Notification, event: Any) -> None:
    assert event_of(given) == event


async def test_a_channel_keeps_what_is_sent_early_and_ignores_what_is_sent_late() -> None:
    queue: WorkQueue[Any] = work_queue()
    waited: list[str] = []

    class Waiting:
        """A handler that waits."""

        async def handle(self, event: Any, requests: RequestQueue) -> None:
            await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
            waited.append(event.obj["metadata"]["name"])
            requests.add(event.obj["metadata"]["name"])

    async def stream() -> AsyncIterator[GenericEvent]:
        for name in ("d", "not", "e"):
            yield GenericEvent(pod(name))

    source = ChannelSource(Waiting(), [lambda event: event.obj["metadata"]["name"] != "not"], stream())  # type: ignore[union-attr,index]
    for name in ("b", "not", "a"):
        assert source.send(GenericEvent(pod(name))) is None
    async with Tasks() as tasks:
        await source.start(RequestQueue(queue), tasks)
        assert waited == ["b", "a"]
        await source.wait_synced()
        answer = source.send(GenericEvent(pod("c")))
        assert answer is not None
        await answer
    assert list(queue.ready()) == ["b", "a", "c", "d", "e"]
    source.close()
    assert source.send(GenericEvent(pod("f"))) is None
    assert len(queue) == 5
    work = [await queue.take() for _ in range(5)]
    assert next(str(cause) for one in work if one is not None for cause in one.causes) == "generic Pod default/b@1"


@pytest.mark.parametrize(
    ("given", "served", "fetched", "namespaced"),
    [(None, True, 1, True), (None, False, 1, False), (True, False, 0, True), (False, True, 0, False)],
)
async def test_whether_owners_have_a_namespace_is_read_unless_it_is_given(
    given: bool | None, served: bool, fetched: int, namespaced: bool
) -> None:
    fetches: list[str] = []

    async def fetch(path: str) -> Mapping[str, Any]:
        fetches.append(path)
        return {"resources": [{"name": "bosses", "kind": "Boss", "namespaced": served}]}

    handler = EnqueueRequestForOwner("example.com/v1", "Boss", namespaced=given, only_controller=True)
    assert handler.owner == OwnerKind("example.com", "Boss", given is not False, True)
    await handler.prepare(RESTMapper(fetch))
    assert handler.owner == OwnerKind("example.com", "Boss", namespaced, True)
    assert len(fetches) == fetched
