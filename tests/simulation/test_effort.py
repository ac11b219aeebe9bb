"""O5: how many reconciles a run may need, and the gaps of retries."""

from dataclasses import replace
from itertools import accumulate

import pytest

from fakekube.simulation.oracles.progress import effort
from tests.simulation.observations import REFERENCE, commit, obj, record


@pytest.mark.parametrize(
    ("seen", "deleted", "first", "counts"),
    [
        (1, 2, 3, False),  # it is gone, and the operator does not know
        (1, 2, 2, False),
        (2, 2, 3, True),  # the operator has seen it go
        (1, 4, 3, True),  # it was there when the reconcile began
        (None, 2, 3, True),
    ],
)
def test_o5_reconciles_of_what_is_gone_do_not_count(seen, deleted, first, counts):
    gone = commit(deleted, "delete", "store/a", "test", before=obj("Store", "a"))
    late = replace(record(seen={} if seen is None else {"store": seen}), first=first)
    run = replace(REFERENCE, commits=[*REFERENCE.commits, gone], reconciles=[late] * 30)
    assert ("O5" in [one.oracle for one in effort(REFERENCE, run)]) == counts


@pytest.mark.parametrize(
    ("number", "too_many"), [(3 * 3 + 20, False), (3 * 3 + 21, True)]
)  # fmt: skip
def test_o5_three_times_the_reconciles_of_the_reference_and_20_more(number, too_many):
    run = replace(REFERENCE, reconciles=[record()] * number)
    texts = [f"O5: db has {number} reconciles, the reference 3 (limit 29)"]
    assert [str(one) for one in effort(REFERENCE, run)] == texts * too_many


@pytest.mark.parametrize(
    ("delay", "cause", "counts"),
    [(1.0, "requeue_after", False), (0.9, "requeue_after", True), (None, "requeue_after", True), (1.0, "added", True)],
)
def test_o5_what_polls_does_not_count(delay, cause, counts):
    run = replace(REFERENCE, reconciles=[record(requeue_after=delay, cause=cause)] * 40)
    assert ("O5" in [one.oracle for one in effort(REFERENCE, run)]) == counts


@pytest.mark.parametrize(
    ("gaps", "steady"),
    [
        ([0.5] * 6, True),
        ([0.5] * 5, False),
        ([1.0] * 6, False),
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], True),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.2], False),
        ([5.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], True),  # the last ones count
    ],
)
def test_o5_retries_have_growing_gaps(gaps, steady):
    times = list(accumulate(gaps, initial=0.0))
    records = [record(0.0, error="x"), *(record(at, error="x", cause="retry") for at in times[1:])]
    run = replace(REFERENCE, reconciles=records)
    texts = ["O5: db retries default/a at constant intervals below a second"]
    assert [str(one) for one in effort(REFERENCE, run)] == texts * steady
    between = replace(run, reconciles=[*records[:4], record(times[3]), *records[4:]])
    assert list(effort(REFERENCE, between)) == [], "a success in between"
