"""The arguments of the marker are checked, and name what is wrong."""

import pytest

from fakekube.simulation.atoms import FAULTS
from fakekube.simulation.explorer import Settings
from fakekube.simulation.marker import Budget, budget_of, plans_of, settings_of
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.releases import Releases


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


@pytest.mark.parametrize(
    ("text", "budget"),
    [("1", Budget(1)), ("1s", Budget(10**9, 1)), ("2m", Budget(10**9, 120)), ("3h", Budget(10**9, 10_800))],
)
def test_budgets_in_numbers_and_times(text, budget):
    assert budget_of(text) == budget


@pytest.mark.parametrize("text", ["1.5", "60 s", "0m", "s", "60ss", "60s "])
def test_budgets_that_are_no_time(text):
    with pytest.raises(ValueError, match="or a time like '60s'"):
        budget_of(text)


def old():
    """The old release."""


def new():
    """The new release."""


def test_each_argument_is_a_setting():
    arguments = {
        "runs": 3, "faults": ["crash", "surge"], "mask": ["status.*"], "expect_delta": ["create job/*"], "bugs": 1,
        "owner_labels": ["owner"], "off": ["O5", "test"], "known": ["O2: *"], "upgrade": (old, new),
        "upgrade_mask": ["cm/*"], "unrealistic": True, "budget": "60s",
    }  # fmt: skip
    assert settings_of(arguments, seed=7, shard=(1, 4)) == Settings(
        runs=3, seconds=60, faults=("crash", "surge"), seed=7, mask=("status.*",), expect_delta=("create job/*",),
        owner_labels=("owner",), off=("O5", "test"), shard=(1, 4), unrealistic=True, bugs=1, known=("O2: *",),
        releases=Releases(old, new), upgrade_mask=("cm/*",),
    )  # fmt: skip
    assert settings_of({}) == Settings(runs=200, faults=FAULTS, bugs=10)
    assert "surge" not in FAULTS


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"runs": True}, ValueError, "runs=True must be an integer of at least 3: two runs are the reference"),
        ({"runs": 3.0}, ValueError, "runs=3.0 must be an integer"),
        ({"bugs": 0}, ValueError, "bugs=0 must be an integer of at least 1"),
        ({"bugs": True}, ValueError, "bugs=True must be an integer"),
        ({"bugs": "1"}, ValueError, "bugs='1' must be an integer"),
        ({"mask": "status.*"}, TypeError, r"mask='status\.\*': pass a list of texts"),
        ({"mask": [1]}, TypeError, r"mask=\[1\]: pass a list of texts"),
        ({"mask": ["a", 1]}, TypeError, "pass a list of texts"),
        ({"off": ["o5"]}, ValueError, r"off=\['o5'\]: 'o5' is none of O1, O2"),
        ({"faults": ["down"]}, ValueError, "'down' is none of crash"),
        ({"seed": 1, "age": 2}, TypeError, r"has no argument age, seed \(it has runs, faults"),
        ({"upgrade": "a"}, TypeError, "pass two functions"),
        ({"budget": "soon"}, ValueError, "budget 'soon' is none of"),
        ({"budget": 0}, ValueError, "budget '0' is none of"),
    ],
)
def test_what_is_wrong_with_an_argument(arguments, error, problem):
    with pytest.raises(error, match=problem):
        settings_of(arguments)


@pytest.mark.parametrize(
    ("plans", "found"),
    [
        (None, ("", ())),
        ("kept", ("kept", ())),
        ([], ("", [])),
        (["FK1 dup", "FK1 seed=3 order"], ("", [parse_plan("FK1 dup"), parse_plan("FK1 seed=3 order")])),
    ],
)
def test_plans_are_a_directory_or_texts(plans, found):
    assert plans_of({} if plans is None else {"plans": plans}) == found


@pytest.mark.parametrize(
    ("plans", "error", "problem"),
    [
        (["FK1 seed=3"], ValueError, "plans: 'FK1 seed=3' has no atom"),
        (["dup"], ValueError, "expected a text that starts with 'FK1'"),
        ([3], TypeError, r"plans=\[3\]: pass a list of texts"),
    ],
)
def test_plans_that_cannot_be_tried(plans, error, problem):
    with pytest.raises(error, match=problem):
        plans_of({"plans": plans})
