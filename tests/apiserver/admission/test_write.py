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
    assert (code, "concurrent" in answer["metadata"]["labels"]) == (200, False), (
        "tried again with the metadata of the body"
    )
    body["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"]
    recorder.while_waiting = once(lambda: relabel(recorder, namespaces, "2"))
    code, answer = recorder.send("PUT", f"{NAMESPACES}/n/finalize", body)
    assert (code, answer["reason"]) == (409, "Conflict")


def test_managed_fields_that_a_webhook_makes_invalid_are_replaced_by_those_sent() -> None:
    recorder = Recorder(patch=[{"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "x"}]}])
    recorder.record(resource(recorder, "deployments.apps"))
    code, made = recorder.send("POST", DEPLOYMENTS, deployment())
    assert (code, made["metadata"]["managedFields"][0]["operation"]) == (201, "Update")
    (warning,) = [one for one in recorder.warnings if "managedFields" in one]
    assert warning.startswith(".metadata.managedFields was in an invalid state after admission;")
    recorder.send("PUT", f"{DEPLOYMENTS}/d", deployment(3))
    assert recorder.api.ok("GET", f"{DEPLOYMENTS}/d")["spec"]["replicas"] == 3


def test_a_webhook_cannot_move_an_object_to_another_namespace() -> None:
    recorder = Recorder(patch=[{"op": "add", "path": "/metadata/namespace", "value": "elsewhere"}])
    recorder.record(resource(recorder, "deployments.apps"))
    code, answer = recorder.send("POST", DEPLOYMENTS, deployment())
    assert (code, answer["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


def test_a_webhook_cannot_replace_an_object_by_a_list() -> None:
    recorder = Recorder(patch=[{"op": "replace", "path": "", "value": []}])
    recorder.record(resource(recorder, "deployments.apps"))
    code, answer = recorder.send("POST", DEPLOYMENTS, deployment())
    assert (code, answer["reason"]) == (500, "InternalError")
    assert "json: cannot unmarshal array into Go value" in answer["message"]


SERVICES = f"{NAMESPACES}/default/services"


def service(name: str, **spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 1}], **spec}}


def test_an_address_that_another_service_takes_during_admission_is_refused() -> None:
    recorder = Recorder()
    recorder.record(resource(recorder, "services"))
    recorder.while_waiting = once(lambda: take(recorder, "10.0.0.77"))
    code, answer = recorder.send("POST", SERVICES, service("s", clusterIP="10.0.0.77"))
    assert (code, answer["message"].rpartition(": ")[2]) == (422, "provided IP is already allocated")


def test_a_generated_address_that_another_service_takes_during_admission_is_replaced() -> None:
    recorder = Recorder()
    recorder.record(resource(recorder, "services"))
    taken: list[str] = []

    def take_the_same() -> None:
        address = recorder.reviews[-1]["object"]["spec"].get("clusterIP") if recorder.reviews else None
        if address and not taken:
            taken.append(address)
            take(recorder, address)

    recorder.while_waiting = take_the_same
    code, made = recorder.send("POST", SERVICES, service("s"))
    assert code == 201
    assert taken
    assert made["spec"]["clusterIP"] not in taken


def take(recorder: Recorder, address: str) -> None:
    """Store a Service with this address, as another request does whose admission has ended."""
    store = recorder.api.apiserver.store
    store.create("services", "default/other", service("other", clusterIP=address, clusterIPs=[address]))


def test_a_custom_object_is_not_stored_after_its_definition_is_deleted() -> None:
    recorder = Recorder()
    recorder.record(next(one for one in recorder.api.apiserver.catalog.resources() if one.plural == "widgets"))
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    recorder.while_waiting = once(lambda: recorder.api.apiserver.stop_serving("widgets.example.com"))
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    code, answer = recorder.send("POST", widgets, body)
    assert (code, answer["message"]) == (404, "the server could not find the requested resource")
