"""Which objects of two final states are compared with each other, and which are only left over."""

from types import SimpleNamespace

import pytest

from fakekube.simulation.anchor import changed_fields
from fakekube.simulation.oracles.finalstate import _matched, is_garbage

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
