"""The names of state changes: of objects, of changed fields, of items of external APIs, and how often they occur."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.anchor import (
    Anchor,
    Occurrences,
    changed_fields,
    external_target,
    numbered,
    parse_anchor,
    target_of,
)

UID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("create pod/a#1", Anchor("create", "pod/a")),
        ("create pod/a", Anchor("create", "pod/a")),
        ("  delete pod/prod/a-*~2#12 ", Anchor("delete", "pod/prod/a-*~2", (), 12)),
        ("update store/a{spec.size}#2", Anchor("update", "store/a", ("spec.size",), 2)),
        ("update store/a{spec.a, spec.b,}#1", Anchor("update", "store/a", ("spec.a", "spec.b"))),
        ("get pod/a#3", Anchor("get", "pod/a", (), 3)),
        ("list pod/prod/#1", Anchor("list", "pod/prod/")),
    ],
)
def test_anchors_are_read(text, anchor):
    assert parse_anchor(text) == anchor
    assert (anchor.kind, anchor.signature) == (anchor.target.split("/")[0], str(anchor).rpartition("#")[0])


@pytest.mark.parametrize(
    "text", ["create pod/a#", "create pod/a#0", "create pod/a#01", "pod/a#1", "create pod/a#1 x", ""]
)
def test_what_is_no_anchor(text):
    with pytest.raises(ValueError, match="expected 'VERB KIND/NAME"):
        parse_anchor(text)


@pytest.mark.parametrize(
    ("namespace", "name", "generated", "target"),
    [
        ("default", f"x-{UID}", "", "pod/x-*"),
        ("prod", f"{UID}-{UID}", "", "pod/prod/*-*"),
        ("default", "other", "a-", "pod/other"),  # it was renamed, or restored
        ("prod", "a-x7", "a-", "pod/prod/a-*"),
    ],
)
def test_the_random_part_of_a_name_is_left_out(namespace, name, generated, target):
    assert target_of("pod", namespace, name, generated) == target


@pytest.mark.parametrize(
    ("taken", "found"),
    [([], "a~1"), (["a~1"], "a~2"), (["a~2"], "a~1"), (["a~1", "a~2", "a~4"], "a~3"), (["a"], "a~1")],
)
def test_objects_of_one_generated_name_are_numbered(taken, found):
    assert numbered("a", taken) == found


@pytest.mark.parametrize(
    ("name", "item", "target"),
    [
        ("buckets", "photos", "external/buckets/photos"),
        ("my buckets", "a b{c},d#e(f)+g@h", "external/my_buckets/a_b_c__d_e_f__g_h"),
        ("b", "x..y...z", "external/b/x_y_z"),
        ("b", "x.y", "external/b/x.y"),
        ("b", "x" * 150, f"external/b/{'x' * 100}"),
    ],
)
def test_items_of_external_apis_can_stand_in_anchors(name, item, target):
    assert external_target(name, item) == target
    assert parse_anchor(f"create {target}#1").target == target


def items(key, **values):
    return [{key: name, "x": value} for name, value in values.items()]


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        # items of lists are named by name, type or key
        ({"l": items("name", a=1)}, {"l": items("name", a=2)}, ("l[a].x",)),
        ({"l": items("type", a=1)}, {"l": items("type", a=2)}, ("l[a].x",)),
        ({"l": items("key", a=1)}, {"l": items("key", a=2)}, ("l[a].x",)),
        ({"l": items("name", a=1)}, {"l": items("name", a=1, b=1)}, ("l[b].name", "l[b].x")),
        ({"l": items("name", a=1, b=1)}, {"l": items("name", b=1, a=1)}, ()),  # another order
        # others are one field
        ({"l": items("id", a=1)}, {"l": items("id", a=2)}, ("l",)),
        ({"l": [*items("name", a=1), *items("name", a=2)]}, {"l": items("name", a=1)}, ("l",)),
        ({"l": items("name", a=1)}, {"l": [*items("name", a=1), 7]}, ("l",)),
        ({"l": [{"name": 1}]}, {"l": [{"name": 2}]}, ("l",)),
        ({"l": [1]}, {"l": {"a": 1}}, ("l",)),
        # what an anchor has no place for
        ({"d": {"a b": 1}}, {"d": {"a b": 2}}, ("d.a_b",)),
        ({"l": items("name", **{"a#b": 1})}, {"l": items("name", **{"a#b": 2})}, ("l[a_b].x",)),
        # what appears or disappears is named with its fields
        ({}, {"spec": {"a": {"b": 1}, "c": []}}, ("spec.a.b", "spec.c")),
        ({"spec": {"a": {"b": 1}}}, {"spec": {"a": 7}}, ("spec.a",)),
        ({}, {"spec": {}}, ("spec",)),
        # what the server maintains does not count
        (
            {"metadata": {"resourceVersion": "1", "generation": 1, "managedFields": [1], "labels": {"a": "1"}}},
            {"metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [2], "labels": {"a": "2"}}},
            ("metadata.labels.a",),
        ),
        ({"spec": {"managedFields": 1}}, {"spec": {"managedFields": 2}}, ("spec.managedFields",)),
        ({"metadata": {"managedFields": [{"name": "a"}]}}, {"metadata": {}}, ()),
        # at most four fields: then their parents, the deepest first
        ({"x": dict.fromkeys("abcd", 1)}, {"x": dict.fromkeys("abcd", 2)}, ("x.a", "x.b", "x.c", "x.d")),
        ({"x": dict.fromkeys("abcde", 1)}, {"x": dict.fromkeys("abcde", 2)}, ("x",)),
        (
            {"a": 1, "b": {"c": 1, "d": {"e": 1, "f": 1}, "g": {"h": 1}}},
            {"a": 2, "b": {"c": 2, "d": {"e": 2, "f": 2}, "g": {"h": 2}}},
            ("a", "b.c", "b.d", "b.g"),
        ),
    ],
)
def test_the_fields_of_a_change(before, after, fields):
    assert changed_fields(before, after) == fields


values = st.recursive(
    st.integers(0, 2),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "c d"]), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["spec", "status", "data"]), values, max_size=3)


@given(objects, objects)
def test_a_change_has_the_same_fields_in_both_directions_and_an_anchor_that_can_be_read(before, after):
    fields = changed_fields(before, after)
    assert fields == tuple(sorted(set(fields)))
    assert set(fields) == set(changed_fields(after, before))
    assert bool(fields) is (before != after)
    anchor = Anchor("update", "store/a", fields, 3)
    assert parse_anchor(str(anchor)) == anchor
    roots = {one for one in {*before, *after} if before.get(one) != after.get(one) or (one in before) != (one in after)}
    assert {one.partition(".")[0] for one in fields} == roots


def test_the_next_occurrence_is_known_before_it_happens():
    seen = Occurrences()
    for number in (1, 2, 3):
        expected = seen.peek(Anchor("update", "store/a", ("spec",), 99))
        assert expected == seen.next("update", "store/a", ("spec",)) == Anchor("update", "store/a", ("spec",), number)
    assert seen.peek(Anchor("create", "store/a")).occurrence == 1
    assert seen.peek(Anchor("update", "store/a", ("status",))).occurrence == 1
