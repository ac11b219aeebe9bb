"""The causes of refused objects in several versions: what is validated twice, and what had other words or no limit."""

from __future__ import annotations

from typing import Any

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.registry.builtin import strategy_of
from tests.apiserver import certificates
from tests.apiserver.api import CRDS, PODS, Api, pod
from tests.apiserver.test_details_of_all_kinds import definition

Object = dict[str, Any]

MERGE = {"content_type": "application/merge-patch+json"}
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/default"
STORAGE = "/apis/storage.k8s.io/v1"
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
MANUAL = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}
NO_IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}


def causes(server: Api, method: str, path: str, body: Object, **more: Any) -> list[tuple[str, str]]:
    """The fields and messages of the causes of a refusal."""
    code, status = server.call(method, path, body, **more)
    assert code == 422, status
    return [(one.get("field", ""), one["message"]) for one in status["details"]["causes"]]


def fields(server: Api, method: str, path: str, body: Object, **more: Any) -> list[str]:
    return [field for field, _ in causes(server, method, path, body, **more)]


#: The version from which an update is validated once, the collection, an object, and a wrong change.
TWICE = [
    (35, f"{RBAC}/roles", {"rules": []}, {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
    (35, f"{RBAC}/rolebindings", {"roleRef": ROLE_REF}, {"subjects": [{"kind": "X", "name": "x"}]}),
    (36, f"{NETWORKING}/networkpolicies", {"spec": {"podSelector": {}}}, {"spec": {"ingress": [{"from": [{}]}]}}),
    (35, "/api/v1/namespaces/default/replicationcontrollers", {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}}, NO_IMAGE),
    (34, "/apis/apps/v1/namespaces/default/replicasets", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}, NO_IMAGE),
    (36, f"{STORAGE}/csinodes", {"spec": {"drivers": []}}, {"spec": {"drivers": [{"name": "d.e.com", "nodeID": ""}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("once", "path", "obj", "wrong"), TWICE)
def test_an_update_was_validated_as_a_new_object_too(once: int, path: str, obj: Object, wrong: Object) -> None:
    found = []
    for minor in (once - 1, once):
        server = Api(version=f"1.{minor}")
        server.ok("POST", path, {"metadata": {"name": "x"}, **obj})
        found.append(fields(server, "PATCH", f"{path}/x", wrong, **MERGE))
    assert len(found[1]) == 1
    assert found[0] == found[1] * 2


@pytest.mark.parametrize(("minor", "count"), [(35, 2), (36, 1)])
def test_a_driver_without_a_name_was_malformed_as_well(minor: int, count: int) -> None:
    server = Api(version=f"1.{minor - 1}")
    wrong = {"metadata": {"name": "x"}, "spec": {"drivers": [{"name": "", "nodeID": "n", "topologyKeys": []}]}}
    assert fields(server, "POST", f"{STORAGE}/csinodes", wrong) == ["spec.drivers[0].name"] * count


@pytest.mark.parametrize(("minor", "message"), [(35, "Invalid value"), (36, "Required value")])
def test_a_runtime_class_without_a_handler(minor: int, message: str) -> None:
    (cause,) = causes(
        Api(version=f"1.{minor}"), "POST", "/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "x"}}
    )
    assert (cause[0], cause[1].partition(":")[0]) == ("handler", message)


@pytest.mark.parametrize(
    ("minor", "place"), [(34, "scheduling.tolerations.tolerations[0]"), (35, "scheduling.tolerations[0]")]
)
def test_tolerations_of_a_runtime_class(minor: int, place: str) -> None:
    wrong = {"metadata": {"name": "x"}, "handler": "h", "scheduling": {"tolerations": [{"key": "k", "operator": "Lt"}]}}
    (cause,) = causes(Api(version=f"1.{minor}"), "POST", "/apis/node.k8s.io/v1/runtimeclasses", wrong)
    assert cause[0] == f"{place}.operator"
    assert cause[1].endswith('"Equal", "Exists"' if minor == 34 else '"Equal", "Exists", "Lt", "Gt"')


@pytest.mark.parametrize(("minor", "checked"), [(35, False), (36, True)])
def test_the_volume_of_an_attachment_is_named_when_it_is_created(minor: int, checked: bool) -> None:
    server, path = Api(version=f"1.{minor}"), f"{STORAGE}/volumeattachments"
    spec = {"attacher": "d.e.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    wrong = {"spec": {"source": {"persistentVolumeName": "A b"}}}
    found = fields(server, "PATCH", f"{path}/x", wrong, **MERGE)
    assert ("spec.source.persistentVolumeName" in found) is checked
    assert "spec" in found
    new = {"metadata": {"name": "y"}, "spec": {**spec, **wrong["spec"]}}
    assert fields(server, "POST", path, new) == ["spec.source.persistentVolumeName"]


@pytest.mark.parametrize(
    ("minor", "container", "init", "expected"),
    [
        (33, {"restartPolicy": "Never"}, False, "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"),
        (33, {"restartPolicy": "Never"}, True, 'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"'),
        (35, {"restartPolicyRules": [{}]}, True, "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"),
        (35, {"restartPolicy": "Always", "restartPolicyRules": [{}]}, True, "spec.initContainers[0].restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always"),
        (35, {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}, False, "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'"),
        (36, {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}, False, "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
    ],
)  # fmt: skip
def test_restart_policies_of_containers(minor: int, container: Object, init: bool, expected: str) -> None:
    usual = {"name": "c", "image": "i"}
    spec: Object = {"restartPolicy": "Never", "containers": [usual if init else usual | container]}
    if init:
        spec["initContainers"] = [{"name": "d", "image": "i", **container}]
    found = causes(Api(version=f"1.{minor}"), "POST", PODS, pod(spec=spec))
    assert [f"{field}: {message}" for field, message in found] == [expected]


@pytest.mark.parametrize(("minor", "shown"), [(33, False), (34, True), (35, True), (36, True)])
def test_structs_in_errors_have_the_fields_of_the_version(minor: int, shown: bool) -> None:
    server, path = Api(version=f"1.{minor}"), "/apis/batch/v1/namespaces/default/jobs"
    spec = {
        **MANUAL,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        },
    }
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    change = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    (cause,) = causes(server, "PATCH", f"{path}/x", change, **MERGE)
    assert ('"HostnameOverride":null' in cause[1]) is shown
    assert ('"WorkloadRef":null' in cause[1]) is (minor == 35)
    assert ('"SchedulingGroup":null' in cause[1]) is (minor == 36)


@pytest.mark.parametrize(("minor", "path"), [(34, "webhooks.rules.resources"), (35, "webhooks.rules.Rule.resources")])
def test_errors_of_embedded_fields(minor: int, path: str) -> None:
    body = {"metadata": {"name": "x"}, "webhooks": [{"name": "a.e.com", "rules": [{"resources": [1]}]}]}
    message = Api(version=f"1.{minor}").refused(
        "POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body
    )[2]
    assert f"RuleWithOperations.{path} of type string" in message


@pytest.mark.parametrize(("minor", "path"), [(34, "additionalProperties"), (35, "additionalProperties.uniqueItems")])
def test_errors_within_a_schema_that_may_be_a_boolean(minor: int, path: str) -> None:
    body = definition({"a": {"type": "object", "additionalProperties": {"uniqueItems": "x"}}})
    message = Api(version=f"1.{minor}").refused("POST", CRDS, body)[2]
    assert f"openAPIV3Schema.properties.{path} of type bool" in message


@pytest.mark.parametrize(("minor", "warned"), [(34, False), (35, True)])
def test_a_quota_with_more_requests_than_limits(minor: int, warned: bool) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"hard": {"requests.cpu": "2", "limits.cpu": "1"}}}
    answer = Api(version=f"1.{minor}").answer("POST", "/api/v1/namespaces/default/resourcequotas", body)
    assert bool(answer.warnings) is warned


@pytest.mark.parametrize(("enabled", "labels"), [(False, {"x": "own"}), (True, {"x": "theirs", "zone": "z"})])
def test_a_binding_labels_its_pod_by_a_gate(enabled: bool, labels: Object) -> None:
    gates = {"PodTopologyLabelsAdmission": enabled, "ClearingNominatedNodeNameAfterBinding": enabled}
    server = Api(version="1.35", feature_gates=gates)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    server.ok("POST", PODS, {"metadata": {"name": "a", "labels": {"x": "own"}}, "spec": spec})
    server.ok("PATCH", f"{PODS}/a/status", {"status": {"nominatedNodeName": "m"}}, **MERGE)
    meta = {"name": "a", "labels": {"x": "theirs", "zone": "z"}}
    server.ok("POST", f"{PODS}/a/binding", {"metadata": meta, "target": {"kind": "Node", "name": "n"}})
    shown = server.ok("GET", f"{PODS}/a")
    assert shown["metadata"]["labels"] == labels
    assert ("nominatedNodeName" in shown["status"]) is not enabled


@pytest.mark.parametrize(("minor", "ends"), [(35, "by this deployment."), (36, "the pod template's labels.")])
def test_the_column_of_selectors_is_described_as_in_the_version(minor: int, ends: str) -> None:
    table = Api(version=f"1.{minor}").ok(
        "GET", "/apis/apps/v1/namespaces/default/deployments", accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    )
    assert table["columnDefinitions"][-1]["description"].endswith(ends)


JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.mark.parametrize(("minor", "code"), [(31, 200), (32, 422)])
@pytest.mark.parametrize("status", [{"ready": 5}, {"failedIndexes": "1"}, {"completedIndexes": "1"}])
def test_a_status_of_a_job_is_checked_where_others_may_manage_it(minor: int, code: int, status: Object) -> None:
    server = Api(version=f"1.{minor}")
    template = {"metadata": TEMPLATE["metadata"], "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    server.ok("POST", JOBS, {"metadata": {"name": "x"}, "spec": {**MANUAL, "template": template}})
    assert server.call("PATCH", f"{JOBS}/x/status", {"status": status}, **MERGE)[0] == code


@pytest.mark.parametrize(("minor", "strict"), [(35, False), (36, True)])
@pytest.mark.parametrize("cidr", ["010.0.0.0/8", "10.1.0.0/8", "::ffff:1.2.3.0/120"])
def test_ranges_of_older_fields_are_strict_since_1_36(minor: int, strict: bool, cidr: str) -> None:
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": cidr}}]}]}
    code, _ = Api(version=f"1.{minor}").call(
        "POST", f"{NETWORKING}/networkpolicies", {"metadata": {"name": "x"}, "spec": spec}
    )
    assert code == (422 if strict else 201)


@pytest.mark.parametrize(("minor", "strict"), [(35, False), (36, True)])
@pytest.mark.parametrize("ip", ["01.2.3.4", "::ffff:1.2.3.4"])
def test_addresses_of_older_fields_are_strict_since_1_36(minor: int, strict: bool, ip: str) -> None:
    body = {"metadata": {"name": "x"}, "subsets": [{"addresses": [{"ip": ip}], "ports": [{"port": 80}]}]}
    code, _ = Api(version=f"1.{minor}").call("POST", "/api/v1/namespaces/default/endpoints", body)
    assert code == (422 if strict else 201)


@pytest.mark.parametrize(("minor", "code"), [(31, 422), (32, 201)])
def test_the_cost_of_an_equality_of_addresses_was_not_known(minor: int, code: int) -> None:
    rule = {"rule": "url('https://a.example.com/') == url('https://b.example.com/')"}
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]}
    assert Api(version=f"1.{minor}").call("POST", CRDS, definition({"spec": schema}))[0] == code


@pytest.mark.parametrize(("minor", "words"), [(33, True), (34, False)])
def test_structs_in_the_syntax_of_go(minor: int, words: bool) -> None:
    server = Api(version=f"1.{minor}")
    wrong = {"type": "object", "properties": {"a": {"type": "integer"}}}
    rules = [{"rule": "self.x", "message": "m", "fieldPath": ".a", "optionalOldSelf": True}]
    found = [
        message
        for _, message in causes(
            server, "POST", CRDS, definition({"spec": {**wrong, "x-kubernetes-validations": rules}})
        )
    ]
    literal = 'apiextensions.ValidationRule{Rule:"self.x", Message:"m", MessageExpression:"", '
    literal += 'Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:".a", OptionalOldSelf:(*bool)(0x'
    assert any(literal in message for message in found) is words
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": TEMPLATE["spec"]}}
    path = "/apis/apps/v1/namespaces/default/replicasets"
    (cause,) = causes(server, "POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert cause[1].startswith("Invalid value: map[string]string(nil):" if words else "Invalid value: null:")
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": {**spec, "template": TEMPLATE}})
    expressions = [{"key": "a", "operator": "Exists"}]
    other = {"selector": {"matchLabels": {"a": "c"}, "matchExpressions": expressions}}
    found = [
        message
        for field, message in causes(server, "PATCH", f"{path}/x", {"spec": other}, **MERGE)
        if field == "spec.selector"
    ]
    literal = 'v1.LabelSelector{MatchLabels:map[string]string{"a":"c"}, MatchExpressions:[]v1.LabelSelectorRequirement'
    literal += '{v1.LabelSelectorRequirement{Key:"a", Operator:"Exists", Values:[]string(nil)}}}: field is immutable'
    assert any(literal in message for message in found) is words


@pytest.mark.parametrize(("minor", "why"), [(33, "kind must not be empty"), (34, "must not be empty")])
def test_an_owner_without_a_kind(minor: int, why: str) -> None:
    owner = {"apiVersion": "v1", "name": "o", "uid": "u"}
    body = {"metadata": {"name": "x", "ownerReferences": [owner]}}
    (cause,) = causes(Api(version=f"1.{minor}"), "POST", "/api/v1/namespaces/default/configmaps", body)
    assert cause == ("metadata.ownerReferences.kind", f'Invalid value: "": {why}')


@pytest.mark.parametrize("enabled", [False, True])
def test_selectors_of_an_access_review_need_their_gate(enabled: bool) -> None:
    server = Api(version="1.32", feature_gates={"AuthorizeWithSelectors": enabled})
    attributes = {"verb": "list", "resource": "pods", "labelSelector": {"rawSelector": "a=b"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    shown = server.ok("POST", path, {"spec": {"resourceAttributes": attributes}})
    assert ("labelSelector" in shown["spec"]["resourceAttributes"]) is enabled


@pytest.mark.parametrize(
    ("minor", "why"), [(33, "message must not contain line breaks"), (34, "must not contain line breaks")]
)
def test_the_message_of_a_rule_has_one_line(minor: int, why: str) -> None:
    rules = {"type": "object", "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}
    (cause,) = causes(Api(version=f"1.{minor}"), "POST", CRDS, definition({"spec": rules}))
    assert cause[1] == f'Invalid value: "a\\nb": {why}'


@pytest.mark.parametrize(("minor", "code"), [(32, 422), (33, 201)])
def test_the_size_of_a_dynamic_value_was_not_known(minor: int, code: int) -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "string(dyn(1.5)) == 'a'"}]}
    assert Api(version=f"1.{minor}").call("POST", CRDS, definition({"spec": schema}))[0] == code


@pytest.mark.parametrize(("minor", "code"), [(34, 200), (35, 422)])
def test_a_json_patch_that_replaces_an_object_by_a_scalar(minor: int, code: int) -> None:
    server, path = Api(version=f"1.{minor}"), "/api/v1/namespaces/default/configmaps"
    server.ok("POST", path, {"metadata": {"name": "x"}, "data": {"a": "b"}})
    patch = [{"op": "replace", "path": "", "value": 7}]
    assert server.call("PATCH", f"{path}/x", patch, content_type="application/json-patch+json")[0] == code


@pytest.mark.parametrize(("minor", "said"), [(31, True), (32, False)])
def test_the_class_of_a_pod_was_checked_with_its_specification(minor: int, said: bool) -> None:
    server = Api(version=f"1.{minor}")
    server.ok("POST", PODS, pod(spec=TEMPLATE["spec"]))
    container = {**TEMPLATE["spec"]["containers"][0], "resources": {"requests": {"cpu": "1"}}}
    found = fields(server, "PATCH", f"{PODS}/a", {"spec": {"containers": [container]}}, **MERGE)
    assert found == (["metadata", "spec"] if said else ["spec"])


@pytest.mark.parametrize(("minor", "code"), [(32, 201), (33, 422)])
def test_values_of_a_required_node_affinity_are_values_of_labels(minor: int, code: int) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a/b"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = {**TEMPLATE["spec"], "affinity": {"nodeAffinity": required}}
    assert Api(version=f"1.{minor}").call("POST", PODS, pod(spec=spec))[0] == code


@pytest.mark.parametrize(("minor", "known"), [(32, False), (33, True)])
def test_the_scope_of_classes_of_volume_attributes(minor: int, known: bool) -> None:
    scopes = {"matchExpressions": [{"scopeName": "VolumeAttributesClass", "operator": "Exists"}]}
    body = {"metadata": {"name": "x"}, "spec": {"scopeSelector": scopes, "hard": {"count/x.e.com": "1"}}}
    code, _ = Api(version=f"1.{minor}").call("POST", "/api/v1/namespaces/default/resourcequotas", body)
    assert code == (201 if known else 422)


@pytest.mark.parametrize(("minor", "warned"), [(32, False), (33, True)])
def test_a_range_of_a_network_policy_in_an_unusual_form(minor: int, warned: bool) -> None:
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "2001:DB8::/64"}}]}]}
    answer = Api(version=f"1.{minor}").answer(
        "POST", f"{NETWORKING}/networkpolicies", {"metadata": {"name": "x"}, "spec": spec}
    )
    assert bool(answer.warnings) is warned


@pytest.mark.parametrize("minor", [33, 34])
def test_the_selector_of_a_daemon_set_in_the_order_of_the_version(minor: int) -> None:
    server, path = Api(version=f"1.{minor}"), "/apis/apps/v1/namespaces/default/daemonsets"
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    change = {"selector": {"matchLabels": {"a": "!"}}}
    found = fields(server, "PATCH", f"{path}/x", {"spec": change}, **MERGE)
    place = found.index("spec.selector")
    assert place == (len(found) - 1 if minor == 33 else 0)


@pytest.mark.parametrize(("minor", "code"), [(35, 400), (36, 406)])
def test_the_options_of_a_list_were_checked_before_the_media_type(minor: int, code: int) -> None:
    path, table = "/api/v1/namespaces/default/configmaps?limit=x", "application/json;as=Table;v=v9;g=meta.k8s.io"
    assert Api(version=f"1.{minor}").call("GET", path, accept=table)[0] == code
    assert Api(version=f"1.{minor}").call("GET", path, accept="text/html")[0] == 406


USE = 'will be considered invalid in a future Kubernetes release: use "1.2.3.4"'
RFC = 'IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'


@pytest.mark.parametrize(
    ("minor", "ip", "labels", "warning"),
    [
        (32, "01.2.3.4", {}, None),
        (33, "01.2.3.4", {}, f'non-standard IP address "01.2.3.4" {USE}'),
        (33, "01.2.3.4", {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}, None),
        (36, "2001:DB8::1", {}, RFC),
        (36, "2001:DB8::1", {"endpoints.kubernetes.io/managed-by": "other"}, RFC),
        (36, "1.2.3.4", {}, None),
    ],
)
def test_addresses_of_endpoints_in_an_unusual_form(minor: int, ip: str, labels: Object, warning: str | None) -> None:
    subsets = [{"notReadyAddresses": [{"ip": ip}], "ports": [{"port": 80}]}]
    body = {"metadata": {"name": "x", "labels": labels}, "subsets": subsets}
    answer = Api(version=f"1.{minor}").answer("POST", "/api/v1/namespaces/default/endpoints", body)
    found = [one for one in answer.warnings if "deprecated" not in one]
    assert found == ([] if warning is None else [f"subsets[0].notReadyAddresses[0].ip: {warning}"])


@pytest.mark.parametrize(("minor", "words"), [(33, True), (34, False)])
def test_values_in_the_syntax_of_go(minor: int, words: bool) -> None:
    server = Api(version=f"1.{minor}")
    port = {"port": 80}
    body = {"metadata": {"name": "x"}, "spec": {"ports": [{**port, "name": "a"}, {**port, "name": "b"}]}}
    found = causes(server, "POST", "/api/v1/namespaces/default/services", body)
    literal = 'core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, '
    literal += 'TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}'
    assert (("spec.ports[1]", f"Duplicate value: {literal}") in found) is words
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    item = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
    server.ok("POST", CRDS, definition({"spec": {"type": "object", "properties": {"l": {**keyed, "items": item}}}}))
    obj = {"apiVersion": "e.com/v1", "kind": "A", "metadata": {"name": "x"}, "spec": {"l": [{"k": "a"}, {"k": "a"}]}}
    (cause,) = causes(server, "POST", "/apis/e.com/v1/as", obj)
    shown = 'map[string]interface {}{"k":"a"}' if words else '{"k":"a"}'
    assert cause == ("spec.l[1]", f"Duplicate value: {shown}")
    spec = {"nonResourceAttributes": {"path": "/a"}, "resourceAttributes": {"verb": "get"}}
    (cause,) = causes(server, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec})
    shown = 'authorization.NonResourceAttributes{Path:"/a", Verb:""}' if words else '{"Path":"/a","Verb":""}'
    assert cause[1].startswith(f"Invalid value: {shown}:")


@pytest.mark.parametrize(("enabled", "limit"), [(False, "previous value"), (True, "status.capacity")])
def test_a_claim_that_asks_for_less(enabled: bool, limit: str) -> None:
    server = Api(version="1.33", feature_gates={"RecoverVolumeExpansionFailure": enabled})
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    status = {"phase": "Bound", "capacity": {"storage": "2Gi"}}
    server.ok("PATCH", f"{path}/x/status", {"status": status}, **MERGE)
    change = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    found = causes(server, "PATCH", f"{path}/x", change, **MERGE)
    assert ("spec.resources.requests.storage", f"Forbidden: field can not be less than {limit}") in found


@pytest.mark.parametrize(("minor", "code"), [(33, 422), (34, 200)])
def test_a_resize_that_lowers_the_limit_of_memory(minor: int, code: int) -> None:
    server = Api(version=f"1.{minor}")
    container = {"name": "c", "image": "i", "resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}}}
    server.ok("POST", PODS, pod(spec={"containers": [container]}))
    change = {**container, "resources": {"limits": {"memory": "1536Mi"}, "requests": {"memory": "1Gi"}}}
    found, status = server.call("PATCH", f"{PODS}/a/resize", {"spec": {"containers": [change]}}, **MERGE)
    assert found == code
    if code == 422:
        (cause,) = status["details"]["causes"]
        assert cause["field"] == "spec.containers[0].resources.limits[memory]"
        assert (
            cause["message"] == "Forbidden: memory limits cannot be decreased unless resizePolicy is RestartContainer"
        )


def test_resources_of_a_pod_have_no_defaults_where_they_are_dropped() -> None:
    body = pod(spec={**TEMPLATE["spec"], "resources": {"limits": {"cpu": "1"}}})
    shown = Api(version="1.33").ok("POST", PODS, body)
    owned = shown["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:resources"]
    assert owned == {".": {}, "f:limits": {".": {}, "f:cpu": {}}}
    assert "resources" not in shown["spec"]


@pytest.mark.parametrize(
    ("minor", "shown"), [(33, ("[]networking.IngressRule(nil)", "[]networking.IngressRule{}")), (34, ("null", "[]"))]
)
def test_an_ingress_without_rules_shows_them(minor: int, shown: tuple[str, str]) -> None:
    server = Api(version=f"1.{minor}")
    found = []
    for spec in ({}, {"rules": []}):
        found += causes(server, "POST", f"{NETWORKING}/ingresses", {"metadata": {"name": "x"}, "spec": spec})
    why = "either `defaultBackend` or `rules` must be specified"
    assert found == [("spec", f"Invalid value: {one}: {why}") for one in shown]


@pytest.mark.parametrize(("minor", "code"), [(33, 409), (34, 404)])
def test_an_update_with_a_uid_of_an_object_that_does_not_exist(minor: int, code: int) -> None:
    path = "/api/v1/namespaces/default/configmaps/x"
    found, status = Api(version=f"1.{minor}").call("PUT", path, {"metadata": {"name": "x", "uid": "u"}})
    assert found == code, status


@pytest.mark.parametrize("minor", [33, 34])
@pytest.mark.parametrize("query", ["", "&resourceVersionMatch=NotOlderThan", "&limit=1", "&resourceVersionMatch=Exact"])
def test_a_list_of_events_from_a_revision_to_come(minor: int, query: str) -> None:
    path = f"/api/v1/namespaces/default/events?resourceVersion=999999{query}"
    code, status = Api(version=f"1.{minor}").call("GET", path)
    if minor == 33 and query.endswith(("1", "Exact")):  # etcd refuses what it was asked for
        assert (code, status["message"]) == (500, "etcdserver: mvcc: required revision is a future revision")
    else:
        assert (code, status["reason"]) == (504, "Timeout")


@pytest.mark.parametrize(("minor", "part"), [(32, "metadata"), (33, "status")])
def test_where_a_wrong_condition_of_a_pod_is(minor: int, part: str) -> None:
    server = Api(version=f"1.{minor}")
    server.ok("POST", PODS, pod(spec=TEMPLATE["spec"]))
    wrong = {"status": {"conditions": [{"type": "a-", "status": "True"}]}}
    assert fields(server, "PATCH", f"{PODS}/a/status", wrong, **MERGE) == [f"{part}.conditions[0].Type"]


def test_a_claim_of_a_stateful_set_has_metadata() -> None:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    selector = {"matchLabels": {"a": "b"}}
    spec = {"serviceName": "s", "selector": selector, "template": TEMPLATE, "volumeClaimTemplates": [claim]}
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    made = Api(version="1.33").ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert made["spec"]["volumeClaimTemplates"][0]["metadata"] == {"creationTimestamp": None}


@pytest.mark.parametrize(("minor", "shown"), [(31, ""), (32, " but got int")])
def test_the_type_of_an_expression_that_is_not_a_boolean(minor: int, shown: str) -> None:
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "1"}]}
    server = Api(version=f"1.{minor}")
    (cause,) = causes(server, "POST", policies, {"metadata": {"name": "x"}, "spec": spec})
    assert cause[1] == f'Invalid value: "1": must evaluate to bool{shown}'


#: What a Service has as `loadBalancerIP` and in `loadBalancerSourceRanges`, and what 1.32 and 1.33 warn about.
UNUSUAL = [
    ("%", [], ['IP address was accepted, but will be invalid in a future Kubernetes release: ParseAddr("%"): missing IPv6 address'], []),
    ("1:0:0::1", ["1:0:0::/64"], [
        'IPv6 address "1:0:0::1" is not in RFC 5952 canonical format ("1::1"), which may cause controller apply-loops',
        'IPv6 prefix "1:0:0::/64" is not in RFC 5952 canonical format ("1::/64"), which may cause controller apply-loops',
    ], [
        'IPv6 address "1:0:0::1" should be in RFC 5952 canonical format ("1::1")',
        'IPv6 CIDR value "1:0:0::/64" should be in RFC 5952 canonical format ("1::/64")',
    ]),
    ("::ffff:1.2.3.4", ["10.0.0.1/24"], [], [
        'non-standard IP address "::ffff:1.2.3.4" will be considered invalid in a future Kubernetes release: use "1.2.3.4"',
        'CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.1/32"?)',
    ]),
    ("1.2.3.4", ["10.0.0.0/24"], [], []),
    ("1:0:0::1%a%b", [], [
        'IPv6 address "1:0:0::1%a%b" is not in RFC 5952 canonical format ("1::1%a%b"), which may cause controller apply-loops',
    ], []),
    ("::ffff:1.2.3.4%a", [], [], []),
]  # fmt: skip


@pytest.mark.parametrize("minor", [32, 33])
@pytest.mark.parametrize(("address", "ranges", "before", "after"), UNUSUAL)
def test_services_warn_about_unusual_addresses(
    minor: int, address: str, ranges: list[str], before: list[str], after: list[str]
) -> None:
    spec = {
        "type": "LoadBalancer",
        "ports": [{"port": 80}],
        "loadBalancerIP": address,
        "loadBalancerSourceRanges": ranges,
    }
    answer = Api(version=f"1.{minor}").answer(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "x"}, "spec": spec}
    )
    assert [one.partition(": ")[2] for one in answer.warnings] == (before if minor == 32 else after)


@pytest.mark.parametrize(("minor", "count"), [(32, 0), (33, 1)])
def test_other_kinds_warn_about_them_later(minor: int, count: int) -> None:
    body = pod(spec={**TEMPLATE["spec"], "hostAliases": [{"ip": "1:0:0::1", "hostnames": ["a"]}]})
    assert len(Api(version=f"1.{minor}").answer("POST", PODS, body).warnings) == count


@pytest.mark.parametrize("minor", [34, 35])
@pytest.mark.parametrize("used", [True, False])
def test_a_claim_that_uses_a_feature_keeps_it_in_the_status(minor: int, used: bool) -> None:
    token = features.use(features.features_of(f"1.{minor}"))
    try:
        drop = strategy_of("resourceclaims.resource.k8s.io", "v1", minor).drop_disabled
        exactly = {"deviceClassName": "c", **({"capacity": {"requests": {"a": "1"}}} if used else {})}
        stored = {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
        results = [{"request": "r", "shareID": "s"}]
        shown = drop({**stored, "status": {"allocation": {"devices": {"results": results}}}}, stored)
    finally:
        features.leave(token)
    assert ("shareID" in shown["status"]["allocation"]["devices"]["results"][0]) is used


@pytest.mark.parametrize(("minor", "kept"), [(34, True), (35, False)])
def test_fields_of_a_claim_whose_feature_is_off(minor: int, kept: bool) -> None:
    server = Api(version=f"1.{minor}")
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    exactly = {"deviceClassName": "c", "tolerations": [{"key": "k", "operator": "Exists"}]}
    constraint = {"distinctAttribute": "a.com/b", "requests": ["r"]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}], "constraints": [constraint]}}
    _, shown = server.call("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    if kept:
        assert shown["spec"]["devices"]["requests"][0]["exactly"]["tolerations"]
        assert shown["spec"]["devices"]["constraints"][0]["distinctAttribute"] == "a.com/b"
    else:  # without its attribute, the constraint is none
        assert [one["field"] for one in shown["details"]["causes"]] == ["spec.devices.constraints[0].matchAttribute"]


@pytest.mark.parametrize(("minor", "field"), [(33, "status.conditions[1].type"), (34, "status.conditions")])
def test_a_request_that_is_approved_and_denied(minor: int, field: str) -> None:
    server = Api(version=f"1.{minor}")
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {"request": certificates.request(), "signerName": "e.com/s", "usages": ["client auth"]}
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    both = [{"type": kind, "status": "True", "reason": "R"} for kind in ("Approved", "Denied")]
    assert fields(server, "PATCH", f"{path}/x/approval", {"status": {"conditions": both}}, **MERGE) == [field]


@pytest.mark.parametrize(("minor", "field"), [(33, "allocatedResourceStatus"), (34, "allocatedResourceStatuses")])
def test_where_the_wrong_state_of_a_resize_is(minor: int, field: str) -> None:
    server = Api(version=f"1.{minor}", feature_gates={"RecoverVolumeExpansionFailure": True})
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    server.ok("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    status = {"allocatedResourceStatuses": {"a b": "x"}}
    found = fields(server, "PATCH", f"{path}/x/status", {"status": status}, **MERGE)
    assert set(found) == {f"status.{field}"}
