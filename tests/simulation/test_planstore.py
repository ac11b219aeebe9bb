"""Plans that have failed are kept, tried first, and dropped when they have passed often enough."""

import pytest

from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.planstore import PASSES, Kept, PlanStore, parse_kept, updated

CRASH = parse_plan("FK1 seed=0 crash@create secret/a#1")
LOST = parse_plan("FK1 seed=3 skip=second%20vault lost(504)@create secret/a#1 + dup")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (str(CRASH), [Kept(CRASH)]),
        (f"{CRASH}  # passed 2: O2: secret/a is absent # really", [Kept(CRASH, 2, "O2: secret/a is absent # really")]),
        (f"  {LOST}  # passed 0", [Kept(LOST)]),
        ("# a comment", []),
        ("", []),
    ],
)
def test_a_line_of_the_file(line, found):
    assert parse_kept(line) == found
    assert parse_kept("".join(f"{one}\n" for one in found)) == found


def test_a_plan_is_dropped_when_it_has_passed_in_a_row():
    kept = updated([], failed=[(CRASH, "O2"), (LOST, "O3")])
    for number in range(1, PASSES):
        kept = updated(kept, failed=[(LOST, "O3")], passed=[CRASH])
        assert kept == [Kept(CRASH, number, "O2"), Kept(LOST, 0, "O3")]
    assert updated(kept, failed=[], passed=[CRASH]) == [Kept(LOST, 0, "O3")]
    assert updated(kept, failed=[(CRASH, "O2")], passed=[LOST])[-1] == Kept(CRASH, 0, "O2")


def test_the_file_goes_with_its_last_plan(tmp_path):
    path = tmp_path / "plans" / "test_vault"
    store = PlanStore(path)
    store.update(failed=[], passed=[CRASH])
    assert (store.plans(), path.parent.exists()) == ([], False)
    store.update(failed=[(CRASH, "O2: secret/a is absent")], passed=[])
    assert path.read_text() == f"{CRASH}  # passed 0: O2: secret/a is absent\n"
    for _ in range(PASSES):
        assert store.plans() == [CRASH]
        store.update(failed=[], passed=[CRASH])
    assert (store.plans(), list(path.parent.iterdir())) == ([], [])


def test_a_directory_that_cannot_be_written_to_keeps_nothing(tmp_path):
    (tmp_path / "plans").write_text("a file")
    store = PlanStore(tmp_path / "plans" / "test_vault")
    store.update(failed=[(CRASH, "O2")], passed=[])
    assert store.plans() == []
