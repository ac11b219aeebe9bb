"""Predicates."""

from typing import Any

import pytest

from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent
from controllerlib.controller.predicate import (
    Predicate,
    PredicateFuncs,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    label_selector,
    labels_changed,
    negated,
    of_object,
    passes,
    resource_version_changed,
)
from tests.controllerlib.objects import pod
from tests.controllerlib.rig import BACKUP, Operator, acting

OTHERS: list[Event] = [CreateEvent(pod("a")), DeleteEvent(pod("a")), GenericEvent(pod("a"))]


def update(old: dict[str, Any], new: dict[str, Any]) -> UpdateEvent:
    return UpdateEvent(pod("a", **old), pod("a", **new))


@pytest.mark.parametrize(
    ("predicate", "old", "new", "passed"),
    [
        pytest.param(generation_changed, {"generation": 1}, {"generation": 1}, False, id="PR-01-same"),
        pytest.param(generation_changed, {"generation": 1}, {"generation": 2}, True, id="PR-01-changed"),
        pytest.param(resource_version_changed, {"version": 1}, {"version": 1}, False, id="PR-02-version-same"),
        pytest.param(resource_version_changed, {"version": 1}, {"version": 2}, True, id="PR-02-version-changed"),
        pytest.param(labels_changed, {"labels": {"a": "b"}}, {"labels": {"a": "b"}}, False, id="PR-02-labels-same"),
        pytest.param(labels_changed, {"labels": {"a": "b"}}, {}, True, id="PR-02-labels-changed"),
        pytest.param(labels_changed, {"labels": None}, {"labels": {}}, False, id="PR-02-no-labels"),
        pytest.param(annotations_changed, {}, {"annotations": {}}, False, id="PR-02-no-annotations"),
        pytest.param(annotations_changed, {}, {"annotations": {"a": "b"}}, True, id="PR-02-annotations-changed"),
    ],
)
def test_updates(predicate: Predicate, old: dict[str, Any], new: dict[str, Any], passed: bool) -> None:
    assert predicate(update(old, new)) is passed


ALL_FOUR = [generation_changed, resource_version_changed, labels_changed, annotations_changed]


def test_pr_01_other_events_pass() -> None:
    assert all(predicate(event) for predicate in ALL_FOUR for event in OTHERS)


def test_pr_03_an_update_without_an_old_or_new_object() -> None:
    broken = [UpdateEvent(None, pod("a")), UpdateEvent(pod("a"), None)]
    assert not any(predicate(event) for predicate in ALL_FOUR for event in broken)


def yes(event: Event) -> bool:
    return True


def no(event: Event) -> bool:
    return False


@pytest.mark.parametrize("event", [*OTHERS, update({}, {})], ids=lambda event: f"PR-04-{type(event).__name__}")
def test_and_or_not(event: Event) -> None:
    table = [(all_of, [True, False, False, False]), (any_of, [True, True, True, False])]
    for combine, expected in table:
        found = [combine(left, right)(event) for left in (yes, no) for right in (yes, no)]
        assert found == expected
    assert [all_of()(event), any_of()(event), negated(yes)(event), negated(no)(event)] == [True, False, False, True]


def test_pr_04_evaluation_stops_at_the_first_answer() -> None:
    asked: list[str] = []

    def note(answer: bool) -> Predicate:
        return lambda event: bool(asked.append(str(answer))) or answer

    all_of(note(False), note(True))(OTHERS[0])
    any_of(note(True), note(False))(OTHERS[0])
    assert asked == ["False", "True"]


def test_pr_05_not_applies_to_every_kind_of_event() -> None:
    assert not negated(generation_changed)(CreateEvent(pod("a")))


def test_pr_06_leaving_the_selection_is_rejected() -> None:
    predicate = label_selector("app=web")
    assert not predicate(update({"labels": {"app": "web"}}, {"labels": {"app": "db"}}))
    assert predicate(update({"labels": {"app": "db"}}, {"labels": {"app": "web"}}))
    assert not predicate(CreateEvent(pod("a")))


def test_pr_07_either_change() -> None:
    predicate = any_of(generation_changed, labels_changed)
    assert predicate(update({"generation": 1}, {"generation": 1, "labels": {"a": "b"}}))
    assert not predicate(update({"generation": 1}, {"generation": 1, "annotations": {"a": "b"}}))


def test_predicate_funcs() -> None:
    predicate = PredicateFuncs(create=no, delete=no, update=no, generic=no)
    assert not any(predicate(event) for event in [*OTHERS, update({}, {})])
    assert all(PredicateFuncs()(event) for event in [*OTHERS, update({}, {})])
    assert not passes(OTHERS[0], [yes, no])
    assert not of_object(lambda obj: True)(CreateEvent(None))


@pytest.mark.parametrize(
    ("predicates", "causes", "priorities"),
    [
        pytest.param([generation_changed], ["added"], [-100], id="PR-08-generation-changed"),
        pytest.param([], ["added", "resync"], [-100, -100], id="PR-08-no-predicates"),
    ],
)
async def test_a_resync_does_not_change_the_generation(
    predicates: list[Predicate], causes: list[str], priorities: list[int]
) -> None:
    operator = Operator(sync_period=100.0)
    operator.api.put(*BACKUP, "nightly")
    operator.controller().for_(*BACKUP, predicates=predicates).complete(acting())
    await operator.run(150)
    assert operator.notes.causes() == causes
    assert operator.notes.priorities() == priorities
    assert [event.kind for event in operator.notes.informers if event.kind == "resync"] == ["resync"]
