"""What a test asks for at the end, its last change, and what was there before it, as the record of a run shows them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.intents import carried, intents_of, last_step, state_before, written
from fakekube.simulation.lastspec import Intent, Intents, Step
from fakekube.simulation.observation import Observation
from tests.simulation.observations import commit


def store(size, **more):
    return {"kind": "Store", "metadata": {"name": "a", "uid": "u-a", "resourceVersion": str(size)}, "spec": {"size": size}, **more}  # fmt: skip


def content(size):
    return {"kind": "Store", "metadata": {"name": "a"}, "spec": {"size": size}}


MADE = commit(1, "create", "store/a", "test", after=store(1))
CHILD = commit(2, "create", "cm/a", after=store(9))
RESIZED = commit(3, "update", "store/a", "test", store(1), store(2))
REPORTED = commit(4, "update", "store/a", before=store(2), after=store(2, status={"ready": True}))
APPROVED = commit(5, "update", "store/a", "test", store(2), store(2, status={"approved": True}))
GOING = {**store(2), "metadata": {"name": "a", "finalizers": ["a/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
MARKED = commit(6, "update", "store/a", "test", {**store(2), "metadata": {"name": "a", "finalizers": ["a/b"]}}, GOING)
GONE = commit(7, "delete", "store/a", "test", store(2))
AGAIN = commit(8, "create", "store/a", "test", after=store(3))
TOUCHED = commit(9, "update", "cm/a", "test", store(9), store(8))
OUTSIDE = replace(commit(10, "create", "external/buckets/a", "test"), kind="external")
AT_REST = replace(RESIZED, rest=True)


def run(*commits, **more):
    return Observation(0, commits=commits, **more)


@pytest.mark.parametrize(
    ("commits", "first", "wanted", "others"),
    [
        ([MADE], 1, 1, 0),
        ([MADE, CHILD, RESIZED], 1, 2, 0),
        ([MADE, REPORTED], 1, 1, 0),
        ([MADE, AT_REST, OUTSIDE], 1, 1, 0),
        ([MADE, APPROVED], 1, 1, 1),  # a status is nothing that a spec has
        ([MADE, CHILD, TOUCHED], 1, 1, 1),  # the test has not created it
        ([MADE, RESIZED, GONE], 1, None, 0),
        ([MADE, RESIZED, MARKED], 1, None, 0),
        ([MADE, MARKED, GONE], 1, None, 1),  # it was to be deleted before
        ([MADE, GONE, AGAIN], 1, 3, 0),
    ],
)
def test_what_a_test_asks_for_at_the_end(commits, first, wanted, others):
    found = intents_of(run(*commits, ended=60.0))
    intent = Intent(
        "store", "default", "a", content(first), None if wanted is None else content(wanted), first != wanted
    )
    assert found == Intents((intent,), others, 60.0)
    assert found.has_history is (first != wanted)


def test_a_change_that_is_taken_back_is_a_change():
    """A new cluster is not given what was there in between."""
    (intent,) = intents_of(run(MADE, RESIZED, commit(4, "update", "store/a", "test", store(2), store(1)))).objects
    assert (intent.first, intent.wanted, intent.changed) == (content(1), content(1), True)
    (intent,) = intents_of(run(MADE, GONE, MADE)).objects
    assert (intent.first, intent.wanted, intent.changed) == (content(1), content(1), True)


def test_intents_are_found_by_kind_namespace_and_name():
    found = intents_of(run(MADE, replace(MADE, name="b", namespace="prod"), replace(MADE, kind="pod")))
    assert len(found.objects) == 3
    assert found.find("store", "prod", "b") == found.objects[1]
    assert found.find("pod", "default", "a") == found.objects[2]
    assert found.find("pod", "prod", "a") is None
    assert found.has_history is False
    assert replace(found, objects=[*found.objects, Intent("cm", "", "x", {}, None)]).has_history is True


def test_what_a_client_writes_of_an_object():
    meta = {
        "name": "a", "namespace": "prod", "labels": {"x": "y"}, "annotations": {"a": "b"}, "finalizers": ["f/g"],
        "ownerReferences": [{"uid": "u"}],
    }  # fmt: skip
    by_server = {"uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "now", "managedFields": []}
    obj = {"kind": "Store", "metadata": {**meta, **by_server}, "spec": {"size": 1}, "status": {"ready": True}}
    assert written(obj) == {"kind": "Store", "metadata": meta, "spec": {"size": 1}}
    assert written({"data": {}}) == {"data": {}, "metadata": {}}


@pytest.mark.parametrize(
    ("wanted", "before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "own": 3}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "own": 3, "b": 2}),
        ({"a": 1, "own": 3}, {"a": 1}, {}, {"own": 3}),
        ({"own": 3}, {"a": 1}, {}, {"own": 3}),
        ({"s": {"x": 1, "own": 3}}, {"s": {"x": 1}}, {"s": {"x": 2}}, {"s": {"x": 2, "own": 3}}),
        ({"s": {"x": 1}}, {"s": {"x": 1, "y": 1}}, {"s": {"x": 1}}, {"s": {"x": 1}}),
        # lists, and what is no mapping on one side, are replaced as a whole
        ({"l": [1, 2]}, {"l": [1]}, {"l": [3]}, {"l": [3]}),
        ({"s": 1}, {"s": {"x": 1}}, {"s": {"x": 2}}, {"s": {"x": 2}}),
        ({"s": {"own": 1}}, {"s": 1}, {"s": {"x": 2}}, {"s": {"x": 2}}),
        ({"s": {"own": 1}}, {"s": {"x": 2}}, {"s": 1}, {"s": 1}),
    ],
)
def test_a_change_is_carried_to_another_content(wanted, before, after, found):
    kept = dict(wanted)
    assert carried(wanted, before, after) == found
    assert wanted == kept


trees = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)
contents = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@given(contents, contents)
def test_a_change_that_is_carried_to_its_own_beginning_is_the_change(before, after):
    assert carried(before, before, after) == after
    assert carried(after, before, after) == after
    assert carried(carried(before, before, after), after, before) == before


@given(contents, contents)
def test_no_change_changes_nothing(wanted, content):
    assert carried(wanted, content, content) == wanted


STEP = Step(3, "store", "default", "a", content(1), content(2))


@pytest.mark.parametrize(
    ("commits", "rests", "step"),
    [
        ([MADE, CHILD, RESIZED], [2], STEP),
        ([MADE, RESIZED], [1], STEP),
        ([MADE, CHILD, RESIZED, REPORTED], [2, 4], STEP),  # what others write does not matter
        ([MADE, CHILD, RESIZED, replace(TOUCHED, rest=True)], [2], STEP),
        ([MADE, CHILD, RESIZED, OUTSIDE], [2], STEP),
        ([MADE, CHILD, RESIZED], [1], None),  # the cluster was not at rest before
        ([MADE, CHILD, RESIZED], [], None),
        ([MADE, CHILD], [1], None),
        ([], [], None),
        ([MADE, RESIZED, APPROVED], [3], None),
        ([MADE, RESIZED, MARKED], [3], None),
        ([MADE, RESIZED, GONE], [3], None),
        ([CHILD, TOUCHED], [2], None),  # the test has not created it
        ([RESIZED], [0], None),
    ],
)
def test_the_last_change_that_can_be_taken_back(commits, rests, step):
    assert last_step(run(*commits, rests=rests)) == step


@pytest.mark.parametrize(
    ("revision", "objects"),
    [
        (1, {}),
        (2, {"store/a": store(1)}),
        (3, {"store/a": store(1), "cm/a": store(9)}),
        (4, {"store/a": store(2), "cm/a": store(9)}),
        (7, {"store/a": store(2), "cm/a": store(9)}),
        (8, {"cm/a": store(9)}),
        (99, {"store/a": store(3), "cm/a": store(9)}),
    ],
)
def test_the_objects_before_a_revision(revision, objects):
    generated = replace(CHILD, anchor=replace(CHILD.anchor, target="pod/a-*"))
    assert state_before(run(MADE, CHILD, RESIZED, GONE, AGAIN), revision) == objects
    assert state_before(run(MADE, CHILD, generated, RESIZED, GONE, AGAIN), revision) == objects
    assert state_before(run(commit(1, "delete", "pod/z", "test", store(1))), revision) == {}
