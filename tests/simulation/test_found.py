"""Exploration finds the bugs of the sample operators, shrinks them to a small plan, and has no alarm without them."""

from statistics import median

import pytest

from tests.bench.exploration import explored
from tests.simulation.samples import SAMPLES

#: Bugs that one of the first ten runs finds, with a plan of one atom.
SOON = [
    "generated_job_name",
    "guarded_first_write",
    "merge_keeps_keys",
    "move_orphans",
    "sees_transition",
    "two_writers",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_correct_twin_has_no_alarm(name):
    """200 runs of each take four minutes: `python -m tests.bench.exploration`."""
    found = explored(name, bug=False, runs=40)
    assert (found.run, found.runs, found.plan) == (0, 40, "")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_bug_is_found():
    found = {name: explored(name, bug=True, runs=200) for name in SAMPLES}
    assert [name for name, one in found.items() if not one.run] == []
    assert [name for name in SOON if found[name].run > 10 or found[name].atoms > 1] == []
    assert [name for name, one in found.items() if not 1 <= one.atoms <= 2] == []
    assert median(one.run for one in found.values()) <= 10
