"""Operators that write again and again while a fault lasts take time for it; a hot loop is a failure."""

from collections import Counter

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.delays import Delays, Pace
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, find


def test_the_first_writes_after_a_second_without_take_no_time():
    pace = Pace()
    assert [pace.of_write("a", 7.0) for _ in range(50)] == [0.0] * 50
    assert pace.of_write("a", 7.0) == pace.of_write("a", 7.9) == 0.01
    assert pace.of_write("b", 7.0) == 0.0
    assert pace.of_write("a", 8.9) == 0.0


@pytest.mark.parametrize(
    ("made", "seconds"),
    [(49, 0.0), (50, 0.01), (98, 0.01), (99, 0.02), (149, 0.03), (2_400, 0.48), (2_499, 0.5), (9_999, 0.5)],
)
def test_each_write_takes_longer_after_fifty_more(made, seconds):
    pace = Pace()
    for _ in range(made):
        pace.of_write("a", 7.0)
    assert pace.of_write("a", 7.9) == pytest.approx(seconds)


@pytest.mark.parametrize(("pause", "is_new"), [(0.999, False), (1.0, True), (1.5, True)])
def test_a_second_without_a_write_is_a_new_beginning(pause, is_new):
    pace = Pace()
    for _ in range(50):
        pace.of_write("a", 0.0)
    assert (pace.of_write("a", pause) == 0.0) is is_new
    assert (pace.of_write("a", pause + 0.5) == 0.0) is is_new


DRAWS = 20_000


def drawn(draw):
    """How often each delay was drawn."""
    return Counter(draw() for _ in range(DRAWS))


@pytest.mark.parametrize(("name", "share"), [("of_event", 0.15), ("of_request", 0.08)])
def test_few_events_and_requests_are_late_by_one_of_three_delays(name, share):
    found = drawn(getattr(Delays(parse_plan("FK1 seed=3 order")), name))
    assert set(found) == {0.0, 0.000_1, 0.001, 0.005}
    for seconds in (0.000_1, 0.001, 0.005):
        assert found[seconds] / DRAWS == pytest.approx(share / 3, rel=0.15)


def test_what_is_late_is_drawn_from_the_seed_and_only_with_the_atom():
    def first(text):
        delays = Delays(parse_plan(text))
        return [delays.of_event() for _ in range(50)]

    assert first("FK1 seed=3 order") == first("FK1 seed=3 order + dup") != first("FK1 seed=4 order")
    assert [Delays(parse_plan(f"FK1 seed=3 {text}")).active for text in ("order", "dup", "")] == [True, False, False]


def test_writes_that_do_not_end_take_longer_and_longer():
    pace, now, made = Pace(), 0.0, 0
    while now < 300:
        now, made = now + pace.of_write("a", now), made + 1
    assert 1_000 < made < 2_000


def judged(scenario, plan, **cluster):
    """The oracles that a plan fails, and its run."""
    runner = ScenarioRunner(scenario, cluster=cluster)
    explorer = Explorer(runner.run, Settings(), lambda: runner.facts)
    judge = explorer.reference()[1]
    observed = explorer.observe(parse_plan(plan))
    return [one.oracle for one in judge.violations(observed)], observed


def creating(fakekube):
    """The operator creates a child of a parent that is gone for it to be deleted, until its watch says so."""

    def build(manager):
        async def reconcile(request, client):
            parent = await find(client, API, "Parent", request.name, request.namespace)
            if parent is not None and await find(client, "v1", "ConfigMap", request.name, request.namespace) is None:
                await client.create(child(parent, "ConfigMap", request.name))

        manager.controller("parent").for_(API, "Parent").owns("v1", "ConfigMap").complete(reconcile)

    fakekube.apply(definition("Parent", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Parent", size=1))
    fakekube.advance(60)
    fakekube.delete(API, "Parent", "a")
    fakekube.advance(60)


@pytest.mark.slow
def test_what_an_operator_with_a_late_watch_creates_for_the_garbage_collector_is_no_hot_loop():
    plan = "FK1 seed=0 hold(parent, delete parent/a#1..create cm/other#1)"
    oracles, observed = judged(creating, plan, controllers=["garbagecollector"])
    assert oracles == []
    created = [one for one in observed.by_operators() if str(one.anchor).startswith("create cm/a")]
    assert 100 < len(created) < 2_000


def looping(fakekube):
    """After an error the operator writes a counter for ever."""

    def build(manager):
        failed = []

        async def reconcile(request, client):
            parent = await find(manager.api_reader, API, "Parent", request.name, request.namespace)
            if parent is None:
                return
            try:
                await client.patch(parent, {"metadata": {"labels": {"seen": "yes"}}})
            except Exception:
                failed.append(request)
            if failed:
                count = int(parent["metadata"].get("annotations", {}).get("count", 0)) + 1
                await client.patch(parent, {"metadata": {"annotations": {"count": str(count)}}})

        manager.controller("parent").for_(API, "Parent").complete(reconcile)

    fakekube.apply(definition("Parent", size="integer"))
    fakekube.start(build)
    fakekube.create(custom("Parent", size=1))
    fakekube.advance(60)


@pytest.mark.slow
def test_a_loop_that_a_fault_begins_is_found():
    oracles, observed = judged(looping, "FK1 seed=0 error(503, 1)@update parent/a{metadata.labels.seen}#1")
    assert observed.fired
    assert "O5" in oracles or "O1" in oracles
