"""A failing plan is shrunk to the atoms that it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Crash, Failure, Hold, Lost, Order
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


def test_of_atoms_that_fail_alone_the_first_one_remains():
    plan = Plan(1, tuple(crash(number) for number in range(9)))
    assert reduce(plan, lambda tried: bool(tried.atoms)).plan.atoms == (crash(0),)


def test_one_atom_that_fails_alone_is_preferred_to_two_that_fail_together():
    def fails(tried):
        return {crash(0), crash(1)} <= set(tried.atoms) or crash(7) in tried.atoms

    assert reduce(Plan(1, tuple(crash(number) for number in range(9))), fails).plan.atoms == (crash(7),)


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
