"""A shrunk plan is minimal: after a step was left out, atoms that only that step needed are left out, too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Crash
from fakekube.simulation.plan import Plan
from fakekube.simulation.reducer import LIMIT, reduce


def crash(number):
    return Crash(Anchor("create", f"pod/a-{number}"))


def test_an_atom_that_only_a_step_needs_goes_with_the_step():
    """With the step, both atoms must be there; without it, one is enough."""
    plan = Plan(1, (crash(0), crash(1)))

    def fails(tried):
        return crash(0) in tried.atoms and (crash(1) in tried.atoms or "second" in tried.skipped)

    found = reduce(plan, fails, steps=["second"])
    assert found.plan == Plan(1, (crash(0),), ("second",))


@st.composite
def scenarios(draw):
    """Atoms; those that are always needed; and for each step the atoms that are needed as long as it is there."""
    count = draw(st.integers(1, 4))
    some = [{one for one in range(count) if number >> one & 1} for number in range(2**count)]
    return count, draw(st.sampled_from(some[1:])), draw(st.lists(st.sampled_from(some), max_size=2))


@settings(max_examples=60)
@given(scenarios())
def test_no_atom_of_the_result_can_be_left_out(scenario):
    count, always, steps = scenario
    names = [f"step{number}" for number in range(len(steps))]

    def fails(tried):
        there = {int(atom.at.target.rpartition("-")[2]) for atom in tried.atoms}
        needed = always.union(*(one for name, one in zip(names, steps, strict=True) if name not in tried.skipped))
        return needed <= there

    found = reduce(Plan(1, tuple(map(crash, range(count)))), fails, steps=names)
    assert fails(found.plan)
    assert found.runs <= LIMIT
    assert not any(fails(found.plan.without(index)) for index in range(len(found.plan.atoms)))


@pytest.mark.parametrize("limit", range(8))
def test_the_second_search_is_within_the_limit(limit):
    ran = []

    def fails(tried):
        ran.append(tried)
        return crash(0) in tried.atoms and (len(tried.atoms) == 4 or bool(tried.skipped))

    found = reduce(Plan(1, tuple(map(crash, range(4)))), fails, ["second"], limit)
    assert found.runs == len(ran) <= limit
