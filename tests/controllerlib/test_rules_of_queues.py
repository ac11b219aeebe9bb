"""Predicates by the type of event, and items that are due while another one is processed."""

from collections.abc import Mapping
from typing import Any

import pytest

from controllerlib.cache.heap import KeyedHeap
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent, is_unchanged
from controllerlib.controller.predicate import (
    PredicateFuncs,
    annotations_changed,
    generation_changed,
    labels_changed,
    of_object,
    resource_version_changed,
)
from controllerlib.metrics.reconcilemetrics import RECONCILE_BUCKETS
from controllerlib.stalerows import is_mostly_stale
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.prioritystate import PriorityQueueState
from controllerlib.workqueue.queuestate import WorkQueueState
from controllerlib.workqueue.ratelimiters import ItemExponentialFailureRateLimiter
from tests.controllerlib.objects import pod

OBJ = pod("a", 1)
EVENTS: dict[str, Event] = {
    "create": CreateEvent(OBJ),
    "update": UpdateEvent(OBJ, OBJ),
    "delete": DeleteEvent(OBJ),
    "generic": GenericEvent(OBJ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_each_function_decides_about_its_type_of_event(name: str) -> None:
    asked: list[Any] = []

    def no(event: Any) -> bool:
        asked.append(event)
        return False

    predicate = PredicateFuncs(**{name: no})
    assert {other: predicate(event) for other, event in EVENTS.items()} == {other: other != name for other in EVENTS}
    assert asked == [EVENTS[name]]
    assert PredicateFuncs(**{name: lambda event: True})(EVENTS[name])


def test_the_object_of_an_event_is_the_new_one() -> None:
    old, new = pod("a", 1), pod("a", 2)
    seen: list[Mapping[str, Any]] = []

    def test(obj: Mapping[str, Any]) -> bool:
        seen.append(obj)
        return True

    predicate = of_object(test)
    assert predicate(UpdateEvent(old, new))
    assert all(predicate(event) for event in EVENTS.values())
    assert seen[0] is new
    assert not predicate(CreateEvent(None))
    assert not predicate(UpdateEvent(old, None))


@pytest.mark.parametrize(
    ("predicate", "before", "after", "expected"),
    [
        (resource_version_changed, {"resourceVersion": "1"}, {"resourceVersion": "2"}, True),
        (resource_version_changed, {"resourceVersion": "1"}, {"resourceVersion": "1", "generation": 2}, False),
        (generation_changed, {"generation": 1}, {"generation": 2}, True),
        (generation_changed, {"generation": 1}, {"generation": 1, "labels": {"a": "b"}}, False),
        (annotations_changed, {}, {"annotations": {}}, False),
        (annotations_changed, {}, {"annotations": {"a": "b"}}, True),
        (annotations_changed, {"labels": {"a": "b"}}, {}, False),
        (labels_changed, {"labels": None}, {"labels": {}}, False),
        (labels_changed, {"labels": {"a": "b"}}, {"labels": {"a": "c"}}, True),
        (labels_changed, {"annotations": {"a": "b"}}, {}, False),
    ],
)
def test_which_updates_are_changes(
    predicate: Any, before: dict[str, Any], after: dict[str, Any], expected: bool
) -> None:
    assert predicate(UpdateEvent({"metadata": before}, {"metadata": after})) is expected
    assert predicate(CreateEvent({"metadata": after}))
    assert not predicate(UpdateEvent(None, {"metadata": after}))
    assert not predicate(UpdateEvent({"metadata": before}, None))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (CreateEvent(OBJ, True), True),
        (CreateEvent(OBJ), False),
        (UpdateEvent(OBJ, pod("a", 1)), True),
        (UpdateEvent(OBJ, pod("a", 2)), False),
        (DeleteEvent(OBJ), False),
        (GenericEvent(OBJ), False),
    ],
)
def test_events_without_a_change(event: Event, expected: bool) -> None:
    assert is_unchanged(event) is expected


def test_an_item_that_was_due_while_it_was_processed_follows_the_others() -> None:
    state: WorkQueueState[str] = WorkQueueState()
    state.add("x", 0.0)
    item = state.pop(0.0)
    assert item is not None
    state.add_after("x", 3.0, 0.0)
    state.add_after("y", 5.0, 0.0)
    state.add_after("z", 11.0, 0.0)
    state.done("x", 10.0)
    assert dict(state.waiting()) == {"z": 11.0}
    assert (state.length(10.0), state.length(11.0), state.is_processing()) == (2, 3, False)
    handed_out = [state.pop(11.0) for _ in range(3)]
    assert [one.item for one in handed_out if one is not None] == ["y", "x", "z"]


def test_the_buckets_of_reconcile_times() -> None:
    """Those of controller-runtime: 5 ms to 60 s."""
    assert RECONCILE_BUCKETS == (
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
        2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "live", "stale"), [(64, 0, False), (65, 0, True), (68, 1, False), (69, 1, True), (4064, 1000, False)]
)
def test_when_a_heap_is_rebuilt(rows: int, live: int, stale: bool) -> None:
    assert is_mostly_stale(rows, live) is stale


def test_heaps_whose_rows_become_stale_take_no_memory() -> None:
    heap: KeyedHeap[tuple[str, int]] = KeyedHeap(lambda item: item[0], lambda item: -item[1])
    queue = PriorityQueueState[str]()
    for number in range(1000):
        heap.add(("a", number))
        queue.add("a", 0.0, priority=number)
    assert len(heap._rows) <= 64 + 4
    assert len(queue._ready) <= 64 + 4
    assert heap.pop() == ("a", 999)
    assert (item := queue.pop(0.0)) is not None
    assert item.priority == 999


@pytest.mark.parametrize("state", [WorkQueueState, PriorityQueueState])
@pytest.mark.parametrize(
    ("after", "due"),
    [(1.0, 0.005), (0.001, 0.001), (0.0, 0.005), (-1.0, 0.005)],
    ids=["longer", "shorter", "0", "past"],
)
def test_the_shorter_of_a_delay_and_that_of_the_limiter(state: Any, after: float, due: float) -> None:
    queue = state(ItemExponentialFailureRateLimiter(0.005, 1000.0))
    queue.add("a", 10.0, after, rate_limited=True)
    assert queue.limiter.num_requeues("a") == 1
    if after < 0 and state is PriorityQueueState:
        assert queue.pop(10.0) is not None, "the delay that has passed is the shorter one"
    else:
        assert queue.due("a") == 10.0 + due


FIRST, SECOND, THIRD = Cause("added"), Cause("updated"), Cause("requeue")


@pytest.mark.parametrize(
    ("added", "at", "causes"),
    [
        ([(5.0, FIRST)], 5.0, (FIRST,)),
        ([(5.0, FIRST)], 9.0, (FIRST,)),
        ([(5.0, FIRST), (5.0, SECOND)], 5.0, (FIRST, SECOND)),
        ([(5.0, FIRST), (5.0, None), (5.0, SECOND)], 5.0, (FIRST, SECOND)),
        ([(5.0, None), (5.0, SECOND)], 5.0, (SECOND,)),
        # what is due later was added to an item that waits already, for a shorter time
        ([(5.0, FIRST), (10.0, SECOND)], 5.0, (FIRST,)),
        ([(5.0, FIRST), (10.0, SECOND)], 10.0, (FIRST,)),
        ([(10.0, FIRST), (5.0, SECOND)], 10.0, (SECOND,)),
        ([(5.0, FIRST), (6.0, SECOND), (3.0, THIRD), (3.0, FIRST)], 6.0, (THIRD, FIRST)),
        ([(5.0, None)], 5.0, ()),
    ],
)
def test_an_item_that_waits_has_the_causes_of_its_first_deadline(
    added: Any, at: float, causes: tuple[Cause, ...]
) -> None:
    queue = WorkQueueState[str]()
    for seconds, cause in added:
        queue.add_after("a", seconds, 0.0, cause)
    first = min(seconds for seconds, _ in added)
    assert queue.waiting() == {"a": first}
    assert queue.pop(first - 0.1) is None
    work = queue.pop(at)
    assert work is not None
    assert (work.item, work.causes) == ("a", causes)
