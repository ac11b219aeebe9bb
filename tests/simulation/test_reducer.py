"""A failing plan is shrunk to the atoms that it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Crash, Dup, Failure, Gap, Hold, Lost, Order, Pause
from fakekube.simulation.plan import Plan
from fakekube.simulation.reducer import LIMIT, reduce


def crash(number):
    return Crash(Anchor("create", f"pod/a-{number}"))


@given(st.sets(st.integers(0, 7), min_size=1), st.data())
def test_only_the_needed_atoms_remain(all_of_them, data):
    needed = data.draw(st.sets(st.sampled_from(sorted(all_of_them)), max_size=2))
    plan = Plan(1, tuple(crash(one) for one in sorted(all_of_them)))
    found = reduce(plan, lambda tried: {crash(one) for one in needed} <= set(tried.atoms))
    assert set(found.plan.atoms) == {crash(one) for one in needed}
    assert found.runs <= LIMIT
    assert (found.clean is None) is (not needed)
    assert found.clean is None or set(found.clean.atoms) < set(found.plan.atoms)


def test_of_atoms_that_fail_alone_the_first_one_remains():
    plan = Plan(1, tuple(crash(number) for number in range(9)))
    assert reduce(plan, lambda tried: bool(tried.atoms)).plan.atoms == (crash(0),)


def test_one_atom_that_fails_alone_is_preferred_to_two_that_fail_together():
    def fails(tried):
        return {crash(0), crash(1)} <= set(tried.atoms) or crash(7) in tried.atoms

    found = reduce(Plan(1, tuple(crash(number) for number in range(9))), fails)
    assert (found.plan.atoms, found.clean) == ((crash(7),), Plan(1))


@pytest.mark.parametrize(
    ("atom", "simplest"),
    [
        (Lost(Anchor("create", "pod/a")), Crash(Anchor("create", "pod/a"))),
        (Crash(Anchor("create", "pod/a"), "rest"), Crash(Anchor("create", "pod/a"))),
        (Failure(Anchor("create", "pod/a"), 500, 3), Failure(Anchor("create", "pod/a"))),
        (
            Hold("pod", Anchor("create", "pod/a"), Anchor("delete", "pod/a")),
            Hold("pod", Anchor("create", "pod/a"), "reconcile"),
        ),
        (Crash(Anchor("create", "pod/a", (), 3)), Crash(Anchor("create", "pod/a"))),
    ],
)
def test_parameters_become_simple_where_the_plan_still_fails(atom, simplest):
    assert reduce(Plan(1, (atom,)), lambda plan: len(plan.atoms) == 1).plan.atoms == (simplest,)
    assert reduce(Plan(1, (atom,)), lambda plan: plan.atoms == (atom,)).plan.atoms == (atom,)


def test_the_order_goes_last_and_steps_are_left_out():
    def fails(plan):
        return crash(1) in plan.atoms and "second" not in plan.skipped

    found = reduce(Plan(1, (Order(), crash(1), crash(2))), fails, steps=["first", "second", "third"])
    assert found.plan == Plan(1, (crash(1),), ("third", "first"))
    assert found.clean is not None


def test_the_reduction_ends():
    atoms = tuple(crash(number) for number in range(40))
    runs = []
    reduce(Plan(1, atoms), lambda plan: runs.append(plan) or len(plan.atoms) > 20)
    assert len(runs) <= LIMIT


def test_what_has_run_is_not_run_again_and_no_plan_beyond_the_limit():
    plan, ran = Plan(1, tuple(map(crash, range(8)))), []

    def fails(tried):
        ran.append(str(tried))
        return tried == plan

    whole = reduce(plan, fails)
    assert whole.plan == plan
    assert whole.runs == len(ran) == len(set(ran)) == 2 + 4 + 8 + 8  # halves, quarters, without one, one
    ran.clear()
    assert reduce(plan, fails, limit=5).runs == len(ran) == 5


def at(name, occurrence=1):
    return Anchor("create", f"pod/{name}", (), occurrence)


@pytest.mark.parametrize(
    ("atom", "tried"),
    [
        (Crash(at("a")), []),
        (Crash(at("a"), "rest"), [Crash(at("a"))]),
        (Lost(at("a"), "reset"), [Crash(at("a"))]),
        (Failure(at("a"), 503, 1), []),
        (Failure(at("a"), 500, 3), [Failure(at("a")), Failure(at("a"), 500)]),
        (Failure(at("a"), 500, 1), [Failure(at("a"))]),
        (Failure(at("a"), 503, 2), [Failure(at("a"))]),
        (Hold("pod", at("a"), "reconcile"), []),
        (Hold("pod", at("a"), "rest"), [Hold("pod", at("a"), "reconcile")]),
        (Crash(at("a", 3)), [Crash(at("a"))]),
        (Crash(at("a", 2), "rest"), [Crash(at("a", 2)), Crash(at("a"), "rest")]),
        (Pause(at("a", 2), "rest"), [Pause(at("a"), "rest")]),
        (Gap("pod", at("a", 2), "rest"), []),
        (Dup(), []),
    ],
)
def test_simpler_forms_are_tried_the_simplest_first(atom, tried):
    ran = []

    def fails(plan):
        ran.append(plan)
        return plan.atoms == (atom,)

    assert reduce(Plan(1, (atom,)), fails).plan.atoms == (atom,)
    assert ran == [Plan(1), *(Plan(1, (one,)) for one in dict.fromkeys(tried) if one != atom)]


def test_atoms_are_dropped_by_halves():
    plan, ran = Plan(1, tuple(map(crash, range(5)))), []

    def fails(tried):
        ran.append([int(atom.at.target[-1]) for atom in tried.atoms])
        return crash(3) in tried.atoms and crash(4) in tried.atoms

    found = reduce(plan, fails)
    assert found.plan == Plan(1, (crash(3), crash(4)))
    halves = [[0, 1, 2, 3], [0, 1, 4], [2, 3, 4], [2, 3], [4]]
    assert ran == [*halves, [2, 4], [3, 4], [3], [0], [1], [2]]  # then by one, then each alone
    assert found.runs == len(ran)
    assert found.clean == Plan(1, (crash(4),)), "what passes is a part of what fails"


def test_a_plan_that_fails_without_atoms_has_none():
    found = reduce(Plan(1, (crash(1), Order())), lambda plan: True, steps=["first"])
    assert (found.plan, found.clean) == (Plan(1, (), ("first",)), None)


def test_atoms_are_simplified_from_the_last_one_on_and_the_order_goes_last():
    atoms, ran = (Lost(at("a")), Order(), Lost(at("b"))), []

    def fails(plan):
        ran.append([atom.name for atom in plan.atoms])
        return {atom.at.target for atom in plan.atoms if not isinstance(atom, Order)} == {"pod/a", "pod/b"}

    found = reduce(Plan(1, atoms), lambda plan: fails(plan) and (Order() in plan.atoms or len(ran) > 5))
    assert [atom.name for atom in found.plan.atoms] == ["crash", "crash"]
    names = [one for one in ran if len(one) == 3]
    assert names == [["lost", "order", "crash"], ["crash", "order", "crash"]]
    assert ran[-1] == ["crash", "crash"]


def test_steps_are_left_out_from_the_last_one_on():
    ran = []

    def fails(plan):
        ran.append(plan.skipped)
        return "second" not in plan.skipped

    found = reduce(Plan(1, (), ("zero",)), fails, steps=["first", "second", "third"])
    assert found.plan.skipped == ("zero", "third", "first")
    assert ran == [("zero", "third"), ("zero", "third", "second"), ("zero", "third", "first")]
