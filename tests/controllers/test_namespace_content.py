"""How the content of a namespace is deleted, resource by resource (`namespaced_resources_deleter.go`)."""

import asyncio
from datetime import timedelta

import pytest

from controllerlib import ApiError, Request
from fakekube.controllers.core.namespace import NamespaceController
from fakekube.controllers.core.namespacecontent import ContentFailure, NamespaceContent
from fakekube.controllers.servedresources import ServedResource
from tests.controllers.test_cached_rules import HeldContext, HeldObjects
from tests.controllers.workloads import NOW, stamp

EVERY = ("delete", "deletecollection", "list")
UNSUPPORTED = ApiError(405, "MethodNotAllowed", "not allowed")
NOT_FOUND = ApiError(404, "NotFound", "not found")
BROKEN = ApiError(500, "InternalError", "broken")


def run(coroutine):
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


class HeldServer:
    """A server with objects by kind, whose requests may fail; the requests are noted."""

    def __init__(self, *, errors=None, stale=False, **objects):
        self.objects = {kind: list(found) for kind, found in objects.items()}
        self.errors, self.stale, self.requests = errors or {}, stale, []
        self.namespace = namespace()

    def _note(self, verb, kind, *more):
        self.requests.append((verb, kind, *more))
        if verb in self.errors:
            raise self.errors[verb]

    async def list(self, api_version, kind, namespace):
        self._note("list", kind)
        return list(self.objects.get(kind, ()))

    async def delete_collection(self, api_version, kind, namespace, *, propagation):
        self._note("deletecollection", kind, propagation)
        self.objects[kind] = [one for one in self.objects.get(kind, ()) if one["metadata"].get("finalizers")]

    async def delete(self, api_version, kind, name, namespace, *, propagation):
        self._note("delete", kind, name, propagation)
        self.objects[kind] = [one for one in self.objects[kind] if one["metadata"]["name"] != name]

    async def raw_get(self, path, *, accept):
        def row(plural, kind, scope="Namespaced", verbs=EVERY):
            return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": list(verbs)}

        core = [
            row("configmaps", "ConfigMap"),
            row("pods", "Pod"),
            row("nodes", "Node", "Cluster"),
            row("bindings", "Binding", verbs=()),
        ]
        version = {"version": "v1", "resources": core if path == "/api" else [row("jobs", "Job")]}
        if path == "/apis" and self.stale:
            version = {"version": "v1", "freshness": "Stale"}
        return {"items": [{"metadata": {} if path == "/api" else {"name": "batch"}, "versions": [version]}]}

    async def update_status(self, obj):
        self._note("status", obj["metadata"]["name"])
        self.namespace = obj
        return obj

    async def get(self, api_version, kind, name):
        self._note("get", kind)
        return self.namespace

    async def update_subresource(self, obj, subresource):
        self._note(subresource, obj["metadata"]["name"])
        self.namespace = obj
        return obj


def namespace(deleted=10, **status):
    meta = {"name": "ns", "uid": "u", **({} if deleted is None else {"deletionTimestamp": stamp(deleted)})}
    return {"metadata": meta, "spec": {"finalizers": ["kubernetes"]}, "status": status}


def obj(name="a", *finalizers):
    return {"metadata": {"name": name, **({"finalizers": list(finalizers)} if finalizers else {})}}


def a_pod(grace=None, phase="Running", name="p"):
    return {
        "metadata": {"name": name, "finalizers": ["f"]},
        "spec": {"terminationGracePeriodSeconds": grace},
        "status": {"phase": phase},
    }


def resource(plural="configmaps", kind="ConfigMap", group="", verbs=EVERY):
    return ServedResource(group, "v1", plural, kind, True, frozenset(verbs))


def left(server, found=None, deleted=10):
    return run(NamespaceContent(server, lambda: NOW)._delete_all(found or resource(), namespace(deleted)))


def verbs(server):
    return [request[0] for request in server.requests]


def test_all_objects_are_deleted_at_once_in_the_background():
    server = HeldServer(ConfigMap=[obj("a"), obj("b")])
    found = left(server)
    assert (found.estimate, found.number, found.problem) == (0, 0, None)
    assert server.requests == [("deletecollection", "ConfigMap", "Background"), ("list", "ConfigMap")]


@pytest.mark.parametrize("error", [UNSUPPORTED, NOT_FOUND])
def test_what_cannot_be_deleted_at_once_is_deleted_one_by_one(error):
    server = HeldServer(errors={"deletecollection": error}, ConfigMap=[obj("a"), obj("b")])
    assert left(server).number == 0
    assert server.requests[1:] == [
        ("list", "ConfigMap"),
        ("delete", "ConfigMap", "a", "Background"),
        ("delete", "ConfigMap", "b", "Background"),
        ("list", "ConfigMap"),
    ]
    server = HeldServer(ConfigMap=[obj("a")])
    assert left(server, resource(verbs=("delete", "list"))).number == 0
    assert verbs(server) == ["list", "delete", "list"]


@pytest.mark.parametrize("error", [UNSUPPORTED, NOT_FOUND])
def test_what_cannot_be_deleted_or_listed_at_all_is_left_alone(error):
    server = HeldServer(errors={"deletecollection": error, "delete": error}, ConfigMap=[obj("a", "f")])
    assert left(server).number == 1
    server = HeldServer(errors={"deletecollection": error, "list": error}, ConfigMap=[obj("a")])
    assert (left(server).number, verbs(server)) == (0, ["deletecollection", "list", "list"])
    server = HeldServer(ConfigMap=[obj("a")])
    assert (left(server, resource(verbs=("delete",))).number, verbs(server)) == (0, [])


@pytest.mark.parametrize("verb", ["deletecollection", "list", "delete"])
def test_another_error_is_the_problem_of_the_resource(verb):
    server = HeldServer(errors={"deletecollection": UNSUPPORTED, verb: BROKEN}, ConfigMap=[obj("a")])
    assert left(server).problem is BROKEN
    assert left(HeldServer(errors={"list": OSError("closed")})).problem.args == ("closed",)


def test_objects_with_finalizers_remain_for_15_seconds():
    found = left(HeldServer(ConfigMap=[obj("a", "f", "g"), obj("b", "f")]))
    assert (found.estimate, found.number, found.finalizers, found.problem) == (15, 2, {"f": 2, "g": 1}, None)


def test_objects_that_remain_without_a_reason_are_unexpected():
    server = HeldServer(errors={"delete": NOT_FOUND}, ConfigMap=[obj("a")])
    found = left(server, resource(verbs=("delete", "list"), group="g"))
    assert (found.estimate, found.number) == (0, 1)
    assert str(found.problem) == "unexpected items still remain in namespace: ns for gvr: g/v1, Resource=configmaps"


@pytest.mark.parametrize(
    ("pods", "deleted", "estimate"),
    [
        ([a_pod(30)], 10, 30),
        ([a_pod(30), a_pod(60, name="q"), a_pod(20, name="r")], 10, 60),
        ([a_pod(30), a_pod(60, "Succeeded", "q")], 10, 30),
        ([a_pod(30)], 29, 30),
        ([a_pod(30)], 30, 15),
        ([a_pod()], 10, 15),
    ],
    ids=["running", "the longest", "one has ended", "not over", "over", "no period"],
)
def test_pods_are_expected_to_end_within_their_grace_period(pods, deleted, estimate):
    found = left(HeldServer(Pod=pods), resource("pods", "Pod"), deleted)
    assert (found.estimate, found.number) == (estimate, len(pods))


def test_only_pods_of_the_core_group_have_a_grace_period():
    assert left(HeldServer(Pod=[a_pod(30)]), resource("pods", "Pod", "metrics.k8s.io")).estimate == 15


def deleted(server):
    return run(NamespaceContent(server, lambda: NOW).delete(server.namespace))


def conditions(server):
    return {one["type"]: (one["status"], one["message"]) for one in server.namespace["status"].get("conditions", ())}


def test_pods_go_before_the_rest_which_is_not_mentioned_until_then():
    server = HeldServer(Pod=[a_pod(30)], ConfigMap=[obj("a", "f")])
    assert deleted(server) == 30
    assert {request[1] for request in server.requests} == {"Pod", "ns"}
    assert conditions(server)["NamespaceContentRemaining"][0] == "False"
    server.objects["Pod"] = []
    assert deleted(server) == 15
    text = "Some resources are remaining: configmaps. has 1 resource instances"
    assert conditions(server)["NamespaceContentRemaining"] == ("True", text)
    assert [request[1] for request in server.requests if request[0] == "deletecollection"] == [
        "Pod",
        "Pod",
        "ConfigMap",
        "Job",
    ]


def test_conditions_are_written_if_they_change():
    server = HeldServer(ConfigMap=[obj("a", "f")])
    deleted(server)
    assert verbs(server).count("status") == 1
    deleted(server)
    assert verbs(server).count("status") == 1
    server.objects["ConfigMap"] = []
    assert deleted(server) == 0
    assert verbs(server).count("status") == 2


def test_a_condition_that_cannot_be_written_does_not_stop_the_deletion():
    assert deleted(HeldServer(errors={"status": BROKEN}, ConfigMap=[obj("a", "f")])) == 15


def test_failures_of_discovery_and_of_resources_are_written_and_raised():
    server = HeldServer(stale=True, errors={"deletecollection": BROKEN})
    stale = "unable to retrieve the complete list of server APIs: batch/v1: stale GroupVersion discovery: batch/v1"
    with pytest.raises(ContentFailure, match=f"^{stale}, broken, broken$"):
        deleted(server)
    found = conditions(server)
    assert found["NamespaceDeletionDiscoveryFailure"] == (
        "True",
        f"Discovery failed for some groups, 1 failing: {stale}",
    )
    assert found["NamespaceDeletionContentFailure"][0] == "True"
    with pytest.raises(ContentFailure, match=r"^unable to retrieve"):
        deleted(HeldServer(stale=True))


# --- the namespace itself


def reconciled(server):
    controller = NamespaceController(HeldContext(server, Namespace=HeldObjects(namespace())))
    return run(controller.reconcile(Request("", "ns")))


def test_an_empty_namespace_is_finalized():
    server = HeldServer()
    server.namespace = {**namespace(), "spec": {"finalizers": ["z", "kubernetes", "a", "z"]}}
    assert reconciled(server) is None
    assert server.namespace["spec"]["finalizers"] == ["a", "z"]
    assert "status" not in server.namespace
    assert verbs(server)[:2] == ["get", "status"]
    assert verbs(server)[-1] == "finalize"


def test_a_namespace_with_content_is_looked_at_again_after_half_of_the_estimate():
    server = HeldServer(ConfigMap=[obj("a", "f")])
    assert reconciled(server).requeue_after == 8
    assert server.namespace["status"]["phase"] == "Terminating"
    assert "finalize" not in verbs(server)


@pytest.mark.parametrize(
    ("found", "requests"),
    [
        (namespace(None), ["get"]),
        ({**namespace(), "spec": {}}, ["get", "status"]),
        ({**namespace(phase="Terminating"), "spec": {}}, ["get"]),
    ],
    ids=["not deleted", "finalized", "finalized and terminating"],
)
def test_a_namespace_without_work(found, requests):
    server = HeldServer(ConfigMap=[obj("a", "f")])
    server.namespace = found
    assert reconciled(server) is None
    assert verbs(server) == requests


def test_a_namespace_that_is_gone_needs_nothing():
    assert reconciled(HeldServer(errors={"get": NOT_FOUND})) is None
    with pytest.raises(ApiError, match="broken"):
        reconciled(HeldServer(errors={"get": BROKEN}))
    server = HeldServer()
    controller = NamespaceController(HeldContext(server))
    assert run(controller.reconcile(Request("", "ns"))) is None
    assert server.requests == []


def test_the_grace_period_of_pods_counts_from_the_deletion_of_the_namespace():
    server = HeldServer(Pod=[a_pod(30)])
    content = NamespaceContent(server, lambda: NOW + timedelta(seconds=20))
    assert run(content.delete(namespace(10))) == 15
