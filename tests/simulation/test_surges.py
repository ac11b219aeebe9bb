"""Two replicas of an operator live at the same time, as in a rolling update."""

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, BY_LABEL, custom, definition, ensure, find, labelled

BOTH = pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])


def scaling(bug):
    """A fleet has as many members as its size. The bug: their names are drawn, so that each replica makes its own."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            fleet = await find(live, API, "Fleet", request.name, request.namespace)
            if fleet is None:
                return
            have = await live.list("v1", "ConfigMap", request.namespace, label_selector=f"owner={request.name}")
            for number in range(len(have) if bug else 0, fleet["spec"]["size"]):
                name = f"{request.name}-" if bug else f"{request.name}-{number}"
                member = labelled(fleet, "ConfigMap", name, data={"x": "y"})
                if bug:
                    await live.create({**member, "metadata": {**member["metadata"], "name": "", "generateName": name}})
                else:
                    await ensure(live, member)

        builder = manager.controller("fleet").for_(API, "Fleet")
        builder.watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


@pytest.mark.slow
@BOTH
def test_two_replicas_that_react_to_one_change(bug):
    def scenario(fakekube):
        fakekube.apply(definition("Fleet", size="integer"))
        fakekube.start(scaling(bug))
        fakekube.create(custom("Fleet", size=1))
        fakekube.advance(60)
        fakekube.patch(API, "Fleet", "a", {"spec": {"size": 3}})
        fakekube.advance(60)

    runner = ScenarioRunner(scenario)
    found = Explorer(runner.run, Settings(runs=10, faults=["surge"]), lambda: runner.facts).explore()
    assert found.coverage.exercised["surge"]
    assert (found.failed is not None) is bug
    if bug:
        assert found.failed.violation.oracle in ("O2", "O3")
        assert [atom.name for atom in found.failed.reduced.plan.atoms] == ["surge"]


def test_the_first_replica_dies_and_the_second_one_goes_on():
    from fakekube.simulation.plan import parse_plan

    def scenario(fakekube):
        fakekube.apply(definition("Fleet", size="integer"))
        fakekube.start(scaling(bug=False))
        fakekube.create(custom("Fleet", size=1))
        fakekube.advance(60)
        fakekube.patch(API, "Fleet", "a", {"spec": {"size": 2}})
        fakekube.advance(60)

    observed = ScenarioRunner(scenario).run(parse_plan("FK1 seed=0 surge(until=reconcile)@create cm/a-0#1"))
    assert observed.fired == (0,)
    assert {(one.anchor.target, one.incarnation) for one in observed.by_operators()} == {("cm/a-0", 1), ("cm/a-1", 2)}
