"""Which failures are one bug, and which are in the baseline."""

import pytest

from fakekube.simulation.observation import Violation
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.bugs import key_of, keys_of, unknown

ABSENT = Violation("O2", "secret/a", "is absent at the end")
TEST = Violation("test", "", "test_vault.py:7: AssertionError")


def plan(atoms):
    return parse_plan(f"FK1 seed=0 {atoms}")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("crash@create cm/a#1", "lost(504)@create cm/a#2", True),
        ("crash@create cm/a-1#1", "hold(cm, create cm/a-20#1..reconcile)", True),
        ("crash@create cm/a#1", "crash@update cm/a{data.x}#1", False),
        ("crash@create cm/a#1", "crash@create cm/a#1 + error(503, 1)@get cm/a#1", False),
        ("dup", "order", False),
    ],
)
def test_bugs_are_distinct_by_the_place_of_their_faults(first, second, same):
    assert (key_of(ABSENT, plan(first)) == key_of(ABSENT, plan(second))) is same


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Violation("O2", "secret/a", "has another text"), True),
        (Violation("O3", "secret/a", "is created twice"), False),
        (Violation("O2", "secret/b", "is absent at the end"), False),
        (Violation("O2", "secret/a-7", "is absent at the end"), False),
    ],
)
def test_bugs_are_distinct_by_oracle_and_object(other, same):
    crash = plan("crash@create cm/a#1")
    assert (key_of(ABSENT, crash) == key_of(other, crash)) is same


OTHER_TEXT = Violation("O2", "secret/a", "data.x '1' (reference) != None")


@pytest.mark.parametrize(
    ("first", "second", "other", "same"),
    [
        ("upgrade@create cm/a#1", "upgrade@update cm/a{data.x}#1", ABSENT, True),
        ("upgrade@create cm/a#1", "upgrade@update cm/a{data.x}#1", OTHER_TEXT, False),
        ("upgrade@create cm/a#1", "downgrade@update cm/a{data.x}#1", ABSENT, False),
        ("upgrade@create cm/a#1", "crash@create cm/a#1", OTHER_TEXT, True),
        ("upgrade@create cm/a#1", "crash@update cm/a{data.x}#1", ABSENT, False),
        ("upgrade@create cm/a#1", "upgrade@create cm/b#1 + jump(5)@create cm/c#1", ABSENT, False),
        ("dup", "dup", OTHER_TEXT, True),
    ],
)
def test_the_same_difference_after_an_upgrade_at_another_place_is_one_bug(first, second, other, same):
    assert bool({*keys_of(ABSENT, plan(first))} & {*keys_of(other, plan(second))}) is same


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ([], [ABSENT, TEST]),
        (["O2: secret/a is absent at the end"], []),  # the failure of the test follows from what is known
        (["O2: secret/*"], []),
        (["O2: secret/b*"], [ABSENT, TEST]),
        (["test: *"], [ABSENT]),
    ],
)
def test_what_is_in_the_baseline_is_no_news(known, left):
    assert unknown([ABSENT, TEST], known) == left


def test_brackets_in_a_baseline_are_those_of_paths():
    one = Violation("O2", "pod/a", "spec.containers[0].image '1' (reference) != '2'")
    assert unknown([one], ["O2: pod/a spec.containers[0].image*"]) == []
