"""The answer of a request is late while watches go on: an operator may see the event of its own write first."""

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, find

BOTH = pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])


def building(bug):
    """A box has a ConfigMap. What is not known to be its own is an intruder, and deleted by another controller.

    The bug: a ConfigMap is its own only when the answer of the creation has come.
    """

    def build(manager):
        live, own = manager.api_reader, set()

        async def reconcile(request, client):
            box = await find(live, API, "Box", request.name, request.namespace)
            if box is None or await find(live, "v1", "ConfigMap", request.name, request.namespace):
                return
            if not bug:
                own.add(request.name)
            await live.create(child(box, "ConfigMap", request.name, data={"x": "y"}))
            own.add(request.name)

        async def guard(request, client):
            found = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            if found is not None and found.get("data") and request.name not in own:
                await live.delete(found)

        manager.controller("box").for_(API, "Box").complete(reconcile)
        manager.controller("guard").for_("v1", "ConfigMap").complete(guard)

    return build


def scenario(bug):
    def test(fakekube):
        fakekube.apply(definition("Box"))
        fakekube.start(building(bug))
        fakekube.create(custom("Box"))
        fakekube.advance(60)

    return test


def explorer_of(bug, **settings):
    runner = ScenarioRunner(scenario(bug))
    return Explorer(runner.run, Settings(**settings), lambda: runner.facts)


@BOTH
def test_an_event_before_the_answer(bug):
    found = explorer_of(bug, runs=12, faults=["late"]).explore()
    assert (found.failed is not None) is bug
    if bug:
        assert str(found.failed.reduced.plan) == "FK1 seed=0 late(until=rest)@create cm/a#1"
        assert str(found.failed.violation) == "O2: cm/a is absent at the end (the reference has it)"


@pytest.mark.parametrize(
    ("atoms", "answered"),
    [
        ("late(until=rest)@create cm/a#1", 0.0),
        ("late(until=create secret/never#1)@create cm/a#1", 30.0),
        ("late(until=rest)@get box/a#1", 0.0),
        ("late(until=create secret/never#1)@get box/a#1", 30.0),
    ],
)
def test_how_long_an_answer_is_late(atoms, answered):
    explorer = explorer_of(False)
    judge = explorer.reference()[1]
    observed = explorer.observe(parse_plan(f"FK1 seed=0 {atoms}"))
    assert list(observed.fired) == [0]
    assert judge.violations(observed) == []
    (made,) = [one for one in observed.commits if one.anchor.target == "cm/a" and one.anchor.verb == "create"]
    if "get" in atoms:
        assert made.at == pytest.approx(answered, abs=1)
    ended = [one.at for one in observed.deliveries if one.kind == "cm"]
    assert ended
