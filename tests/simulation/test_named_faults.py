"""An exploration tries the faults that the marker names, and no others."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.simulation.atoms import FAULTS, OPT_IN
from fakekube.simulation.marker import settings_of
from fakekube.simulation.planning import Planner
from tests.simulation.test_planning import CHILD, MADE, RESIZED, STATUS, observed

WHOLE = ("fresh", "rollback", "dup")
CHANGED = observed(MADE, CHILD, RESIZED, rests=[2])


@pytest.mark.parametrize("names", [(), *((one,) for one in WHOLE), WHOLE[:2], WHOLE[1:], WHOLE], ids=str)
def test_of_the_atoms_of_a_whole_run_those_that_are_named(names):
    planned = Planner(CHANGED, faults=settings_of({"faults": names}).faults).whole()
    assert [plan.atoms[0].name for plan in planned] == list(names)


@settings(max_examples=50)
@given(st.sets(st.sampled_from([*FAULTS, *OPT_IN])), st.booleans())
def test_no_other_fault_is_planned(names, changes):
    trace = CHANGED if changes else observed(MADE, CHILD, STATUS)
    planner = Planner(trace, faults=names, has_election=True, has_webhooks=True, has_nodes=True, old=trace)
    singles = planner.singles()
    plans = [*planner.whole(), *planner.together(), *singles, *planner.pairs(singles), *islice(planner.orders(), 3)]
    assert {atom.name for plan in plans for atom in plan.atoms} <= names


def test_by_default_the_last_spec_and_the_rollback_are_tried():
    assert {"fresh", "rollback"} <= {*settings_of({}).faults}
