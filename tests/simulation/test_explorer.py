"""What an exploration runs, in which order, until when, and what it makes of it: with a test that is a table of runs."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fakekube.simulation.atoms import Crash, Downgrade, Lost, Old, Upgrade
from fakekube.simulation.bounds import Cost
from fakekube.simulation.explorer import (
    Explorer,
    NothingToExplore,
    ReferenceFails,
    Settings,
    base_of,
)
from fakekube.simulation.observation import Delivery, Observation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.planning import Planner
from fakekube.simulation.realism import Facts
from fakekube.simulation.reducer import LIMIT
from fakekube.simulation.releases import Releases
from fakekube.simulation.results.writtenplaces import new_places
from tests.simulation.observations import commit, obj, record

MADE = commit(1, "create", "store/a", "test", after=obj("Store", "a", spec={"size": 1}))
FIRST = commit(2, "create", "cm/a", after=obj("ConfigMap", "a"))
SECOND = commit(3, "create", "secret/a", after=obj("Secret", "a"))
FINAL = {"store/a": MADE.after, "cm/a": FIRST.after, "secret/a": SECOND.after}

#: What the test does without faults.
BASE = Observation(0, commits=[MADE, FIRST, SECOND], final=FINAL, cost=Cost(requests=7))

#: A run that has lost the Secret.
LOST_SECRET = {"final": {name: one for name, one in FINAL.items() if name != "secret/a"}}

ABSENT = "O2: secret/a is absent at the end (the reference has it)"


NO_FACTS = Facts()


class Runs:
    """The runs of a test. `differing(plan)`: what is another than in BASE, by the fields of an observation."""

    def __init__(self, differing=lambda plan: {}, base=BASE):
        self.plans, self._differing, self._base = [], differing, base

    def __call__(self, plan):
        self.plans.append(plan)
        found = {"seed": plan.seed, "fired": tuple(range(len(plan.atoms))), **self._differing(plan)}
        return replace(self._base, **found)

    @property
    def texts(self):
        return [str(one).removeprefix("FK1 seed=0").strip() for one in self.plans]


def explorer(differing=lambda plan: {}, *, base=BASE, facts=NO_FACTS, kept=(), progress=None, **settings):
    runs = Runs(differing, base)
    more = {} if progress is None else {"progress": progress}
    return Explorer(runs, Settings(**{"faults": ["crash"], **settings}), lambda: facts, kept=kept, **more), runs


def crashes_at(*places, then=LOST_SECRET):
    """What is wrong with a run in which the operator dies at one of these places."""

    def differing(plan):
        return then if any(isinstance(atom, Crash) and atom.at.target in places for atom in plan.atoms) else {}

    return differing


CRASHES = ["crash@create cm/a#1", "crash@create secret/a#1"]

#: The first look at all places.
BOTH = " + ".join(CRASHES)


# --- the budget, and the order


def test_the_reference_is_run_under_two_seeds_then_each_plan_once():
    seen = []
    found, runs = explorer(progress=lambda number, plan: seen.append((number, str(plan))), runs=5)
    result = found.explore()
    assert runs.texts == ["", "FK1 seed=1", BOTH, *CRASHES]
    assert seen == [(number, str(plan)) for number, plan in enumerate(runs.plans, 1)]
    assert (result.runs, result.coverage.plans, [str(one.plan) for one in result.trials]) == (
        5, 3, [f"FK1 seed=0 {one}" for one in (BOTH, *CRASHES)]
    )  # fmt: skip
    assert (result.failed, result.bugs, result.reference) == (None, [], replace(BASE, fired=()))


@pytest.mark.parametrize("faults", [["crash"], ["crash", "lost", "error", "dup", "order"]])
def test_no_plan_is_run_twice(faults):
    """The first look at two places is their pair, too."""
    found, runs = explorer(faults=faults, runs=100)
    found.explore()
    assert len(runs.plans) == len(set(runs.plans))


@pytest.mark.parametrize("runs", [3, 4, 5])
def test_no_more_runs_than_the_budget(runs):
    found, made = explorer(runs=runs, faults=["crash", "lost", "order"])
    assert found.explore().runs == len(made.plans) == runs


def test_singles_come_before_pairs_and_pairs_before_orders():
    third = commit(4, "create", "pod/a", after=obj("Pod", "a"))
    base = replace(BASE, commits=[*BASE.commits, third], final={**FINAL, "pod/a": third.after})
    found, runs = explorer(base=base, runs=40, faults=["crash", "order"])
    found.explore()
    names = ["+".join(atom.name for atom in plan.atoms) for plan in runs.plans[2:]]
    assert names[:7] == ["crash+crash+crash", *["crash"] * 3, *["crash+crash"] * 3]
    assert names[7:11] == ["order", "order+crash"] * 2
    assert [later.seed - sooner.seed for sooner, later in pairwise(runs.plans[9:])] == [1] * 30


def test_only_what_is_clean_and_exercised_alone_is_combined():
    pods = [commit(number, "create", f"pod/{name}", after=obj("Pod", name)) for number, name in enumerate("wxyz", 4)]
    base = replace(BASE, commits=[MADE, *pods], final={**FINAL, **{f"pod/{one.name}": one.after for one in pods}})

    def differing(plan):
        targets = [atom.at.target for atom in plan.atoms]
        if targets == ["pod/w"]:
            return {"fired": ()}
        return {"final": {"store/a": MADE.after}} if targets == ["pod/x"] else {}

    found, runs = explorer(differing, base=base, runs=100, bugs=10)
    found.explore()
    pairs = {frozenset(atom.at.target for atom in plan.atoms) for plan in runs.plans if len(plan.atoms) == 2}
    assert pairs == {frozenset({"pod/y", "pod/z"})}


KEPT = [parse_plan(f"FK1 seed=7 {text}") for text in (CRASHES[1], "crash@create cm/z#1", CRASHES[1])]


def test_plans_that_have_failed_before_are_tried_first():
    found, runs = explorer(kept=KEPT, runs=7)
    found.explore()
    assert [str(one) for one in runs.plans[2:]] == [
        *map(str, KEPT[:2]),
        *(f"FK1 seed=0 {one}" for one in (BOTH, *CRASHES)),
    ]


@pytest.mark.parametrize("unrealistic", [True, False])
def test_plans_that_no_cluster_produces_run_only_if_they_may(unrealistic):
    zombie = parse_plan("FK1 seed=0 zombie@create cm/a#1")
    found, runs = explorer(kept=[zombie], runs=5, unrealistic=unrealistic)
    found.explore()
    assert (zombie in runs.plans) is unrealistic
    leader, runs = explorer(kept=[zombie], runs=5, facts=Facts(lease=15.0))
    leader.explore()
    assert zombie in runs.plans


@pytest.mark.parametrize(("facts", "planned"), [(Facts(), set()), (Facts(lease=15.0), {"zombie"}), (Facts(webhooks=True), {"hook"})])  # fmt: skip
def test_what_is_planned_depends_on_what_the_test_has(facts, planned):
    found, runs = explorer(facts=facts, faults=["zombie", "hook", "order"], runs=5)
    found.explore()
    assert {atom.name for plan in runs.plans for atom in plan.atoms} - {"order"} == planned


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shards_divide_the_plans(count):
    """Each shard runs the reference itself; every plan of one place, or of a whole run, is run by one of them."""
    whole = Settings(runs=14, faults=["crash", "lost", "error", "dup"])
    planner = Planner(BASE, faults=whole.faults)
    planned = [*planner.whole(), *planner.singles()]
    ran = []
    for index in range(count):
        runs = Runs()
        shard = whole.for_shard(index, count)
        assert shard.runs == -(-14 // count) + (2 if count > 1 else 0)
        Explorer(runs, replace(shard, runs=1_000, faults=whole.faults)).explore()
        assert [str(one) for one in runs.plans[:2]] == ["FK1 seed=0", "FK1 seed=1"]
        mine = [one for one in runs.plans[2:] if len(one.atoms) == 1]
        assert mine == [one for one in planned if one in mine], "in the order of the plans"
        ran += mine
    assert sorted(map(str, ran)) == sorted(map(str, planned))


# --- what has taken effect


@pytest.mark.parametrize(
    ("text", "changes", "exercised"),
    [
        (CRASHES[0], {}, True),
        (CRASHES[0], {"fired": ()}, False),
        (CRASHES[0], {"inconclusive": True}, False),
        (CRASHES[0], {"unjudged": "slow"}, False),
        (" + ".join(CRASHES), {"fired": (1,)}, False),
        (" + ".join(CRASHES), {"fired": (1, 1)}, False),
        (" + ".join(CRASHES), {"fired": (1, 0)}, True),
        (f"{CRASHES[0]} + order", {"fired": (0,)}, True),
        ("order", {"fired": ()}, True),  # what concerns the whole run has no place
    ],
)
def test_a_plan_is_exercised_if_all_its_atoms_have_taken_effect(text, changes, exercised):
    plan = parse_plan(f"FK1 seed=5 {text}")
    found, _ = explorer(lambda tried: changes if tried.seed == 5 else {}, kept=[plan], runs=3)
    (trial,) = found.explore().trials
    assert (trial.plan, trial.exercised, trial.unjudged) == (plan, exercised, changes.get("unjudged", ""))


# --- writes that only runs with faults show


def retried(target="cm/retry", **more):
    made = commit(9, "create", target, after=obj("ConfigMap", "retry"), **more)
    return {"commits": [*BASE.commits, made]}


@pytest.mark.parametrize(
    ("faults", "changes", "fed"),
    [
        (["crash", "lost"], retried(), ["crash", "lost"]),
        (["crash"], retried(), ["crash"]),
        (["crash", "lost"], retried("external/b/x"), ["crash"]),
        (["crash", "lost"], retried("event/x"), []),
        (["crash", "lost"], retried("cm/a"), []),  # a place that is known
        (["crash", "lost"], retried(rest=True), []),
        (["crash", "lost"], {**retried(), "fired": ()}, []),
        (["crash", "lost"], {**retried(), **LOST_SECRET}, []),  # it is a bug by itself
    ],
)
def test_faults_are_planned_at_writes_that_only_a_run_with_a_fault_has(faults, changes, fed):
    first = parse_plan(f"FK1 seed=0 {CRASHES[0]}")
    found, runs = explorer(
        lambda plan: changes if plan == first else {}, faults=faults, runs=60, bugs=5, expect_delta=["create *"]
    )
    found.explore()
    place = changes["commits"][-1].anchor
    more = [plan.atoms[1:] for plan in runs.plans if plan.atoms[1:] and plan.atoms[1].at == place]
    expected = [({"crash": Crash, "lost": Lost}[name](place),) for name in fed]
    assert [one for one in more if place.target not in ("cm/a",)] == expected


def test_a_new_place_is_new_once_whatever_the_numbers_in_it():
    known = set()
    pods = [commit(number, "create", f"pod/a-{number}") for number in (1, 2, 3)]
    assert [one.revision for one in new_places(replace(BASE, commits=[MADE, *pods, FIRST]), known)] == [1, 2]
    assert list(new_places(replace(BASE, commits=[*pods]), known)) == []


# --- bugs


def test_a_bug_is_shrunk_and_shown_as_the_smallest_plan_shows_it():
    kept = parse_plan(f"FK1 seed=3 {CRASHES[0]} + {CRASHES[1]}")

    def differing(plan):
        if not plan.atoms or plan.atoms[-1].at.target != "secret/a":
            return {}
        if len(plan.atoms) == 2:
            return LOST_SECRET
        return {"final": {**FINAL, "secret/a": obj("Secret", "a", data={"k": "1"})}}

    found, runs = explorer(differing, kept=[kept], runs=50)
    result = found.explore()
    failed = result.failed
    assert (failed.number, str(failed.trial.plan), failed.plans) == (3, str(kept), 0)
    assert str(failed.reduced.plan) == f"FK1 seed=3 {CRASHES[1]}"
    assert [str(one) for one in failed.trial.violations] == [ABSENT]
    assert str(failed.violation) == "O2: secret/a data.k None (reference) != '1'"
    assert failed.observed.final["secret/a"]["data"] == {"k": "1"}
    assert failed.reference.final == FINAL
    assert str(runs.plans[-1]) == str(failed.reduced.plan)
    assert result.runs == len(runs.plans)


def test_an_exploration_ends_with_its_last_bug():
    wrong = crashes_at("cm/a", "secret/a")
    one, runs = explorer(wrong, bugs=1, runs=50)
    (bug,) = one.explore().bugs
    assert (bug.number, str(bug.trial.plan)) == (3, f"FK1 seed=0 {BOTH}")
    # the first look, one of its places, which is also run without its atom, and the smallest plan once more
    assert str(bug.reduced.plan) == f"FK1 seed=0 {CRASHES[0]}"
    assert [text for text in runs.texts[2:] if text] == [BOTH, CRASHES[0], CRASHES[0]]
    two, _ = explorer(wrong, bugs=2, runs=50)
    assert {str(bug.reduced.plan) for bug in two.explore().bugs} == {f"FK1 seed=0 {text}" for text in CRASHES}


# --- the first look at many places


def test_what_is_wrong_at_one_place_may_differ_from_what_is_wrong_at_all():
    """The bug is that of the place that is left."""
    other = {"final": {**FINAL, "cm/a": obj("ConfigMap", "a", data={"k": "1"})}}

    def differing(plan):
        if len(plan.atoms) == 2:
            return LOST_SECRET
        return other if crashes_at("cm/a")(plan) else {}

    found, _ = explorer(differing, runs=50)
    failed = found.explore().failed
    assert [str(one) for one in failed.trial.violations] == [ABSENT]
    assert str(failed.reduced.plan) == f"FK1 seed=0 {CRASHES[0]}"
    assert str(failed.violation) == "O2: cm/a data.k None (reference) != '1'"


def test_a_first_look_that_shows_a_known_bug_is_no_other_one():
    kept = [parse_plan(f"FK1 seed=0 {CRASHES[1]}")]
    found, runs = explorer(crashes_at("secret/a"), kept=kept, bugs=5, runs=30)
    result = found.explore()
    assert [str(bug.reduced.plan) for bug in result.bugs] == [f"FK1 seed=0 {CRASHES[1]}"]
    at = runs.texts.index(BOTH)
    assert runs.texts[at + 1] == CRASHES[0], "it is not shrunk"


@pytest.mark.parametrize("fired", [(0,), (0, 1)])
def test_a_first_look_that_does_not_reach_all_places_is_not_counted(fired):
    found, _ = explorer(lambda plan: {"fired": fired} if len(plan.atoms) == 2 else {}, runs=5)
    coverage = found.explore().coverage
    assert (coverage.plans, coverage.missed) == (1 + len(fired), [])


def test_plans_that_show_a_bug_again_are_counted():
    again = [parse_plan(f"FK1 seed={seed} {CRASHES[1]}") for seed in (1, 2, 3)]
    found, _ = explorer(crashes_at("secret/a"), bugs=5, runs=30, kept=again)
    (bug,) = found.explore().bugs
    assert (bug.number, bug.plans) == (3, 3)  # two that were kept, and the one that is planned


def test_a_plan_whose_smallest_form_shows_a_known_bug_is_no_bug_of_its_own():
    both = parse_plan(f"FK1 seed=9 {CRASHES[0]} + {CRASHES[1]}")
    found, _ = explorer(crashes_at("secret/a"), bugs=5, runs=40, kept=[parse_plan(f"FK1 seed=0 {CRASHES[1]}"), both])
    (bug,) = found.explore().bugs
    assert bug.plans == 2
    assert [str(one.plan) for one in found.explore().trials[:2]] == [f"FK1 seed=0 {CRASHES[1]}", str(both)]


def test_a_plan_that_shows_a_bug_again_is_not_shrunk_again():
    kept = [parse_plan(f"FK1 seed={seed} {BOTH} + dup") for seed in (8, 9)]
    found, runs = explorer(crashes_at("secret/a"), bugs=5, runs=30, kept=kept)
    (bug,) = found.explore().bugs
    assert bug.plans >= 2
    at = runs.plans.index(kept[1])
    assert runs.plans[at + 1].seed == 0, "the next plan"


@pytest.mark.parametrize(("runs", "is_shrunk"), [(3, True), (200, True)])
def test_the_first_bug_is_shrunk_also_beyond_the_budget(runs, is_shrunk):
    both = parse_plan(f"FK1 seed=9 {CRASHES[0]} + {CRASHES[1]}")
    found, made = explorer(crashes_at("secret/a"), runs=runs, kept=[both])
    failed = found.explore().failed
    assert (len(failed.reduced.plan.atoms) == 1) is is_shrunk
    assert failed.reduced.runs <= LIMIT
    assert len(made.plans) > 3


LOSS = "lost(504)@create cm/a#1"


@pytest.mark.parametrize(
    ("second", "runs", "atoms"),
    [
        # atoms are left out from the last one on
        (f"{CRASHES[1]} + {LOSS}", 7, 2),
        (f"{CRASHES[1]} + {LOSS}", 8, 1),
        (f"{LOSS} + {CRASHES[1]}", 8, 2),
        (f"{LOSS} + {CRASHES[1]}", 9, 1),
    ],
)
def test_further_bugs_are_shrunk_within_the_budget(second, runs, atoms):
    kept = [parse_plan(f"FK1 seed=9 {text}") for text in (CRASHES[0], second)]

    def differing(plan):
        if crashes_at("cm/a")(plan):
            return {"final": {"store/a": MADE.after, "secret/a": SECOND.after}}
        return crashes_at("secret/a")(plan)

    found, made = explorer(differing, runs=runs, bugs=2, kept=kept)
    first, second = found.explore().bugs
    assert len(first.reduced.plan.atoms) == 1
    assert len(second.reduced.plan.atoms) == atoms
    assert len(made.plans) == runs


def test_what_is_in_the_baseline_is_counted_and_no_bug():
    found, _ = explorer(crashes_at("cm/a", "secret/a"), runs=8, bugs=5, known=["O2: secret/a is absent*"])
    result = found.explore()
    assert (result.failed, len(result.trials)) == (None, 3)  # both, and each alone
    assert result.known == {ABSENT: 3}
    assert [str(one) for one in result.trials[0].known] == [ABSENT]


@pytest.mark.parametrize(("bugs", "number"), [(1, 1), (2, 2), (3, 2)])
def test_what_is_wrong_without_faults_are_the_first_bugs(bugs, number):
    defects = [record(error=f"KeyError: '{name}'", unexpected=True) for name in "xy"]
    found, runs = explorer(base=replace(BASE, reconciles=defects), bugs=bugs, runs=5)
    result = found.explore()
    assert [(bug.number, str(bug.reduced.plan), bug.trial.violations) for bug in result.bugs] == [
        (1, "FK1 seed=0", [bug.violation]) for bug in result.bugs
    ]
    assert len(result.bugs) == number
    assert (len(runs.plans) > 2) is (bugs > number)
    known, _ = explorer(base=replace(BASE, reconciles=defects), runs=5, known=["O12: *"])
    assert known.explore().bugs == []


STEPS = replace(BASE, steps=("one", "two"))


def test_steps_of_the_test_that_do_not_matter_are_left_out():
    def differing(plan):
        return crashes_at("secret/a")(plan) if "two" not in plan.skipped else {}

    found, runs = explorer(differing, base=STEPS, runs=50)
    failed = found.explore().failed
    assert failed.reduced.plan.skipped == ("one",)
    skipped = [plan for plan in runs.plans if plan.skipped and not plan.atoms]
    assert [(plan.skipped, plan.seed) for plan in skipped] == [
        (("two",), 0),
        (("two",), 1),
        (("one",), 0),
        (("one",), 1),
    ]


def test_a_step_without_which_the_test_does_not_settle_stays():
    def differing(plan):
        return {"unsettled": "busy"} if "two" in plan.skipped and not plan.atoms else crashes_at("secret/a")(plan)

    found, _ = explorer(differing, base=STEPS, runs=50)
    assert found.explore().failed.reduced.plan.skipped == ("one",)


# --- the reference


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize("changes", [{"failure": "AssertionError: 3 != 4"}, {"unsettled": "HotLoop: busy"}])
def test_a_test_that_fails_without_faults_is_not_explored(seed, changes):
    found, runs = explorer(lambda plan: changes if plan.seed == seed else {}, seed=4)
    with pytest.raises(ReferenceFails, match=next(iter(changes.values()))):
        found.explore()
    assert len(runs.plans) == 2


def test_what_the_two_seeds_make_different_is_not_compared():
    drawn = {"final": {**FINAL, "cm/a": obj("ConfigMap", "a", data={"drawn": "x"})}}
    other = {"final": {**FINAL, "cm/a": obj("ConfigMap", "a", data={"drawn": "y"})}}
    third = {"final": {**FINAL, "cm/a": obj("ConfigMap", "a", data={"drawn": "z"})}}

    def differing(plan):
        return third if plan.atoms else drawn if plan.seed == 0 else other

    found, _ = explorer(differing, runs=4)
    assert found.explore().failed is None
    found, _ = explorer(lambda plan: third if plan.atoms else drawn, runs=4)
    assert str(found.explore().failed.violation) == "O2: cm/a data.drawn 'x' (reference) != 'z'"


@pytest.mark.parametrize(
    ("is_drawn", "items", "texts"),
    [
        (True, ["z"], []),
        (True, ["y", "z"], ["O6: external/b/* is there 2 times at the end (in the reference 1)"]),
        (True, [], ["O2: external/b/* is absent at the end (the reference has it)"]),
        (False, ["z"], ["O2: external/b/x is absent at the end (the reference has it)"]),
        (False, ["x"], []),
    ],
)
def test_items_of_external_apis_whose_names_are_drawn_are_counted(is_drawn, items, texts):
    def differing(plan):
        if plan.atoms:
            return {"external": [f"external/b/{one}" for one in items]}
        return {"external": ["external/b/y" if is_drawn and plan.seed else "external/b/x"]}

    found, _ = explorer(differing, runs=4)
    bugs = found.explore().bugs
    assert [str(bug.violation) for bug in bugs] == texts


def test_items_that_are_made_and_removed_count_as_drawn_too():
    def differing(plan):
        name = "z" if plan.atoms else "y" if plan.seed else "x"
        made = [
            replace(commit(number, verb, f"external/b/{name}"), kind="external")
            for number, verb in ((8, "create"), (9, "delete"))
        ]
        return {"commits": [*BASE.commits, *made]}

    found, _ = explorer(differing, runs=4)
    assert found.explore().failed is None


def test_runs_with_faults_have_the_bounds_of_the_first_reference():
    failing = [record(error="ApiError: 503"), record()]
    other = replace(BASE, reconciles=failing)
    found, runs = explorer(lambda plan: {"cost": Cost(requests=99)} if plan.seed == 1 else {}, base=other, runs=4)
    found.explore()
    assert [plan.bounds for plan in runs.plans[:2]] == [None, None]
    assert {plan.bounds.reference.requests for plan in runs.plans[2:]} == {7}
    assert {plan.bounds.failing for plan in runs.plans[2:]} == {frozenset({("db", "default/a")})}


CHANGED = commit(5, "update", "store/a", "test", MADE.after, obj("Store", "a", spec={"size": 2}))


def test_runs_with_the_last_spec_have_that_of_the_reference_with_the_same_steps():
    base = replace(BASE, commits=[*BASE.commits, CHANGED], rests=(3,))
    found, runs = explorer(base=base, faults=["fresh", "rollback"], runs=4)
    found.explore()
    assert runs.texts == ["", "FK1 seed=1", "fresh", "rollback"]
    for plan in runs.plans[2:]:
        assert [one.wanted["spec"] for one in plan.intents.objects] == [{"size": 2}]
        assert plan.last_step.revision == 5
    skipping = parse_plan("FK1 seed=0 skip=one fresh")
    found.observe(skipping)
    found.observe(skipping)
    assert runs.texts[4:] == ["skip=one", "FK1 seed=1 skip=one", "skip=one fresh", "skip=one fresh"]
    crash = parse_plan(f"FK1 seed=0 {CRASHES[0]}")
    found.observe(crash)
    assert (runs.plans[-1].intents, runs.plans[-1].last_step) == (None, None)


def test_a_plan_that_is_run_again_has_references_of_its_own_seed():
    found, runs = explorer()
    found.seeded(40)
    found.reference()
    assert [plan.seed for plan in runs.plans] == [40, 41]


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("FK1 seed=0 crash@create cm/a#1", (False, ())),
        ("FK1 seed=0 skip=one crash@create cm/a#1", (False, ("one",))),
        ("FK1 seed=0 upgrade@create cm/a#1", (False, ())),
        ("FK1 seed=0 downgrade@create cm/a#1", (True, ())),
        ("FK1 seed=0 old", (True, ())),
    ],
)
def test_what_a_run_is_compared_with(text, base):
    assert base_of(parse_plan(text)) == base


# --- nothing to explore


@pytest.mark.parametrize(
    ("base", "settings", "message"),
    [
        (replace(BASE, commits=[MADE]), {}, "no operator has written, read or watched anything"),
        (replace(BASE, commits=[MADE, replace(FIRST, rest=True)]), {}, "no operator has written"),
        (BASE, {"faults": ["zombie", "hook"]}, "no fault of zombie, hook can occur in this test"),
        (
            replace(BASE, commits=[MADE], deliveries=[Delivery(1, 0.0, "store", "operator db", 0)]),
            {},
            "no fault of crash",
        ),
    ],
)
def test_an_exploration_that_can_try_nothing_is_an_error(base, settings, message):
    found, _ = explorer(base=base, **settings)
    with pytest.raises(NothingToExplore, match=message):
        found.explore()


@pytest.mark.parametrize("settings", [{"runs": 2}, {"shard": (0, 2)}])
def test_a_budget_that_is_spent_and_a_shard_without_plans_are_none(settings):
    found, _ = explorer(faults=["zombie"], **settings)
    assert found.explore().trials == []


# --- releases


def releases(differing, **settings):
    given = {"faults": ["upgrade", "downgrade"], "releases": Releases(len, max), "runs": 30, **settings}
    return explorer(differing, **given)


OLD_WRITE = commit(2, "create", "cm/old", after=obj("ConfigMap", "old"))
OLD = {"commits": [MADE, OLD_WRITE], "final": {"store/a": MADE.after, "cm/old": OLD_WRITE.after}}


def of_releases(plan):
    """The old release makes another ConfigMap; each change of the release ends as the last one alone does."""
    names = {type(atom) for atom in plan.atoms}
    changed = {"released": True} if names & {Upgrade, Downgrade} else {}
    return {**changed, **(OLD if names & {Old, Downgrade} else {})}


FACTS = Facts(releases=True)


def test_each_release_is_run_alone_first_and_each_plan_is_given_both():
    found, runs = releases(of_releases, facts=FACTS)
    assert found.explore().failed is None
    assert runs.texts[:4] == ["", "FK1 seed=1", "old", "FK1 seed=1 old"]
    assert runs.texts[4:7] == ["upgrade@create cm/old#1", "downgrade@create cm/a#1", "downgrade@create secret/a#1"]
    assert {plan.releases for plan in runs.plans} == {Releases(len, max)}


def test_a_difference_that_is_left_by_each_upgrade_is_one_bug():
    first, second = OLD_WRITE, commit(3, "create", "cm/older", after=obj("ConfigMap", "older"))

    def differing(plan):
        if plan.atoms == (Old(),):
            return {"commits": [MADE, first, second], "final": {}}
        left = {"cm/old": first.after} if any(isinstance(atom, Upgrade) for atom in plan.atoms) else {}
        return {**of_releases(plan), "final": {**BASE.final, **left}}

    found, runs = releases(differing, facts=FACTS, faults=["upgrade"], bugs=10)
    bugs = found.explore().bugs
    assert [(str(one.violation), one.plans) for one in bugs] == [
        ("O2: cm/old is there at the end (the reference does not have it)", 1)
    ]
    assert {"upgrade@create cm/old#1", "upgrade@create cm/older#1"} <= {*runs.texts}


def test_a_test_that_fails_with_the_old_release_has_no_downgrades():
    def differing(plan):
        return {**of_releases(plan), **({"failure": "AssertionError"} if plan.atoms == (Old(),) else {})}

    found, runs = releases(differing, facts=FACTS)
    found.explore()
    assert runs.texts[4:] == ["upgrade@create cm/old#1"]


def test_without_their_names_there_are_no_releases():
    found, runs = releases(of_releases, facts=FACTS, faults=["crash"], runs=5)
    found.explore()
    assert runs.texts[2:] == [BOTH, *CRASHES]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"commits": [MADE]}, "the old release has written nothing"),
        ({}, "the old release does just what the new one does"),
        ({"commits": [MADE, SECOND, FIRST]}, None),
        ({"commits": [MADE, FIRST]}, None),
        ({"commits": [MADE, FIRST, replace(SECOND, after=obj("Secret", "a", data={"x": "1"}))]}, None),
        # what the server sets is no difference
        ({"commits": [MADE, FIRST, replace(SECOND, after=obj("Secret", "a", uid="other"))]}, "does just what"),
    ],
)
def test_the_old_release_must_do_something_else(changes, message):
    def differing(plan):
        return changes if any(isinstance(atom, Old) for atom in plan.atoms) else {}

    found, _ = releases(differing, facts=FACTS, runs=5)
    if message is None:
        found.explore()
    else:
        with pytest.raises(NothingToExplore, match=message):
            found.explore()


def test_a_plan_has_nothing_but_its_own():
    found, runs = explorer(runs=4)
    found.explore()
    assert runs.plans[3] == Plan(0, (Crash(FIRST.anchor),))
    assert runs.plans[3].releases is None
