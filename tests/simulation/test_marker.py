"""The arguments of the marker are checked, and name what is wrong."""

import pytest

from fakekube.simulation.marker import Budget, budget_of, settings_of


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("smoke", Budget(30)),
        ("pr", Budget(200)),
        ("nightly", Budget(5_000)),
        ("17", Budget(17)),
        ("60s", Budget(10**9, 60)),
        ("5m", Budget(10**9, 300)),
    ],
)
def test_budgets(text, budget):
    assert budget_of(text) == budget


@pytest.mark.parametrize("text", ["", "0", "fast", "0s", "-3", "1d"])
def test_a_budget_that_is_none(text):
    with pytest.raises(ValueError, match="is none of smoke, pr, nightly"):
        budget_of(text)


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"run": 3}, TypeError, "has no argument run"),
        ({"runs": 2}, ValueError, "runs=2 must be an integer of at least 3"),
        ({"runs": "many"}, ValueError, "runs='many' must be an integer"),
        ({"faults": "crash"}, TypeError, "faults='crash': pass a list"),
        ({"faults": ["crush"]}, ValueError, "'crush' is none of crash, lost"),
        ({"off": ["O99"]}, ValueError, "'O99' is none of O1"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, problem):
    with pytest.raises(error, match=problem):
        settings_of(arguments)


def test_the_budget_sets_the_runs_unless_they_are_given():
    assert settings_of({"budget": "smoke"}).runs == 30
    assert settings_of({"budget": "smoke", "runs": 12}).runs == 12
    assert settings_of({}).runs == 200
