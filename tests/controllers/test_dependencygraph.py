"""What follows from changes of the graph of owners, where references disagree about an owner."""

import pytest

from fakekube.controllers.garbagecollector.dependencygraph import AbsentOwners, DependencyGraph, Identity


def identity(name, uid=None, namespace="ns", kind="ConfigMap"):
    return Identity(kind, "v1", namespace, name, uid or name)


def reference(name, uid=None, kind="ConfigMap", **more):
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid or name, **more}


def obj(name, *owners, **meta):
    return {"metadata": {"name": name, "uid": name, "ownerReferences": list(owners), **meta}}


def observe(graph, name, *owners, namespace="ns", **meta):
    return actions(graph.observed(identity(name, namespace=namespace), obj(name, *owners, **meta)))


def actions(todo):
    return [(one.what, one.node.identity.name) for one in todo]


def test_an_unknown_owner_gets_a_virtual_node_that_is_looked_for():
    graph = DependencyGraph()
    assert observe(graph, "child", reference("owner")) == [("delete", "owner")]
    assert graph.find("owner").virtual
    assert observe(graph, "owner") == []
    assert not graph.find("owner").virtual


def test_dependents_of_an_absent_owner_are_attempted_and_the_owner_is_remembered():
    graph = DependencyGraph()
    observe(graph, "child", reference("owner"))
    assert actions(graph.found_absent(identity("owner"))) == [("delete", "child")]
    assert identity("owner") in graph.absent
    assert graph.find("owner") is None


def test_an_absent_identity_of_several_is_replaced_by_the_next_one():
    graph = DependencyGraph()
    observe(graph, "one", reference("a", "uid"))
    assert observe(graph, "two", reference("b", "uid")) == [("delete", "two")]
    assert actions(graph.found_absent(identity("a", "uid"))) == [("delete", "one"), ("delete later", "b")]
    assert graph.find("uid").identity == identity("b", "uid")
    assert actions(graph.found_absent(identity("b", "uid"))) == [("delete", "two"), ("delete later", "a")]


def test_an_observed_object_is_not_removed_for_what_a_wrong_reference_says():
    graph = DependencyGraph()
    observe(graph, "owner")
    assert observe(graph, "child", reference("wrong", "owner")) == [("delete", "child")]
    assert actions(graph.found_absent(identity("wrong", "owner"))) == [("delete", "child")]
    assert graph.find("owner") is not None


def test_an_observed_object_corrects_what_its_dependents_say():
    graph = DependencyGraph()
    observe(graph, "right", reference("owner"))
    observe(graph, "wrong", reference("other", "owner"), namespace="elsewhere")
    assert observe(graph, "owner") == [] or graph.find("owner").identity == identity("owner")
    replaced = DependencyGraph()
    observe(replaced, "wrong", reference("other", "owner"), namespace="elsewhere")
    assert observe(replaced, "owner") == [("report", "wrong"), ("delete", "wrong")]


BLOCKS, FREE, SILENT = {"blockOwnerDeletion": True}, {"blockOwnerDeletion": False}, {}


@pytest.mark.parametrize(
    ("before", "after", "freed"),
    [
        (BLOCKS, FREE, True),
        (BLOCKS, SILENT, True),
        (BLOCKS, None, True),
        (BLOCKS, BLOCKS, False),
        (BLOCKS, {**BLOCKS, "controller": True}, False),
        (FREE, BLOCKS, False),
        (FREE, SILENT, False),
        (FREE, None, False),
        (SILENT, None, False),
        (SILENT, {"controller": True}, False),
        (None, BLOCKS, False),
    ],
)
def test_an_owner_is_looked_at_when_a_dependent_no_longer_blocks_it(before, after, freed):
    """`graph_builder.go`: addUnblockedOwnersToDeleteQueue."""
    graph = DependencyGraph()
    observe(graph, "owner")
    old, new = ([] if more is None else [reference("owner", **more)] for more in (before, after))
    observe(graph, "child", *old)
    assert observe(graph, "child", *new) == ([("delete", "owner")] if freed else [])
    assert [one.identity.name for one in graph.find("owner").dependents] == ([] if after is None else ["child"])
    assert [one.identity.name for one in graph.find("owner").blocking_dependents()] == (
        ["child"] if after is not None and after.get("blockOwnerDeletion") else []
    )


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion"])
def test_a_deletion_with_a_finalizer_begins_once(finalizer):
    graph = DependencyGraph()
    observe(graph, "owner")
    observe(graph, "child", reference("owner"))
    before = obj("owner")
    deleted = obj("owner", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[finalizer])
    expected = [("orphan", "owner")] if finalizer == "orphan" else [("delete", "child"), ("delete", "owner")]
    assert actions(graph.observed(identity("owner"), deleted, before)) == expected
    assert actions(graph.observed(identity("owner"), deleted, deleted)) == []


def test_the_least_recently_used_absent_owner_is_forgotten():
    absent = AbsentOwners(2)
    absent.add(identity("a"))
    absent.add(identity("b"))
    assert identity("a") in absent
    absent.add(identity("c"))
    assert identity("b") not in absent
    assert identity("a") in absent


def test_an_owner_of_the_cluster_that_was_not_seen_may_be_one_of_a_namespace():
    graph = DependencyGraph()
    assert observe(graph, "first", reference("owner"), namespace="") == [("delete", "owner")]
    assert observe(graph, "second", reference("owner"), namespace="") == []
    assert observe(graph, "third", reference("owner"), namespace="ns") == [("delete", "third")]
    observe(graph, "owner", namespace="")
    assert observe(graph, "fourth", reference("owner"), namespace="ns") == []
