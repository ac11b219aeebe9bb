"""Rules that a differential with a real server has found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.api import Api

DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
MERGE = {"content_type": "application/merge-patch+json"}


def test_a_csi_driver_has_the_field_of_a_feature_only_with_its_gate() -> None:
    driver = {"metadata": {"name": "d"}, "spec": {"preventPodSchedulingIfMissing": True}}
    on, off = Api(feature_gates={"VolumeLimitScaling": True}), Api(feature_gates={"VolumeLimitScaling": False})
    assert on.ok("POST", DRIVERS, driver)["spec"]["preventPodSchedulingIfMissing"] is True
    assert "preventPodSchedulingIfMissing" not in off.ok("POST", DRIVERS, driver)["spec"]
    patched = off.ok("PATCH", f"{DRIVERS}/d", {"spec": {"preventPodSchedulingIfMissing": True}}, **MERGE)
    assert "preventPodSchedulingIfMissing" not in patched["spec"]


SOURCE = {"configMap": {"namespace": "x", "name": "c", "kubeletConfigKey": "k"}}


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/v1/nodes"), ("PATCH", "/api/v1/nodes/n"), ("PATCH", "/api/v1/nodes/n/status")]
)
def test_the_configuration_source_of_a_node_is_dropped(api: Api, method: str, path: str) -> None:
    if method == "PATCH":
        api.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    how: Any = MERGE if method == "PATCH" else {}
    found = api.ok(method, path, {"metadata": {"name": "n"}, "spec": {"configSource": SOURCE}}, **how)
    assert "configSource" not in found["spec"]


def test_claims_in_the_status_of_a_pod_are_dropped_without_their_gate(api: Api) -> None:
    pods = "/api/v1/namespaces/default/pods"
    api.ok("POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
    claims = [{"resourceClaimName": "a", "containers": ["c"], "resources": {}}]
    status = {"status": {"nodeAllocatableResourceClaimStatuses": claims}}
    found = api.ok("PATCH", f"{pods}/p/status", status, **MERGE)
    assert "nodeAllocatableResourceClaimStatuses" not in found["status"]


def test_a_status_is_applied_to_an_object_that_does_not_exist_only_where_updates_create(api: Api) -> None:
    """Services can be created by PUT, and so by an apply of their status, which allocates no address."""
    kind = {"content_type": "application/apply-patch+yaml"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    code, made = api.call("PATCH", "/api/v1/namespaces/default/services/a/status?fieldManager=m", service, **kind)
    assert (code, made["spec"].get("clusterIP")) == (201, None)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims/a/status?fieldManager=m"
    assert api.call("PATCH", path, claim, **kind)[0] == 404


def test_reviews_own_the_fields_that_their_sender_set(api: Api) -> None:
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    found = api.ok("POST", reviews, {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    (entry,) = found["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:resourceAttributes": {".": {}, "f:resource": {}, "f:verb": {}}}}


def test_a_rules_review_is_answered_with_a_new_object(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    assert api.ok("POST", path, {"spec": {"namespace": "default"}})["spec"] == {}


def test_a_write_of_the_approval_owns_no_field_that_it_does_not_change(api: Api) -> None:
    assert api.apiserver.catalog.find("certificates.k8s.io", "v1", "certificatesigningrequests") is not None
    namespace = api.ok("GET", "/api/v1/namespaces/default")
    before = namespace["metadata"].get("managedFields")
    found = api.ok("PUT", "/api/v1/namespaces/default/finalize?fieldManager=x", {**namespace, "status": {}})
    assert found["metadata"].get("managedFields") == before
    assert found["status"] == namespace["status"]


@pytest.mark.parametrize(
    "rule", ["self.m == [].transformMap(i, v, v)", "{} == [].map(x, x)", "string((1u + ).add(self.s).x) == 'a'"]
)
def test_no_expression_ends_in_an_error_of_the_server(api: Api, rule: str) -> None:
    properties = {"m": {"type": "object", "additionalProperties": {"type": "integer"}}, "s": {"type": "string"}}
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    definition = {
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip
    assert api.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)[0] == 422


def test_a_refused_patch_quotes_what_it_has_not_touched_in_the_order_of_the_struct(api: Api) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    scaler = {"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    api.ok("POST", path, scaler)
    _, _, message = api.refused("PATCH", f"{path}/a/status", {"status": {"desiredReplicas": "a"}}, **MERGE)
    names = ["scaleTargetRef", "minReplicas", "maxReplicas"]
    places = [message.index(f'{name}\\":', message.index(',\\"spec\\"')) for name in names]
    assert places == sorted(places)


def test_a_refused_strategic_patch_is_quoted_without_the_directives_that_were_applied(api: Api) -> None:
    api.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}, "data": {"a": "b"}})
    kind = {"content_type": "application/strategic-merge-patch+json"}
    patch = {"data": {"$retainKeys": ["a"], "a": 1}}
    _, _, message = api.refused("PATCH", "/api/v1/namespaces/default/configmaps/a", patch, **kind)
    assert '"map[data:map[a:1]]"' in message


def test_labels_of_the_template_of_a_stateful_set_are_validated_twice(api: Api) -> None:
    template = {"metadata": {"labels": {"a": " "}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    body = {"metadata": {"name": "s"}, "spec": {"serviceName": "s", "selector": {"matchLabels": {"b": "c"}}}}
    body["spec"]["template"] = template
    shown = api.call("POST", "/apis/apps/v1/namespaces/default/statefulsets", body)[1]
    fields = [cause["field"] for cause in shown["details"]["causes"]]
    assert fields.count("spec.template.labels") == 2


def test_the_usage_of_a_quota_is_owned_by_the_server(api: Api) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    api.ok("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "5"}}})
    status = {"status": {"hard": {"count/configmaps": "5"}, "used": {"count/configmaps": "0"}}}
    api.ok("PATCH", f"{quotas}/q/status?fieldManager=controller", status, **MERGE)
    api.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
    entries = api.ok("GET", f"{quotas}/q")["metadata"]["managedFields"]
    owned = {entry["manager"]: entry["fieldsV1"]["f:status"] for entry in entries if "f:status" in entry["fieldsV1"]}
    assert owned["kube-apiserver"] == {"f:used": {"f:count/configmaps": {}}}
    assert "f:count/configmaps" not in owned["controller"].get("f:used", {})


def test_the_resources_of_a_pod_as_a_whole_decide_its_class(api: Api) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    pods = "/api/v1/namespaces/default/pods"
    empty = api.ok("POST", pods, {"metadata": {"name": "a"}, "spec": {"containers": [container], "resources": {}}})
    assert empty["status"]["qosClass"] == "BestEffort"
    whole = {"containers": [container], "resources": {"limits": {"cpu": "2"}}}
    found = api.ok("POST", pods, {"metadata": {"name": "b"}, "spec": whole})
    assert found["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "2Gi"}
    assert found["status"]["qosClass"] == "Burstable"
