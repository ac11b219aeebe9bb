"""The wider samples: explorations find each bug by its atom and oracle, and raise no alarm for the correct twins."""

import pytest

from fakekube.simulation.explorer import Settings
from fakekube.simulation.plan import Plan
from fakekube.simulation.scenario import ScenarioRunner, explore
from tests.simulation.widersamples import WIDER


def explored(name, *, bug, runs, **settings):
    sample = WIDER[name]
    settings = {**sample.EXPLORE, **settings}
    build = sample.make(bug)
    return explore(lambda kube: sample.scenario(kube, build), Settings(runs=runs, **settings), cluster=sample.CLUSTER)


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDER)
def test_the_bug_is_found_by_its_atom_and_oracle(name):
    failed = explored(name, bug=True, runs=40).failed
    sample = WIDER[name]
    assert (failed.reduced.plan.atoms[0].name, failed.violation.oracle) == (sample.ATOM, sample.ORACLE)
    assert len(failed.reduced.plan.atoms) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDER)
def test_the_correct_twin_raises_no_alarm(name):
    found = explored(name, bug=False, runs=30)
    assert [str(one.violation) for one in found.bugs] == []
    assert WIDER[name].ATOM in found.coverage.exercised


@pytest.mark.slow
@pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])
@pytest.mark.parametrize("name", WIDER)
def test_a_wider_sample_passes_without_faults_and_is_the_same_each_time(name, bug):
    sample = WIDER[name]
    runner = ScenarioRunner(lambda kube: sample.scenario(kube, sample.make(bug)), sample.CLUSTER)
    first, second = (runner.run(Plan(7)) for _ in range(2))
    assert (first.failure, first.unsettled) == ("", "")
    assert list(map(str, first.commits)) == list(map(str, second.commits))
