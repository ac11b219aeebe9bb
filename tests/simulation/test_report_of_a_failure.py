"""The report of an exploration that fails: what the replayed plan does wrong, and what all runs have perturbed."""

import pytest

from fakekube.simulation.atoms import Crash, Lost
from fakekube.simulation.explorer import Trial
from fakekube.simulation.observation import Violation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.report import failure, passing
from tests.simulation.test_explorer import ABSENT, FINAL, LOST_SECRET, explorer

CM, SECRET = "crash@create cm/a#1", "crash@create secret/a#1"


def without(*targets):
    return {"final": {name: one for name, one in FINAL.items() if name not in targets}}


def crashed(plan):
    return {atom.at.target for atom in plan.atoms if isinstance(atom, Crash | Lost)}


def report(differing, **settings):
    found, _ = explorer(differing, **settings)
    result = found.explore()
    return result, failure(result, result.failed, "a.py::test_it", 200).split("\n")


def test_what_else_is_wrong_is_that_of_the_replayed_plan():
    """Both crashes together lose two objects; the smallest plan loses the Secret only."""

    def differing(plan):
        places = crashed(plan)
        return without("cm/a", "secret/a") if len(places) == 2 else without("secret/a") if places == {"cm/a"} else {}

    result, lines = report(differing, runs=40)
    assert [str(one) for one in result.failed.trial.violations][1:], "more is wrong in the run that has shown it"
    assert (result.failed.reduced.plan, str(result.failed.violation)) == (parse_plan(f"FK1 seed=0 {CM}"), ABSENT)
    assert result.failed.also == []
    assert "also:" not in lines


def test_what_the_replayed_plan_does_wrong_besides_is_said_without_what_is_known():
    def differing(plan):
        return without("cm/a", "secret/a", "store/a") if crashed(plan) else {}

    result, lines = report(differing, runs=40, known=["O2: store/a*"], bugs=1)
    at = lines.index("also:")
    assert len(result.failed.also) == 1
    assert lines[at + 1] == f"  {result.failed.also[0]}"
    assert {result.failed.violation.target, result.failed.also[0].target} == {"cm/a", "secret/a"}
    assert not lines[at + 2].startswith("  ")


def test_atoms_of_the_failing_run_that_took_effect_are_counted():
    """The crash at the first write prevents the second one: the run does not exercise its plan, and fails."""

    def differing(plan):
        return {**LOST_SECRET, "fired": (0,)} if "cm/a" in crashed(plan) else {}

    result, lines = report(differing, runs=3)
    assert (result.runs > 3, len(result.trials)) == (True, 1), "the first run with a fault fails"
    assert lines[-2] == "crash: 1 distinct atom exercised"
    assert lines[-1].startswith("crashed after 1 of 2 writes, lost the answers of 0 of 2")


BAD = [Violation("O2", "cm/a", "is absent")]
BOTH = parse_plan(f"FK1 seed=0 {CM} + {SECRET}")


@pytest.mark.parametrize(
    ("trial", "effective"),
    [
        (Trial(BOTH), BOTH),
        (Trial(BOTH, BAD), BOTH),
        (Trial(BOTH, exercised=False), None),
        (Trial(BOTH, exercised=False, fired=(0,)), None),
        (Trial(BOTH, BAD, exercised=False, fired=(1,)), parse_plan(f"FK1 seed=0 {SECRET}")),
        (Trial(BOTH, known=BAD, exercised=False, fired=(0,)), parse_plan(f"FK1 seed=0 {CM}")),
        (Trial(BOTH, BAD, exercised=False), None),
        (Trial(BOTH, BAD, exercised=False, unjudged="busy", fired=(0,)), None),
    ],
)
def test_the_atoms_of_a_trial_that_count(trial, effective):
    assert trial.effective == effective


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (parse_plan(f"FK1 seed=3 skip=b {CM}"), f"FK1 seed=3 skip=b {CM}"),
        (Plan(3), "without faults"),
        (Plan(3, skipped=("b", "c")), "without faults and without the step 'b' and without the step 'c'"),
    ],
)
def test_only_a_plan_that_replays_is_shown_as_one(plan, words):
    assert passing(plan) == words
