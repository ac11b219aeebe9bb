"""How a deletion chooses what becomes of dependents (`registry/generic/registry/store.go`, deletionFinalizersForGarbageCollection)."""

import pytest

from tests.apiserver.api import CONFIGMAPS, DEPLOYMENTS, configmap

CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
EVENTS = "/api/v1/namespaces/default/events"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
OWN = "example.com/x"

SPECS = {
    DEPLOYMENTS: {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    CONTROLLERS: {"selector": {"a": "b"}, "template": TEMPLATE},
}


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        ([], {}, []),
        ([], {"propagationPolicy": "Background"}, []),
        ([], {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ([], {"propagationPolicy": "Orphan"}, ["orphan"]),
        ([], {"orphanDependents": True}, ["orphan"]),
        ([], {"orphanDependents": False}, []),
        # without options a finalizer of the object decides
        (["orphan"], {}, ["orphan"]),
        (["foregroundDeletion"], {}, ["foregroundDeletion"]),
        (["orphan"], {"propagationPolicy": "Background"}, []),
        (["orphan"], {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        (["foregroundDeletion"], {"propagationPolicy": "Orphan"}, ["orphan"]),
        (["foregroundDeletion"], {"propagationPolicy": "Background"}, []),
        (["orphan"], {"orphanDependents": False}, []),
        (["foregroundDeletion"], {"orphanDependents": True}, ["orphan"]),
    ],
)
def test_the_finalizers_of_a_deleted_object(api, before, options, after):
    meta = {"name": "a", "finalizers": [*before, OWN]}
    api.ok("POST", DEPLOYMENTS, {"metadata": meta, "spec": SPECS[DEPLOYMENTS]})
    api.ok("DELETE", f"{DEPLOYMENTS}/a", options)
    found = api.ok("GET", f"{DEPLOYMENTS}/a")["metadata"]
    assert "deletionTimestamp" in found
    assert sorted(found["finalizers"]) == sorted([OWN, *after])


@pytest.mark.parametrize(("path", "added"), [(DEPLOYMENTS, []), (CONTROLLERS, ["orphan"])])
def test_what_a_kind_does_by_default(api, path, added):
    """`DefaultGarbageCollectionPolicy` of the strategies."""
    api.ok("POST", path, {"metadata": {"name": "a", "finalizers": [OWN]}, "spec": SPECS[path]})
    api.ok("DELETE", f"{path}/a")
    assert api.ok("GET", f"{path}/a")["metadata"]["finalizers"] == [OWN, *added]


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        ({"orphanDependents": True, "propagationPolicy": "Orphan"}, 422, "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"),
        ({"propagationPolicy": "Sideways"}, 422, 'propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"'),
    ],
)  # fmt: skip
def test_options_that_are_refused(api, options, code, why):
    api.ok("POST", CONFIGMAPS, configmap())
    found = api.refused("DELETE", f"{CONFIGMAPS}/a", options)
    assert found[0] == code
    assert why in found[2]


def test_kinds_without_garbage_collection_ignore_the_policy(api):
    event = {
        "metadata": {"name": "e", "namespace": "default", "finalizers": [OWN]},
        "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"},
    }
    api.ok("POST", EVENTS, event)
    api.ok("DELETE", f"{EVENTS}/e", {"propagationPolicy": "Foreground"})
    assert api.ok("GET", f"{EVENTS}/e")["metadata"]["finalizers"] == [OWN]


def test_a_second_deletion_shows_the_object_that_is_still_there(api):
    """A namespace with finalizers, and a pod whose grace period is not shortened."""
    api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    pods = "/api/v1/namespaces/default/pods"
    api.ok("POST", pods, {"metadata": {"name": "p"}, "spec": {**TEMPLATE["spec"], "nodeName": "n"}})
    for path, kind in (("/api/v1/namespaces/n", "Namespace"), (f"{pods}/p", "Pod")):
        first = api.ok("DELETE", path)
        assert (first["kind"], "deletionTimestamp" in first["metadata"]) == (kind, True)
        before = api.revision
        assert api.ok("DELETE", path) == first
        assert api.ok("DELETE", path, {"gracePeriodSeconds": 300}) == first
        assert api.revision == before
        assert api.ok("GET", path) == first
        code, shown = api.call("DELETE", path, {"orphanDependents": False})
        assert (code, shown) == (202, first)  # accepted, but not yet done


def test_a_deletion_that_removes_the_object_says_so(api):
    api.ok("POST", CONFIGMAPS, configmap())
    code, shown = api.call("DELETE", f"{CONFIGMAPS}/a", {"orphanDependents": False})
    assert (code, shown["kind"], shown["status"], shown["details"]["name"]) == (200, "Status", "Success", "a")
