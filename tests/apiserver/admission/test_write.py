"""Guarantees of the write pipeline: admission precedes preparation, and objects are read again after every wait."""

from typing import Any

from fakekube.apiserver.resource import Resource
from tests.apiserver.admission.test_stages import Recorder, once, relabel

Object = dict[str, Any]

NAMESPACES = "/api/v1/namespaces"
PODS = f"{NAMESPACES}/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def pod(**more: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], **more},
    }


def deployment(replicas: int = 1) -> Object:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def resource(recorder: Recorder, collection: str) -> Resource:
    return next(one for one in recorder.api.apiserver.catalog.resources() if one.collection == collection)


def test_b1_a_webhook_that_changes_the_spec_moves_the_generation() -> None:
    recorder = Recorder(patch=[{"op": "replace", "path": "/spec/replicas", "value": 7}])
    recorder.api.ok("POST", DEPLOYMENTS, deployment())
    recorder.record(resource(recorder, "deployments.apps"))
    changed = {"metadata": {"labels": {"a": "b"}}}
    _, answer = recorder.send("PATCH", f"{DEPLOYMENTS}/d", changed, "application/merge-patch+json")
    assert (answer["spec"]["replicas"], answer["metadata"]["generation"]) == (7, 2)
    _, answer = recorder.send("PUT", f"{DEPLOYMENTS}/d", deployment(3))
    assert (answer["spec"]["replicas"], answer["metadata"]["generation"]) == (7, 2), "the spec is as it was"


def test_b2_a_webhook_cannot_write_the_status_through_the_object() -> None:
    recorder = Recorder(patch=[{"op": "add", "path": "/status", "value": {"replicas": 9}}])
    recorder.record(resource(recorder, "deployments.apps"))
    _, made = recorder.send("POST", DEPLOYMENTS, deployment())
    assert "replicas" not in made["status"]
    _, answer = recorder.send("PUT", f"{DEPLOYMENTS}/d", deployment(2))
    assert "replicas" not in answer["status"]


def test_b3_webhooks_receive_the_fields_that_plugins_set() -> None:
    recorder = Recorder()
    recorder.record(resource(recorder, "pods"))
    recorder.send("POST", PODS, pod())
    spec = recorder.reviews[0]["object"]["spec"]
    assert [one["key"] for one in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert spec["priority"] == 0
    recorder.send("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert recorder.reviews[0]["object"]["spec"]["taints"] == [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    ]


def test_b5_an_eviction_with_a_stale_precondition_writes_nothing() -> None:
    recorder = Recorder()
    api = recorder.api
    version = api.ok("POST", PODS, pod())["metadata"]["resourceVersion"]
    api.ok("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, content_type="application/merge-patch+json")
    stale = {"resourceVersion": version}
    revision = api.revision
    code, answer = api.call("POST", f"{PODS}/p/eviction", eviction(preconditions=stale))
    assert (code, answer["reason"]) == (409, "Conflict")
    assert api.revision == revision
    current = {"resourceVersion": api.ok("GET", f"{PODS}/p")["metadata"]["resourceVersion"]}
    assert api.call("POST", f"{PODS}/p/eviction", eviction(preconditions=current))[0] == 201


def eviction(**options: Any) -> Object:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": options}


def test_b6_finalize_while_another_client_writes() -> None:
    recorder = Recorder()
    namespaces = resource(recorder, "namespaces")
    recorder.api.ok("POST", NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    recorder.record(namespaces)
    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "spec": {"finalizers": []}}
    recorder.while_waiting = once(lambda: relabel(recorder, namespaces))
    code, answer = recorder.send("PUT", f"{NAMESPACES}/n/finalize", body)
    assert (code, answer["metadata"]["labels"]["concurrent"]) == (200, "1"), "tried again"
    body["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"]
    recorder.while_waiting = once(lambda: relabel(recorder, namespaces, "2"))
    code, answer = recorder.send("PUT", f"{NAMESPACES}/n/finalize", body)
    assert (code, answer["reason"]) == (409, "Conflict")
