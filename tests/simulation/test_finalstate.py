"""Pure rules of oracles and explorations: which objects are compared, the order of changes, retries and limits."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from fakekube.simulation import explorer
from fakekube.simulation.anchor import changed_fields
from fakekube.simulation.explorer import Explorer, ReferenceFails, Settings
from fakekube.simulation.observation import Observation
from fakekube.simulation.oracles.finalstate import _matched, is_garbage
from fakekube.simulation.oracles.progress import _first_of_each
from fakekube.simulation.oracles.writers import _flips
from fakekube.simulation.running.recovery import Recovery
from tests.simulation.observations import commit

#: Objects differ if they are not equal.
MASK = SimpleNamespace(differences=lambda target, left, right, allocated: [] if left == right else ["differs"])


@pytest.mark.parametrize(
    ("expected", "found", "matched"),
    [
        ({}, {}, {}),
        ({"pod/a": 1}, {"pod/a": 2, "pod/b": 3}, {"pod/a": 2, "pod/b": 3}),
        # names that are generated: equal ones first, then others of the same name, then those that are left over
        ({"pod/a-*~1": 1, "pod/a-*~2": 2}, {"pod/a-*~1": 2, "pod/a-*~2": 1}, {"pod/a-*~1": 1, "pod/a-*~2": 2}),
        ({"pod/a-*~1": 1, "pod/a-*~2": 2}, {"pod/a-*~1": 2, "pod/a-*~2": 3}, {"pod/a-*~1": 3, "pod/a-*~2": 2}),
        ({"pod/a-*~1": 1}, {"pod/b-*~1": 1}, {"pod/b-*~1": 1}),
        ({"pod/a-*~1": 1}, {}, {}),
        (
            {"pod/a-*~1": 1},
            {"pod/a-*~1": 2, "pod/a-*~2": 3, "pod/a-*~3": 1, "pod/a-*~4": 4},
            {"pod/a-*~1": 1, "pod/a-*~2": 2, "pod/a-*~3": 3, "pod/a-*~4": 4},
        ),
    ],
)
def test_objects_with_generated_names_are_compared_by_their_content(expected, found, matched):
    assert _matched(expected, found, MASK, None) == matched


def owned(*uids):
    return {"metadata": {"uid": "u", "ownerReferences": [{"uid": uid} for uid in uids]}}


@pytest.mark.parametrize(
    ("obj", "garbage"),
    [
        ({}, False), ({"metadata": None}, False), (owned(), False), (owned("x"), False), (owned("gone"), True),
        (owned("gone", "other"), True), (owned("gone", "x"), False),
    ],
)  # fmt: skip
def test_garbage_has_owners_all_of_which_are_gone(obj, garbage):
    assert is_garbage(obj, {"cm/x": {"metadata": {"uid": "x"}}, "cm/y": {}}) is garbage


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ({}, {}, ()),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, ("a", "b")),
        (dict.fromkeys("abcd", 1), dict.fromkeys("abcd", 2), ("a", "b", "c", "d")),
        (dict.fromkeys("abcde", 1), dict.fromkeys("abcde", 2), ("a", "b", "c", "d", "e")),
        ({"x": dict.fromkeys("abcde", 1)}, {"x": dict.fromkeys("abcde", 2)}, ("x",)),
        (
            {"y": 1, "x": {**dict.fromkeys("abc", 1), "d": {"e": 1, "f": 1}}},
            {"y": 2, "x": {**dict.fromkeys("abc", 2), "d": {"e": 2, "f": 2}}},
            ("x", "y"),
        ),
    ],
)
def test_many_changed_fields_are_abbreviated_to_their_parents(before, after, fields):
    assert changed_fields(before, after) == fields


def test_the_first_of_equal_changes_counts_in_their_order():
    changes = [
        commit(number, "create", target) for number, target in enumerate(("cm/a", "cm/b", "cm/a", "cm/c", "cm/b"))
    ]
    assert [one.revision for one in _first_of_each(changes)] == [0, 1, 3]


@pytest.mark.parametrize(("deleted", "flipped"), [(None, 1), ("u-a", 0), ("u-b", 1)])
def test_what_was_written_to_an_object_that_is_deleted_does_not_count(deleted, flipped):
    def version(value):
        return {"metadata": {"uid": "u-a"}, "data": {"x": value}}

    def write(revision, actor, before, after):
        return commit(revision, "update", "cm/a", actor, version(before), version(after))

    changes = [write(1, "one", 0, 1), write(2, "two", 1, 2), write(4, "one", 2, 1)]
    if deleted is not None:
        changes.insert(2, commit(3, "delete", "cm/x", before={"metadata": {"uid": deleted}}))
    assert len(list(_flips(changes))) == flipped


def test_the_longest_delay_of_what_has_failed_is_waited_for():
    def view(**waiting):
        delays = {key: timedelta(seconds=delay) for key, (delay, _) in waiting.items()}
        return SimpleNamespace(name="db", waiting=delays, failures=lambda key: waiting[key][1])

    def recovery(*views):
        running = {"db": SimpleNamespace(views=lambda: views)}
        return SimpleNamespace(_hands=SimpleNamespace(running=lambda: running), _failing={("db", "usual")})

    assert Recovery.next_retries(recovery()) == 0.0
    assert Recovery.next_retries(recovery(view(a=(9, 0)))) == 0.0
    assert Recovery.next_retries(recovery(view(a=(2, 1), b=(9, 0)), view(c=(4, 3), d=(3, 1)))) == 4.0
    assert Recovery.next_retries(recovery(view(a=(2, 1), usual=(9, 1)))) == 2.0  # it fails in the reference, too


@pytest.mark.parametrize(("limit", "now", "late"), [(None, 1e9, False), (10.0, 110.0, False), (10.0, 110.5, True)])
def test_an_exploration_is_late_when_its_time_is_over(monkeypatch, limit, now, late):
    monkeypatch.setattr(explorer, "monotonic", lambda: now)
    assert Explorer._is_late(SimpleNamespace(_settings=Settings(seconds=limit), _began=100.0)) is late


@pytest.mark.parametrize(
    ("second", "skipped", "fails"),
    [
        ({}, (), None), ({"failure": "it broke"}, (), "it broke"), ({"failure": "it broke"}, ("step",), None),
        ({"unsettled": "busy"}, ("step",), "busy"),
    ],
)  # fmt: skip
def test_the_reference_is_made_under_two_seeds(second, skipped, fails):
    plans = []

    def run(plan):
        plans.append((plan.seed, plan.skipped))
        return Observation(plan.seed, **(second if plan.seed == 8 else {}))

    made = Explorer(run, Settings(seed=7), lambda: None)
    if fails:
        with pytest.raises(ReferenceFails, match=fails):
            made.reference(skipped)
    else:
        assert made.reference(skipped)[0].seed == 7
    assert plans == [(7, skipped), (8, skipped)]
