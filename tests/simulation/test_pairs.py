"""Pairs of atoms that are clean alone are tried, and a bug that needs both is found and shrunk to both."""

from itertools import islice

import pytest

from controllerlib import ApiError
from fakekube.simulation.atoms import Dup
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import Plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, find
from tests.simulation.storeoperator import ran


def builder(bug):
    def build(manager):
        live, made = manager.api_reader, set()

        async def reconcile(request):
            box = await find(live, API, "Box", request.name, request.namespace)
            if box is None:
                return
            is_adopted = await find(live, "v1", "ConfigMap", request.name, request.namespace) is not None
            if not is_adopted:
                made.add(request.name)
                await live.create(child(box, "ConfigMap", request.name))
            try:
                if await find(live, "v1", "Secret", request.name, request.namespace) is None:
                    await live.create(child(box, "Secret", request.name))
            except ApiError:
                if not bug or not is_adopted or request.name in made:
                    raise

        manager.controller("box").for_(API, "Box").complete(reconcile)

    return build


def scenario(bug):
    def run(fakekube):
        fakekube.apply(definition("Box", size="integer"))
        fakekube.start(builder(bug))
        fakekube.create(custom("Box", size=1))
        fakekube.advance(60)

    return run


def explored(bug, faults=("crash", "error")):
    runner = ScenarioRunner(scenario(bug))
    return Explorer(runner.run, Settings(runs=150, faults=faults), lambda: runner.facts).explore()


def is_first_look(plan):
    """Whether many places of one family are tried at once."""
    return len(plan.atoms) > 1 and len({atom.name for atom in plan.atoms}) == 1


@pytest.mark.slow
def test_a_bug_that_needs_two_faults_is_found():
    found = explored(bug=True)
    alone = [trial for trial in found.trials if not is_first_look(trial.plan)]
    assert all(len(trial.plan.atoms) == 1 for trial in alone[:10])
    assert [atom.name for atom in found.failed.reduced.plan.atoms] in (["crash", "error"], ["error", "crash"])
    places = {atom.name: atom.at for atom in found.failed.reduced.plan.atoms}
    assert (str(places["crash"]), places["error"].target) == ("create cm/a#1", "secret/a")
    assert (found.failed.violation.oracle, found.failed.violation.target) == ("O2", "secret/a")


@pytest.mark.slow
def test_the_correct_twin_has_no_alarm_under_pairs():
    found = explored(bug=False)
    assert found.failed is None
    assert max(len(trial.plan.atoms) for trial in found.trials if not is_first_look(trial.plan)) == 2


@pytest.fixture(scope="module")
def planner():
    return Planner(ran("", scenario(False))[0], seed=4)


def test_pairs_are_of_clean_anchored_atoms_and_drawn_from_the_seed(planner):
    clean = planner.singles()
    pairs = list(planner.pairs(clean))
    assert pairs == list(planner.pairs(clean))
    assert {(atom,) for plan in pairs for atom in plan.atoms} == {plan.atoms for plan in clean}
    assert all(first != second for first, second in (plan.atoms for plan in pairs))
    assert len(set(pairs)) == len(pairs)


def test_two_atoms_of_one_family_at_one_place_are_no_pair(planner):
    for plan in planner.pairs(planner.singles()):
        first, second = plan.atoms
        assert first.name != second.name or str(getattr(first, "at", first)) != str(getattr(second, "at", second))


def test_seeded_orders_follow_each_second_one_with_a_crash(planner):
    plans = list(islice(planner.orders(), 4))
    assert [plan.seed for plan in plans] == [5, 6, 7, 8]
    assert [[atom.name for atom in plan.atoms] for plan in plans] == [["order"], ["order", "crash"]] * 2
    assert list(Planner(ran("", scenario(False))[0], faults=["crash"]).orders()) == []


def test_pairs_without_clean_plans_are_none(planner):
    assert list(planner.pairs([])) == []
    assert list(planner.pairs([Plan(4, (Dup(),))])) == []
