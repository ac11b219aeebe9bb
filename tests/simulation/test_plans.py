"""Anchors, atoms and plans are texts that can be read back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.anchor import Anchor, Occurrences, changed_fields, parse_anchor, target_of
from fakekube.simulation.atoms import (
    LOSSES,
    RACES,
    Crash,
    Drain,
    Dup,
    Evict,
    Failure,
    Gap,
    Hold,
    Hook,
    Jump,
    Lose,
    Lost,
    Order,
    Pause,
    Preempt,
    Race,
    Stale,
    Zombie,
    parse_atom,
)
from fakekube.simulation.plan import Plan, parse_plan

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
fields = st.lists(st.from_regex(r"[a-z]{1,6}(\.[a-zA-Z0-9]{1,5}(\[[a-z-]{1,4}\])?){0,2}", fullmatch=True), max_size=3)
targets = st.builds("{}/{}".format, names, names) | st.builds("{}/{}/{}*".format, names, names, names)
anchors = st.builds(
    Anchor, st.sampled_from(["create", "update", "delete"]), targets, fields.map(tuple), st.integers(1, 99)
)
untils = anchors | st.sampled_from(["reconcile", "rest"])
atoms = st.one_of(
    st.builds(Crash, anchors, st.none() | untils),
    st.builds(Lost, anchors, st.sampled_from(LOSSES)),
    st.builds(Hold, names, anchors, untils),
    st.builds(Gap, names, anchors, untils),
    st.builds(Stale, names, anchors, anchors),
    st.builds(Failure, anchors, st.integers(400, 599), st.integers(1, 9)),
    st.builds(Race, anchors, st.sampled_from(RACES)),
    st.builds(Pause, anchors, untils),
    st.builds(Zombie, anchors),
    st.builds(Hook, anchors),
    st.builds(Jump, anchors, st.integers(1, 10_000)),
    st.builds(Evict, targets, anchors),
    st.builds(Preempt, targets, anchors),
    st.builds(Drain, targets, st.integers(1, 999), anchors),
    st.builds(Lose, targets, st.integers(1, 999), anchors),
    st.just(Dup()),
    st.just(Order()),
)


@given(anchors)
def test_the_text_of_an_anchor_can_be_read(anchor):
    assert parse_anchor(str(anchor)) == anchor


@given(
    st.builds(
        Plan, st.integers(0, 10**9), st.lists(atoms, max_size=4).map(tuple), st.lists(names, max_size=2).map(tuple)
    )
)
def test_the_text_of_a_plan_can_be_read(plan):
    assert parse_plan(str(plan)) == plan


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("crash@delete sts/a#", "expected 'VERB KIND/NAME"),
        ("crash@remove sts/a#1", "the verb is one of create"),
        ("crash@delete a#1", "has no name"),
        ("crash@delete sts/a#0", "expected 'VERB KIND/NAME"),
        ("crash", "an anchor is missing"),
        ("explode@delete sts/a#1", "expected one of crash, down"),
        ("lost(410)@delete sts/a#1", "'410' is none of 504, reset"),
        ("race(x)@update sts/a#1", "'x' is none of annotate"),
        ("hold(pod)", r"expected \(KIND, E..E2\)"),
        ("stale(pod, at=create pod/a#1)", "the argument when= is missing"),
        ("dup@delete sts/a#1", "neither arguments nor an anchor"),
        ("error(abc)@create pod/a#1", "invalid literal"),
    ],
)
def test_what_is_wrong_with_an_atom_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_atom(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seed=1 dup", "starts with 'FK1'"),
        ("FK2 dup", "starts with 'FK1'"),
        ("FK1 seed=x dup", "the seed 'x' is no number"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_plan(text)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 3}}, ("spec.b",)),
        ({"spec": {}}, {"spec": {"a": {"b": 1}}}, ("spec.a.b",)),
        ({"spec": {"a": {"b": 1}}}, {"spec": {}}, ("spec.a.b",)),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            ("status.conditions[Ready].status",),
        ),
        ({"spec": {"l": [1, 2]}}, {"spec": {"l": [1]}}, ("spec.l",)),
        ({"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "2"}}, ()),
        (
            {"data": {}, "spec": {}},
            {"data": {}, "spec": {"a": {"b": 1, "c": 2, "d": 3}, "e": {"f": 1, "g": 2}}},
            ("spec.a", "spec.e"),
        ),
    ],
)
def test_the_fields_that_a_change_is_named_after(before, after, found):
    assert changed_fields(before, after) == found


def test_occurrences_are_counted_by_signature():
    seen = Occurrences()
    made = [seen.next("update", "store/a", ("status",)), seen.next("update", "store/a", ("spec",))]
    assert str(seen.next("update", "store/a", ("status",))) == "update store/a{status}#2"
    assert [one.occurrence for one in made] == [1, 1]


@pytest.mark.parametrize(
    ("namespace", "name", "generated", "found"),
    [
        ("default", "a", "", "pod/a"),
        ("", "a", "", "pod/a"),
        ("prod", "a", "", "pod/prod/a"),
        ("default", "a-x1", "a-", "pod/a-*"),
    ],
)
def test_targets(namespace, name, generated, found):
    assert target_of("pod", namespace, name, generated) == found


@pytest.mark.parametrize("name", ["intents", "last_step", "bounds", "releases"])
def test_what_is_no_part_of_the_text_is_no_part_of_a_plan(name):
    plain, other = Plan(3), replace(Plan(3), **{name: ("something",)})
    assert (other, hash(other), str(other), repr(other)) == (plain, hash(plain), str(plain), repr(plain))
    assert getattr(other, name) == ("something",)
