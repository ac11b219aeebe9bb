"""What an exploration says of the plans that it has tried, and of those of its shards."""

from types import SimpleNamespace

import pytest

from fakekube.simulation.coverage import Coverage
from fakekube.simulation.explorer import Exploration
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.scenario import ScenarioRunner, _joined
from fakekube.virtualtime import NotQuiescent

CRASH, HOLD, BOTH = (
    parse_plan(f"FK1 seed=0 {text}")
    for text in (
        "crash@create cm/a#1",
        "hold(cm, create cm/a#1..reconcile)",
        "crash@create cm/a#1 + crash@create cm/b#1",
    )
)


def covered(*tried):
    coverage = Coverage()
    for each in tried:
        coverage.add(*each)
    return coverage


@pytest.mark.parametrize(
    ("tried", "plans", "lines"),
    [
        ([], 0, []),
        ([(CRASH, True)], 1, ["crash: 1 distinct atom exercised"]),
        ([(CRASH, True), (CRASH, True)], 2, ["crash: 1 distinct atom exercised"]),
        (
            [(CRASH, True), (HOLD, True), (BOTH, True)],
            3,
            ["crash: 2 distinct atoms exercised", "hold: 1 distinct atom exercised"],
        ),
        (
            [(CRASH, True), (HOLD, False), (BOTH, False)],
            3,
            ["crash: 1 distinct atom exercised", "not exercised: 2 plans"],
        ),
        ([(CRASH, True, "slow")], 1, [f"not judged: {CRASH}: slow"]),
        ([(CRASH, False, "slow")], 1, [f"not judged: {CRASH}: slow"]),
        (
            [(CRASH, False, "slow"), (HOLD, False), (BOTH, True)],
            3,
            ["crash: 2 distinct atoms exercised", "not exercised: 1 plans", f"not judged: {CRASH}: slow"],
        ),
    ],
)
def test_what_is_said_of_the_plans_that_were_tried(tried, plans, lines):
    coverage = covered(*tried)
    assert coverage.plans == plans
    assert coverage.lines() == lines


def explored(*tried, runs, bugs=(), trials=()):
    return Exploration(Observation(0), trials, runs, covered(*tried), bugs)


def bug(key, number):
    return SimpleNamespace(keys=[key], number=number)


def test_shards_are_joined_to_one_exploration():
    shards = [
        explored((CRASH, True), (HOLD, False), runs=3, trials=["a"]),
        explored((BOTH, True), (HOLD, True, "slow"), runs=4, trials=["b", "c"]),
    ]
    joined = _joined(shards)
    assert (joined.trials, joined.runs, joined.failed, joined.coverage.plans) == (["a", "b", "c"], 7, None, 4)
    assert joined.coverage.lines() == [
        "crash: 2 distinct atoms exercised", "not exercised: 1 plans", f"not judged: {HOLD}: slow",
    ]  # fmt: skip


def test_the_bugs_of_shards_are_shown_once_in_the_order_of_their_runs():
    late, soon, again = bug("a", 9), bug("b", 4), bug("a", 12)
    shards = [explored((HOLD, True), runs=1), explored(runs=1, bugs=[late]), explored(runs=1, bugs=[soon, again])]
    joined = _joined(shards)
    assert (joined.bugs, joined.failed, joined.runs) == ([soon, late], soon, 3)
    assert joined.coverage.lines() == ["hold: 1 distinct atom exercised"]


def test_of_equal_bugs_of_one_shard_the_first_is_shown():
    first, second, other = bug("a", 4), bug("a", 9), bug("a", 2)
    joined = _joined([explored(runs=1, bugs=[first, second]), explored(runs=1, bugs=[other])])
    assert joined.bugs == [first]


@pytest.mark.parametrize(
    ("before", "unjudged"), [("", "NotQuiescent: busy for 30 s"), ("the cluster did not settle", None)]
)
def test_a_run_whose_cluster_real_time_has_ended_while_it_closed_is_not_judged(before, unjudged):
    def observe(plan, observed):
        observed.append(Observation(plan.seed, unjudged=before))
        raise NotQuiescent("busy for 30 s\nthe stacks")

    found = ScenarioRunner.run(SimpleNamespace(_observe=observe), Plan(3))
    assert (found.seed, found.unjudged) == (3, unjudged or before)


def test_a_run_that_real_time_has_ended_before_there_is_anything_to_judge_is_an_error():
    def observe(plan, observed):
        raise NotQuiescent("busy")

    with pytest.raises(NotQuiescent, match="busy"):
        ScenarioRunner.run(SimpleNamespace(_observe=observe), Plan())


def test_what_shards_have_tried_is_the_union():
    mine, other = (
        covered((CRASH, True), (HOLD, False)),
        covered((CRASH, True), (BOTH, True), (HOLD, True), (CRASH, True, "slow")),
    )
    mine.include(other)
    assert (mine.plans, mine.missed, mine.unjudged) == (6, [str(HOLD)], {str(CRASH): "slow"})
    assert mine.exercised == {"crash": ["crash@create cm/a#1", "crash@create cm/b#1"], "hold": [str(HOLD.atoms[0])]}
    assert other.exercised["crash"] == ["crash@create cm/a#1", "crash@create cm/b#1"]
