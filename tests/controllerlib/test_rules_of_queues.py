"""Predicates by the type of event, and items that are due while another one is processed."""

from collections.abc import Mapping
from typing import Any

import pytest

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
from controllerlib.workqueue.queuestate import WorkQueueState
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
