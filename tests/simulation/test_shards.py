"""Plans are divided among shards by the places of their faults, so that a bug is found and reported once."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.bugs import causes_of
from fakekube.simulation.results.shards import Shards
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples import SAMPLES
from tests.simulation.storeoperator import scenario

PLACES = [f"{verb} cm/{name}#1" for verb in ("create", "delete") for name in "abcd"]
ATOMS = st.builds("{}@{}".format, st.sampled_from(["crash", "lost(504)", "error(503, 1)"]), st.sampled_from(PLACES))
PLANS = st.lists(ATOMS, min_size=1, max_size=2, unique=True).map(lambda atoms: parse_plan(f"FK1 {' + '.join(atoms)}"))


@given(st.lists(PLANS, max_size=20), st.integers(1, 5))
def test_every_plan_has_one_shard_which_is_that_of_its_places(plans, count):
    shards = Shards(count, plans)
    found = defaultdict(set)
    for plan in plans:
        found[causes_of(plan)].add(shards.of(plan))
    assert all(len(numbers) == 1 for numbers in found.values())
    used = {number for numbers in found.values() for number in numbers}
    assert used == set(range(min(count, len(found))))


@given(st.lists(PLANS, max_size=20), st.lists(PLANS, max_size=5), st.integers(1, 5))
def test_a_kept_plan_belongs_to_one_shard_whatever_others_have_kept(plans, kept, count):
    numbers = [Shards(count, plans).of_kept(plan) for plan in kept]
    together = Shards(count, plans)
    assert [together.of_kept(plan) for plan in reversed(kept)] == numbers[::-1]
    known = {causes_of(plan) for plan in plans}
    assert all(
        together.of(plan) == number for plan, number in zip(kept, numbers, strict=True) if causes_of(plan) in known
    )


def test_orders_take_turns():
    plans = [parse_plan(f"FK1 seed={number} order") for number in range(6)]
    shards = Shards(3)
    assert [shards.of(plan) for plan in plans] == [0, 1, 2, 0, 1, 2]


def explored(test, shard, runs):
    runner = ScenarioRunner(test)
    settings = Settings(runs=runs, bugs=10).for_shard(*shard)
    return Explorer(runner.run, settings, lambda: runner.facts).explore()


@pytest.mark.slow
def test_a_bug_is_found_by_one_shard():
    sample = SAMPLES["marker_before_work"]
    found = [explored(lambda kube: sample.scenario(kube, sample.make(True)), (number, 3), 90) for number in range(3)]
    keys = [bug.keys[0] for one in found for bug in one.bugs]
    assert len(keys) >= 2
    assert len(set(keys)) == len(keys)


@pytest.mark.slow
def test_shards_try_what_one_process_tries():
    alone = explored(scenario, (0, 1), 40)
    found = [explored(scenario, (number, 2), 120) for number in range(2)]
    tried = [one.plan for each in found for one in each.trials]
    assert len(set(tried)) == len(tried)
    assert {one.plan for one in alone.trials if len(one.plan.atoms) == 1} <= set(tried)


def test_a_first_look_at_many_places_is_at_those_of_the_shard():
    places = [f"crash@create cm/{name}#1" for name in "abcde"]
    singles = [parse_plan(f"FK1 seed=0 {place}") for place in places]
    whole = parse_plan(f"FK1 seed=0 {' + '.join(places)}")
    parts = [Shards(2, singles).part_of(whole, index).atoms for index in (0, 1)]
    assert [set(map(str, part)) for part in parts] == [set(places[::2]), set(places[1::2])]
