"""The words of a report: the bugs with their plans, what else is wrong, both runs beside each other, what was tried."""

from dataclasses import replace

import pytest

from fakekube.simulation.coverage import Coverage
from fakekube.simulation.explorer import Exploration, Failed, Trial
from fakekube.simulation.marker import settings_of
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.reducer import Reduced
from fakekube.simulation.report import compared, failure, headline, properties, side_by_side, success
from tests.simulation.observations import commit, obj

ONE = "crash@create cm/a#1"
TWO = f"{ONE} + crash@create cm/b#1"
ABSENT = Violation("O2", "cm/a", "is absent at the end")
REFERENCE = Observation(0, commits=[commit(1, "create", "store/a", "test"), commit(2, "create", "cm/a")])
RUN = replace(REFERENCE, commits=REFERENCE.commits[:1])


def plan(text, seed=0):
    return parse_plan(f"FK1 seed={seed} {text}")


def bug(found=TWO, smallest=ONE, violation=ABSENT, also=(), clean=None, **more):
    trial = Trial(plan(found), [violation])
    reduced = Reduced(plan(smallest), 5, None if clean is None else plan(clean))
    return Failed(**{"trial": trial, "number": 4, "reduced": reduced, "violation": violation, "observed": RUN, "reference": REFERENCE, "also": also, **more})  # fmt: skip


def exploration(*bugs, trials=(), runs=9):
    coverage = Coverage()
    for one in trials:
        coverage.add(one.plan, one.exercised, one.unjudged)
    return Exploration(REFERENCE, trials, runs, coverage, bugs)


def lines(*bugs, nodeid="test_a.py::test_it", **more):
    return failure(exploration(*bugs, **more), bugs[0], nodeid, 200).split("\n")


@pytest.mark.parametrize(
    ("found", "smallest", "text"),
    [
        (TWO, ONE, "run 4 of 200, shrunk 2 atoms -> 1"),
        (ONE, ONE, "run 4 of 200, 1 atom"),
        (TWO, TWO, "run 4 of 200, 2 atoms"),
        (ONE, "", "run 4 of 200, shrunk 1 atoms -> 0"),
        ("", "", "without faults"),
    ],
)
def test_the_first_line(found, smallest, text):
    assert headline(bug(found, smallest), 200) == f"O2: cm/a is absent at the end      {text}"


@pytest.mark.parametrize("text", ["60s", "5m"])
def test_a_budget_of_real_time_has_no_number_of_runs(text):
    settings = settings_of({"budget": text})
    shown = "O2: cm/a is absent at the end      run 4, 1 atom"
    assert headline(bug(ONE), settings.runs) == shown
    assert headline(bug(ONE), settings.for_shard(1, 8).runs) == shown


@pytest.mark.parametrize(
    ("nodeid", "shown"), [("test_a.py::test_it", "test_a.py::test_it"), ("a.py::t[x y]", "'a.py::t[x y]'")]
)
def test_the_line_that_replays_can_be_pasted_into_a_shell(nodeid, shown):
    assert lines(bug(), nodeid=nodeid)[1] == f"replay: pytest {shown} --fakekube-plan='FK1 seed=0 {ONE}'"


def test_the_report_of_one_bug():
    more = [Violation("O3", "cm/b", f"is created {number} times") for number in (2, 3, 4, 5)]
    shown = lines(bug(also=more, clean="dup", plans=3))
    assert shown[:8] == [
        "O2: cm/a is absent at the end      run 4 of 200, shrunk 2 atoms -> 1",
        f"replay: pytest test_a.py::test_it --fakekube-plan='FK1 seed=0 {ONE}'",
        "shown by 3 more plans",
        "also:",
        *(f"  O3: cm/b is created {number} times" for number in (2, 3, 4)),
        f"found as: FK1 seed=0 {TWO}",
    ]
    assert shown[8:11] == ["passes: FK1 seed=0 dup", "", *side_by_side(REFERENCE, RUN)[:1]]


@pytest.mark.parametrize(("plans", "shown"), [(0, []), (1, ["shown by 1 more plan"]), (2, ["shown by 2 more plans"])])
def test_how_many_plans_show_a_bug(plans, shown):
    assert [line for line in lines(bug(plans=plans)) if line.startswith("shown")] == shown


def test_what_is_not_so_is_not_said():
    shown = "\n".join(lines(bug(ONE, ONE)))
    for words in ("also:", "found as:", "passes:", "more bug", "known:", "counts that hold"):
        assert words not in shown
    without = lines(bug("", ""))
    assert without == ["O2: cm/a is absent at the end      without faults", ""]


@pytest.mark.parametrize(
    ("oracle", "code", "hinted"),
    [
        ("test", "assert fakekube.reconciles('db') == 4", True),
        ("test", "assert len(fakekube.requests(verb='get')) == 4", True),
        ("test", "assert counted() == 4", True),
        ("test", "assert size() == 4", False),
        ("test", "assert discounts() == 4", False),
        ("O2", "assert fakekube.reconciles('db') == 4", False),
    ],
)
def test_assertions_about_counts_have_a_hint(oracle, code, hinted):
    found = bug(violation=replace(ABSENT, oracle=oracle), observed=replace(RUN, code=code))
    hint = "counts that hold only without faults belong under `if fakekube.exploration.calm:`"
    assert (hint in lines(found)) is hinted


def test_further_bugs_have_the_line_that_replays_them_and_no_story():
    second = bug("dup", "dup", replace(ABSENT, target="cm/b"), plans=1, number=7)
    third = bug("order", "order", replace(ABSENT, target="cm/c"), number=9)
    two, three = lines(bug(), second), lines(bug(), second, third)
    at = two.index("1 more bug:")
    assert two[at - 1 : at + 4] == [
        "",
        "1 more bug:",
        "O2: cm/b is absent at the end      run 7 of 200, 1 atom",
        "replay: pytest test_a.py::test_it --fakekube-plan='FK1 seed=0 dup'",
        "shown by 1 more plan",
    ]
    assert "2 more bugs:" in three
    assert sum(line.startswith("replay:") for line in three) == 3
    assert sum(line.startswith("reference ") for line in three) == 1


KNOWN = Violation("O5", "db", "has 99 reconciles")


@pytest.mark.parametrize(("times", "shown"), [(1, "1 plan"), (2, "2 plans")])
def test_what_is_in_the_baseline_and_what_was_tried_is_at_the_end(times, shown):
    trials = [Trial(plan(ONE, seed), known=[KNOWN, KNOWN]) for seed in range(times)]
    trials.append(Trial(plan("crash@create cm/z#1"), exercised=False))
    ends = [
        "",
        f"known: O5: db has 99 reconciles ({shown})",
        "crash: 1 distinct atom exercised",
        "not exercised: 1 plans",
    ]
    assert lines(bug(), trials=trials)[-5:-1] == ends
    passed = success(exploration(trials=trials)).split("\n")
    assert passed[-1] == f"  {ends[1]}"


def test_the_report_of_an_exploration_without_a_failure():
    trials = [Trial(plan(ONE)), Trial(plan("dup")), Trial(plan("crash@create cm/z#1"), exercised=False)]
    assert success(exploration(trials=trials)).split("\n") == [
        "explored 2 plans in 9 runs without a failure; they combine these atoms:",
        "  crash: 1 distinct atom exercised",
        "  dup: 1 distinct atom exercised",
        "  not exercised: 1 plans",
        "  crashed after 1 of 1 writes, lost the answers of 0 of 1, failed 0 of 1; failed 0 of 0 reads; "
        "delayed the watches of 0 of 0 kinds",
    ]
    assert success(exploration()).startswith("explored 0 plans in 9 runs without a failure\n")


def test_the_figures_as_properties_of_a_report():
    trials = [Trial(plan(ONE)), Trial(plan("lost(504)@create cm/a#1"), exercised=False)]
    assert dict(properties(exploration(bug(), trials=trials))) == {
        "fakekube_runs": 9,
        "fakekube_plans": 1,
        "fakekube_bugs": 1,
        "fakekube_crashes": "1 of 1",
        "fakekube_losses": "0 of 1",
        "fakekube_failures": "0 of 1",
        "fakekube_reads": "0 of 0",
        "fakekube_watches": "0 of 0",
    }


RENEWED = (
    obj("Lease", "l", spec={"renewTime": 1, "holder": "a"}),
    obj("Lease", "l", spec={"renewTime": 2, "holder": "a"}),
)
TAKEN = RENEWED[0], obj("Lease", "l", spec={"renewTime": 2, "holder": "b"})


@pytest.mark.parametrize(
    ("change", "is_compared"),
    [
        (commit(1, "create", "cm/a"), True),
        (commit(1, "create", "cm/a", rest=True), False),
        (commit(1, "create", "event/a"), False),
        (commit(1, "create", "ev/a"), False),
        (commit(1, "create", "lease/l"), True),
        (commit(1, "update", "lease/l", before=RENEWED[0], after=RENEWED[1]), False),
        (commit(1, "update", "lease/l", before=TAKEN[0], after=TAKEN[1]), True),
        (commit(1, "delete", "lease/l"), True),
        (commit(1, "update", "cm/l", before=RENEWED[0], after=RENEWED[1]), True),
        (commit(2, "create", "ip/10.0.0.7"), False),
        (commit(2, "create", "ipaddress/10.0.0.7"), False),
    ],
)
def test_events_addresses_and_renewals_of_leases_are_not_shown(change, is_compared):
    assert [one for one, _ in compared([change])] == [change] * is_compared


def test_both_runs_are_shown_beside_each_other():
    """A change is the same if its actor, its object and its event are; when it came and how often do not matter."""
    again = replace(commit(3, "create", "cm/a", incarnation=2), at=1234.5)
    other = commit(3, "create", "cm/a", "operator other")
    (left, first), (right, second), (_, third) = compared([REFERENCE.commits[1], again, other])
    assert (left, right, first) == (REFERENCE.commits[1], again, second)
    assert first != third
    shown = side_by_side(REFERENCE, replace(REFERENCE, commits=[REFERENCE.commits[0], again]))
    assert any(line.rstrip().endswith(" 1234.500 db@2: create cm/a#1") for line in shown)
    assert any("    1.000 test: create store/a#1" in line for line in shown)
    assert any("    2.000 db: create cm/a#1 " in line for line in shown)
