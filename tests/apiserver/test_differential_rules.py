"""Rules that a differential with a real server has found."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from fakekube.apiserver.call import LARGE
from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.needs import Delay
from fakekube.apiserver.registry.batch.job.strategy import JOB_LABELS, has_labels_of_read
from fakekube.apiserver.registry.core.pod.images import pull_policy
from fakekube.apiserver.registry.generic import strategy
from fakekube.apiserver.schema.stringformats import is_hostname
from fakekube.apiserver.wire import gojson, goprint, protobuf
from fakekube.apiserver.wire.protowire import Malformed
from fakekube.apiserver.wire.structorder import in_struct_order
from tests.apiserver.api import Api

DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
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


# --- writes that change nothing, and what they are compared with ------------------------------------------------------

CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
POD_SPEC = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}


@pytest.mark.parametrize(
    ("path", "body", "moves"),
    [
        ("/api/v1/namespaces/default/persistentvolumeclaims", CLAIM, True),  # the phase
        ("/api/v1/namespaces/default/configmaps", {"data": {"a": "b"}}, False),
    ],
)
def test_the_first_update_stores_the_defaults_of_reads(api: Api, path: str, body: Any, moves: bool) -> None:
    made = api.ok("POST", path, {"metadata": {"name": "a"}, **body})
    versions = [api.ok("PATCH", f"{path}/a", {}, **MERGE)["metadata"]["resourceVersion"] for _ in range(2)]
    assert (versions[0] != made["metadata"]["resourceVersion"]) is moves
    assert versions[0] == versions[1]


@pytest.mark.parametrize(
    ("labels", "incomplete"),
    [(dict.fromkeys(JOB_LABELS, "x"), True), ({**dict.fromkeys(JOB_LABELS, "x"), "a": "b"}, False), ({}, False)],
)
def test_the_labels_of_a_job_are_stored_at_once_if_its_template_has_labels(labels: Any, incomplete: bool) -> None:
    assert has_labels_of_read({"metadata": {"labels": labels}}) is incomplete


@pytest.mark.parametrize(("sent", "stored"), [("YR==", "YQ=="), ("YWF=", "YWE="), ("Y+/=", "Y+8="), ("YW\nE=", "YWE=")])
def test_bytes_are_stored_without_stray_bits(api: Api, sent: str, stored: str) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    made = api.ok("POST", secrets, {"metadata": {"name": "a"}, "data": {"a": sent}})
    assert made["data"] == {"a": stored}
    again = api.ok("PATCH", f"{secrets}/a", {"data": {"a": sent}}, **MERGE)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


# --- services --------------------------------------------------------------------------------------------------------

SERVICES = "/api/v1/namespaces/default/services"


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 20000}]},
        {
            "type": "LoadBalancer",
            "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 20001,
            "ports": [{"port": 80}],
        },
    ],
)
def test_a_dry_run_does_not_check_the_range_of_node_ports(api: Api, spec: Any) -> None:
    body = {"metadata": {"name": "a"}, "spec": spec}
    assert api.call("POST", f"{SERVICES}?dryRun=All", body)[0] == 201
    assert api.call("POST", SERVICES, body)[0] in (422, 500)


def test_a_service_that_its_status_has_created_gets_no_address_later(api: Api) -> None:
    kind = {"content_type": "application/apply-patch+yaml"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    api.call("PATCH", f"{SERVICES}/a/status?fieldManager=m", service, **kind)
    assert "clusterIP" not in api.ok("PATCH", f"{SERVICES}/a?fieldManager=m", service, **kind)["spec"]


# --- pods ------------------------------------------------------------------------------------------------------------


def test_a_binding_by_its_name_ignores_its_uid(api: Api) -> None:
    pods = "/api/v1/namespaces/default/pods"
    for name in "ab":
        api.ok("POST", pods, {"metadata": {"name": name}, "spec": POD_SPEC})
    binding = {"metadata": {"uid": "x"}, "target": {"name": "n"}}
    named = {**binding, "metadata": {"name": "a", "uid": "x"}}
    assert api.call("POST", "/api/v1/namespaces/default/bindings", named)[0] == 201
    other = {**binding, "metadata": {"name": "b", "uid": "x"}}
    assert api.call("POST", f"{pods}/b/binding", other)[0] == 409


@pytest.mark.parametrize(("size", "code"), [("1m", 422), ("1.5", 422), ("3Mi", 422), ("0", 201), ("4Mi", 201)])
def test_huge_pages_below_one_are_no_multiple_of_their_size(api: Api, size: str, code: int) -> None:
    container = {"name": "c", "image": "x", "resources": {"limits": {"cpu": "1", "hugepages-2Mi": size}}}
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    assert api.call("POST", "/api/v1/namespaces/default/pods", pod)[0] == code


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a" * 247, "Always"),
        ("a" * 248, "IfNotPresent"),  # docker.io/library/ is in front of it
        (f"{'a' * 248}:latest", "IfNotPresent"),
        (f"localhost/{'a' * 255}", "Always"),
        (f"localhost/{'a' * 256}", "IfNotPresent"),
        (f"docker.io/{'a' * 248}", "IfNotPresent"),
        (f"a/{'b' * 253}", "Always"),
    ],
)
def test_the_default_pull_policy_of_long_names(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_the_resources_of_a_pod_as_a_whole_are_resized(api: Api) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {**POD_SPEC, "resources": {"limits": {"cpu": "2"}}}
    api.ok("POST", pods, {"metadata": {"name": "a"}, "spec": spec})
    found = api.ok("PATCH", f"{pods}/a/resize", {"spec": {"resources": {"limits": {"cpu": "3"}}}}, **MERGE)
    assert (found["spec"]["resources"]["limits"], found["metadata"]["generation"]) == ({"cpu": "3"}, 2)
    off = Api(feature_gates={"InPlacePodLevelResourcesVerticalScaling": False})
    off.ok("POST", pods, {"metadata": {"name": "a"}, "spec": spec})
    assert off.call("PATCH", f"{pods}/a/resize", {"spec": {"resources": {}}}, **MERGE)[0] == 422


# --- other kinds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "canonical"),
    [("2001:db8::1", ""), ("2001:DB8::1", "2001:db8::1"), ("2001:db8:0:0::1", "2001:db8::1"), ("::FF", "::ff")],
)
def test_addresses_of_slices_are_canonical(api: Api, address: str, canonical: str) -> None:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    body = {"metadata": {"name": "a"}, "addressType": "IPv6", "endpoints": [{"addresses": [address]}]}
    code, answer = api.call("POST", path, body)
    assert code == (422 if canonical else 201)
    if canonical:
        assert f'must be in canonical form ("{canonical}")' in answer["message"]


@pytest.mark.parametrize("kind", ["deployments", "replicasets"])
def test_the_count_of_terminating_pods_is_not_negative(api: Api, kind: str) -> None:
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    api.ok(
        "POST",
        path,
        {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}},
    )
    codes = [
        api.call("PATCH", f"{path}/a/status", {"status": {"terminatingReplicas": n}}, **MERGE)[0] for n in (-1, 0, 1)
    ]
    assert codes == [422, 200, 200]


def test_a_job_names_itself_in_the_error_of_a_field_label(api: Api) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs?fieldSelector=spec.completions%3D1"
    assert api.refused("GET", path)[2] == 'field label "spec.completions" not supported for Job'


REQUIREMENT = "spec.resourceAttributes.{}.requirements[0]"
VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


@pytest.mark.parametrize(
    ("name", "selector", "error"),
    [
        ("labelSelector", {}, "spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"),
        ("fieldSelector", {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}, 'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'),
        ("labelSelector", {"requirements": [{"key": "a", "operator": "In"}]}, f"{REQUIREMENT.format('labelSelector')}.values: Required value: {VALUES}"),
        ("fieldSelector", {"requirements": [{"key": "a", "operator": "NotIn"}]}, f"{REQUIREMENT.format('fieldSelector')}.values: Required value: {VALUES}"),
        ("labelSelector", {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, f"{REQUIREMENT.format('labelSelector')}.values: Forbidden: {NO_VALUES}"),
        ("fieldSelector", {"requirements": [{"operator": "In", "values": ["b"]}]}, f"{REQUIREMENT.format('fieldSelector')}.key: Required value: must be specified"),
    ],
)  # fmt: skip
def test_selectors_of_access_reviews_are_validated(api: Api, name: str, selector: Any, error: str) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", name: selector}}}
    message = api.refused("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)[2]
    assert message == f'.authorization.k8s.io "" is invalid: {error}'


@pytest.mark.parametrize(
    ("name", "requirements", "problem"),
    [
        ("labelSelector", [{"key": "a", "operator": "New"}], "ignored"),
        ("labelSelector", [{"key": "a", "operator": "New"}, {"key": "a", "operator": "Exists"}], "partially ignored"),
        ("fieldSelector", [{"key": "a", "operator": "Exists"}], "ignored"),
        ("fieldSelector", [{"key": "a", "operator": "In", "values": ["b", "c"]}], "ignored"),
        ("fieldSelector", [{"key": "a", "operator": "In", "values": ["b"]}], ""),
    ],
)
def test_requirements_that_the_authorizer_does_not_know_are_named(
    api: Api, name: str, requirements: Any, problem: str
) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", name: {"requirements": requirements}}}}
    status = api.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)["status"]
    shown = f"spec.resourceAttributes.{name} {problem} due to parse error" if problem else None
    assert status.get("evaluationError") == shown


@pytest.mark.parametrize(
    ("method", "path", "code", "is_status"),
    [
        ("POST", "/api/v2", 404, True),
        ("GET", "/version/x", 404, True),
        ("DELETE", "/version/x", 404, True),
        ("PUT", "/foo", 404, False),
        ("POST", "/apis/apps", 200, True),
        ("POST", "/version", 405, True),
        ("POST", "/apis/apps/v1", 405, True),
    ],
)
def test_methods_of_paths_without_a_resource(api: Api, method: str, path: str, code: int, is_status: bool) -> None:
    response = api.answer(method, path)
    assert response.status == code
    assert isinstance(response.body.to_object(), dict) is is_status


# --- custom resources ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("a-b", True), ("a-b-c", False), ("a.b-c.de", True), ("a--b", False), ("A-b-c", False), ("xn--a", False),
        ("1a", True), ("-a", False), ("a_b", False), ("é.com", True), ("a.b1", False), ("a" * 64, False), ("", False),
    ],
)  # fmt: skip
def test_host_names(text: str, valid: bool) -> None:
    assert is_hostname(text) is valid


@pytest.mark.parametrize(
    ("node", "value", "problems"),
    [
        ({"type": "integer", "format": "int32", "maximum": 3e9}, 5,
         ["Maximum boundary value must be of type integer with format int32 in f"]),
        ({"type": "integer", "format": "int32", "minimum": -3e9}, 5,
         ["Minimum boundary value must be of type integer with format int32 in f"]),
        ({"type": "integer", "maximum": 1e30}, 5,
         ["Maximum boundary value must be of type integer (default format) in f"]),
        ({"type": "number", "format": "float", "maximum": 1e300}, 1e200,
         ["Checked value must be of type number with format float in f",
          "Maximum boundary value must be of type number with format float in f"]),
        ({"type": "integer", "format": "int32", "maximum": 5}, 5, []),
    ],
)  # fmt: skip
def test_bounds_that_the_type_does_not_have_refuse_every_value(node: Any, value: float, problems: list[str]) -> None:
    validator = SchemaValidator(node)
    assert [one.message for one in validator.check(value, "f").problems] == problems
    assert validator.accepts(value) is not bool(problems)


@pytest.mark.parametrize(
    ("default", "errors"),
    [
        ({}, ["apiVersion", "kind"]),
        ({"apiVersion": "v1"}, ["kind"]),
        ({"apiVersion": "v1", "kind": "Gadget", "spec": {}}, []),
    ],
)
def test_the_default_of_a_root_is_a_resource(api: Api, default: Any, errors: list[str]) -> None:
    schema = {"type": "object", "default": default, "properties": {"spec": {"type": "object"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    body = {"metadata": {"name": "gadgets.example.com"}, "spec": spec}
    answer = api.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)[1]
    fields = [cause["field"].rpartition(".")[2] for cause in answer.get("details", {}).get("causes", ())]
    assert fields == errors


def test_an_integer_below_int64_is_a_float(api: Api) -> None:
    """Go writes it with the fewest digits that tell it from its neighbours."""
    text = gojson.encode(gojson.with_body_numbers(orjson.loads(b"[-9223372036854775809, -9223372036854775808]")))
    assert text == b"[-9223372036854776000,-9223372036854775808]"


def test_ports_of_one_name_cannot_get_the_same_node_port(api: Api) -> None:
    port = {"port": 80, "name": "a"}
    api.ok("POST", SERVICES, {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [port]}})
    code, _, message = api.refused("PATCH", f"{SERVICES}/a", {"spec": {"ports": [port, port]}}, **MERGE)
    number = api.ok("GET", f"{SERVICES}/a")["spec"]["ports"][0]["nodePort"]
    assert (code, message) == (500, f"duplicate nodePort: {{TCP {number}}}")


def test_a_refused_patch_is_quoted_with_the_escapes_of_go(api: Api) -> None:
    api.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}, "data": {"a": "<&>é\u2028"}})
    _, _, message = api.refused("PATCH", "/api/v1/namespaces/default/configmaps/a", {"data": {"b": 1}}, **MERGE)
    assert r"\\u003c\\u0026\\u003eé\\u2028" in message


# --- the types of bodies ----------------------------------------------------------------------------------------------


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize(
    ("path", "api_version", "kind", "expected"),
    [
        (DEPLOYMENTS, "apps/v1beta2", "Deployment", "(apps/v1beta2) does not match the expected API version (apps/v1)"),
        (DEPLOYMENTS, "extensions/v1beta1", "Deployment", "(extensions/v1beta1) does not match the expected"),
        (DEPLOYMENTS, "apps/v9", "Deployment", 'no kind "Deployment" is registered for version "apps/v9" in scheme'),
        (DEPLOYMENTS, "apps/v1", "De\u0000p\té", r'no kind "De\x00p\té" is registered for version "apps/v1" in scheme'),
        (DEPLOYMENTS, "apps\a/v1", "Deployment", r'no kind "Deployment" is registered for version "apps\a/v1" in'),
        (DEPLOYMENTS, "apps/v1beta1", "Scale", "converting (v1beta1.Scale) to (apps.Deployment): unknown conversion"),
        (DEPLOYMENTS, "v1", "ConfigMap", "converting (v1.ConfigMap) to (apps.Deployment): unknown conversion"),
        ("/api/v1/namespaces/default/events", "events.k8s.io/v1", "Event", "(events.k8s.io/v1) does not match the exp"),
        ("/apis/events.k8s.io/v1/namespaces/default/events", "v1", "Event", "(v1) does not match the expected API ver"),
        (
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "autoscaling/v2",
            "HorizontalPodAutoscaler", "(autoscaling/v2) does not match the expected API version (autoscaling/v1)",
        ),
    ],
)  # fmt: skip
def test_a_body_of_another_type(api: Api, path: str, api_version: str, kind: str, expected: str) -> None:
    """Other versions of the kind are decoded and then refused; other kinds cannot be converted."""
    code, reason, message = api.refused("POST", path, {"apiVersion": api_version, "kind": kind})
    assert (code, reason) == (400, "BadRequest")
    assert expected in message


def test_types_that_a_patch_or_a_deletion_names_are_quoted_as_go_does(api: Api) -> None:
    body = {"apiVersion": "v9\u0000", "kind": "A\tb"}
    quoted = r'no kind "A\tb" is registered for version "v9\x00" in scheme'
    assert quoted in api.refused("DELETE", f"{PODS}/p", body)[2]
    assert quoted in api.refused("PATCH", "/api/v1/namespaces/default", body, **MERGE)[2]


@pytest.mark.parametrize(("text", "valid"), [("1Gi", True), (" 1Gi", False), ("1Gi\n", False)])
def test_quantities_in_protobuf_are_not_trimmed(text: str, valid: bool) -> None:
    data = bytes([10, len(text)]) + text.encode()
    if valid:
        assert protobuf._quantity(data, 1) == text
    else:
        with pytest.raises(Malformed, match="quantities must match the regular expression"):
            protobuf._quantity(data, 1)


# --- answers ----------------------------------------------------------------------------------------------------------


def test_the_configuration_in_the_status_of_a_node_is_dropped(api: Api) -> None:
    api.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    found = api.ok(
        "PATCH", "/api/v1/nodes/n/status", {"status": {"config": {"error": "x"}, "phase": "Running"}}, **MERGE
    )
    assert found["status"] == {**found["status"], "phase": "Running"}
    assert "config" not in found["status"]


def test_addresses_of_a_pod_that_are_mapped_into_ipv6_are_of_ipv4(api: Api) -> None:
    api.ok("POST", PODS, POD)
    addresses = {"status": {"podIPs": [{"ip": "::1"}, {"ip": "::ffff:1.2.3.4"}]}}
    message = api.refused("PATCH", f"{PODS}/p/status", addresses, **MERGE)[2]
    assert message.endswith('"::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address')


def test_a_token_request_owns_the_fields_of_its_object_and_not_the_object(api: Api) -> None:
    api.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "s"}})
    api.ok("POST", PODS, {**POD, "spec": {**POD["spec"], "serviceAccountName": "s"}})
    spec = {"boundObjectRef": {"kind": "Pod", "name": "p", "apiVersion": "v1"}}
    found = api.ok("POST", "/api/v1/namespaces/default/serviceaccounts/s/token", {"spec": spec})
    owned = found["metadata"]["managedFields"][0]["fieldsV1"]
    reference = {"f:apiVersion": {}, "f:kind": {}, "f:name": {}}
    assert owned == {"f:spec": {"f:boundObjectRef": reference, "f:expirationSeconds": {}}}


@pytest.mark.parametrize("sent", [["x"], ["All", "All"]])
def test_an_eviction_with_two_ways_to_try_it_is_an_error_of_the_server(api: Api, sent: list[str]) -> None:
    api.ok("POST", PODS, POD)
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": sent}}
    message = f"Non-matching dry-run options in request and content: [All] and [{' '.join(sent)}]"
    assert api.refused("POST", f"{PODS}/p/eviction?dryRun=All", eviction) == (500, "", message)


def test_a_resize_that_adds_a_container_is_validated_as_it_was_sent(api: Api) -> None:
    api.ok("POST", PODS, POD)
    spec = {"containers": [{"name": "c", "resources": {}}], "initContainers": [{"name": "d", "image": "x"}]}
    message = api.refused("PATCH", f"{PODS}/p/resize", {"spec": spec}, **MERGE)[2]
    assert "spec.containers[0].image: Required value" in message
    assert "initContainers may not be added or removed on resize" in message


def test_an_apply_names_the_item_of_the_stored_object_that_has_no_key(api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    api.ok("POST", path, {"metadata": {"name": "a"}, "secrets": [{"namespace": "x"}]})
    assert "managedFields" not in api.ok("GET", f"{path}/a")["metadata"]
    applied = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"name": "s"}]}
    code, _, message = api.refused(
        "PATCH", f"{path}/a?fieldManager=m", applied, content_type="application/apply-patch+yaml"
    )
    start = (
        "failed to create manager for existing fields: failed to convert new object (default/a; /v1, Kind=ServiceAcc"
    )
    assert (code, message.startswith(start)) == (500, True)
    assert " to smd typed: .secrets: element 0: associative list with keys has an element that omits all key" in message


# --- patches ----------------------------------------------------------------------------------------------------------


def test_a_list_without_a_merge_key_is_one_of_structs(api: Api) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    addresses = {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}
    api.ok("POST", path, {"metadata": {"name": "a"}, "subsets": [addresses]})
    patch = {"subsets": [addresses], "$deleteFromPrimitiveList/subsets": []}
    kind = {"content_type": "application/strategic-merge-patch+json"}
    assert api.refused("PATCH", f"{path}/a", patch, **kind)[::2] == (
        500,
        "cannot merge lists without merge key for struct",
    )


def test_an_integer_beyond_int64_is_shown_as_the_float_that_go_decodes() -> None:
    assert goprint.plain({"a": [2**63 - 1, 2**63]}) == "map[a:[9223372036854775807 9.223372036854776e+18]]"


def test_the_type_of_a_claim_template_comes_first_in_a_quoted_object() -> None:
    template = {"metadata": {"name": "d"}, "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    shown = in_struct_order({"spec": {"volumeClaimTemplates": [template]}}, "apps/v1", "StatefulSet")
    assert list(shown["spec"]["volumeClaimTemplates"][0]) == ["kind", "apiVersion", "metadata"]


def requesting(cpu: str, memory: str) -> dict[str, Any]:
    return {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": memory}}}


# --- the resize of a pod on its node ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "cause", "message"),
    [
        (None, None, 'node "n" not found'),
        ({"labels": {"kubernetes.io/os": "windows"}}, "UnsupportedPlatform", 'node "n" is "windows"'),
        ({}, "NodeCapacity", "resources: cpu, requested: 150, allocatable: 100; memory, requested: 2048, allocatable: 1024"),
    ],
)  # fmt: skip
def test_a_resize_is_refused_if_its_node_cannot_run_it(api: Api, node: Any, cause: str | None, message: str) -> None:
    """Autoscalers look at the cause (PodResizeValidator, from 1.36 on)."""
    if node is not None:
        status = {"allocatable": {"cpu": "100m", "memory": "1Ki"}}
        api.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n", **node}, "status": status})
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [requesting("50m", "1Ki")]}}
    api.ok("POST", PODS, pod)
    wanted = {"spec": {"containers": [requesting("150m", "2Ki")]}}
    kind = {"content_type": "application/strategic-merge-patch+json"}
    code, found = api.call("PATCH", f"{PODS}/p/resize", wanted, **kind)
    assert (code, found["reason"]) == (403, "Forbidden")
    assert found["message"].startswith('pods "p" is forbidden: ')
    assert found["message"].endswith(message)
    assert found["details"].get("causes") == ([{"reason": cause}] if cause else None)
    assert api.call("PATCH", f"{PODS}/p/resize", {"spec": pod["spec"]}, **kind)[0] == 200  # nothing changes
    before = Api(version="1.35")
    before.ok("POST", PODS, pod)
    assert before.call("PATCH", f"{PODS}/p/resize", wanted, **kind)[0] == 200


# --- times, versions and empty lists ----------------------------------------------------------------------------------


def test_an_empty_list_of_managers_in_a_template_is_dropped(api: Api) -> None:
    template = {"metadata": {"labels": {"a": "b"}, "managedFields": []}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert made["spec"]["template"]["metadata"] == {"labels": {"a": "b"}}
    owned = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:metadata"]
    assert owned == {"f:labels": {".": {}, "f:a": {}}}


@pytest.mark.parametrize("version", ["abc", "-1", "1.5"])
def test_an_update_that_creates_has_a_resource_version_that_is_a_number(api: Api, version: str) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    lease = {"metadata": {"name": "l", "resourceVersion": version}, "spec": {}}
    message = f'strconv.ParseUint: parsing "{version}": invalid syntax'
    assert api.refused("PUT", path, lease) == (500, "", message)
    assert api.call("PUT", path, {"metadata": {"name": "l", "resourceVersion": "5"}, "spec": {}})[0] == 201


def test_taints_of_devices_are_added_when_they_are_written(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1/resourceslices"
    taint = {"key": "k", "effect": "NoSchedule"}
    devices = [{"name": "a", "taints": [taint]}, {"name": "b"}]
    spec = {"driver": "d.x", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n", "devices": devices}
    made = api.ok("POST", path, {"metadata": {"name": "s"}, "spec": spec})
    assert made["spec"]["devices"][0]["taints"] == [{**taint, "timeAdded": api.context.now}]
    before = {**taint, "key": "l", "timeAdded": "2020-01-01T00:00:00Z"}
    change = {"spec": {"devices": [{"name": "a", "taints": [taint, before]}]}}
    changed = api.ok("PATCH", f"{path}/s", change, **MERGE)
    assert changed["spec"]["devices"][0]["taints"] == [{**taint, "timeAdded": api.context.now}, before]


@pytest.mark.parametrize(
    "patch",
    [
        {"secrets": [{"name": "a"}]},
        {"secrets": [{"name": "a", "$patch": "delete"}]},
        {"secrets": [{"name": "a"}], "$setElementOrder/secrets": [{"name": "a"}]},
        {"$setElementOrder/secrets": [{"name": "a"}]},
    ],
)
def test_a_stored_item_without_its_key_refuses_every_merge(api: Api, patch: Any) -> None:
    path, kind = "/api/v1/namespaces/default/serviceaccounts", "application/strategic-merge-patch+json"
    api.ok("POST", path, {"metadata": {"name": "s"}, "secrets": [{"namespace": "x"}, {"name": "a"}]})
    refused = (500, "", "map: map[] does not contain declared merge key: name")
    assert api.refused("PATCH", f"{path}/s", patch, content_type=kind) == refused
    api.ok("PATCH", f"{path}/s", {"secrets": [{"$patch": "replace"}, {"name": "b"}]}, content_type=kind)


def test_a_number_beyond_float64_is_named_in_the_error_of_a_patch(api: Api) -> None:
    api.ok("POST", PODS, POD)
    why = "error decoding patch: json: cannot unmarshal number 1e400 into Go value of type float64"
    assert api.refused("PATCH", f"{PODS}/p", b'{"spec": {"x": 1e400}}', **MERGE) == (400, "BadRequest", why)


@pytest.mark.parametrize("version", ["1.25", "1.36"])
def test_only_kinds_without_content_have_no_rules_of_their_own(version: str) -> None:
    """Accounts have metadata, states of components are read, and reviews are not stored."""
    server = Api(version=version).apiserver
    resources = server.catalog.resources()
    without = {one.plural for one in resources if server.registration(one).strategy.validate is strategy._no_errors}
    assert {one for one in without if "reviews" not in one} == {"bindings", "componentstatuses", "serviceaccounts"}


def test_characters_that_cannot_be_printed_are_quoted_as_the_type_of_the_field_is(api: Api) -> None:
    """Strings with Go's escapes, values of named types with those of JSON."""
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "R\u0000", "name": "x"}
    binding = {"metadata": {"name": "x"}, "roleRef": role, "subjects": [{"kind": "\a", "name": "x"}]}
    message = api.refused("POST", path, binding)[2]
    assert r'roleRef.kind: Unsupported value: "R\x00": supported' in message
    assert r'subjects[0].kind: Unsupported value: "\a": supported' in message
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "\u0000"}]}
    quota = {"metadata": {"name": "x"}, "spec": {"hard": {"pods": "1"}, "scopeSelector": selector}}
    message = api.refused("POST", "/api/v1/namespaces/default/resourcequotas", quota)[2]
    assert message.endswith(r'operator: Invalid value: "\u0000": not a valid selector operator')


@pytest.mark.parametrize(
    ("kind", "body", "pauses"),
    [
        ("application/apply-patch+yaml", lambda data: {"apiVersion": "v1", "kind": "ConfigMap", **data}, 6),
        ("application/merge-patch+json", lambda data: data, 5),
        ("application/json-patch+json", lambda data: [{"op": "add", "path": "/data", "value": data["data"]}], 5),
    ],
)
def test_other_requests_have_their_turn_between_the_parts_of_a_large_one(
    api: Api, kind: str, body: Any, pauses: int
) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    api.ok("POST", path, {"metadata": {"name": "a"}})
    api.needs.clear()
    data = {"metadata": {"name": "a"}, "data": {"k": "x" * LARGE}}
    answer = api.answer("PATCH", f"{path}/a?fieldManager=m", orjson.dumps(body(data)), content_type=kind)
    assert answer.status == 200
    assert api.needs == [Delay(0.0)] * pauses


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("string(null) == 'a'", "Internal error: program instantiation failed: no such overload: string(null_type)"),
        ("int(null) + 1 == 2", "Internal error: program instantiation failed: no such overload: int(null_type)"),
        ("duration(null) == duration('1s')", "invalid duration argument"),
        ("timestamp(null) == timestamp(0)", "invalid timestamp argument"),
    ],
)
def test_null_is_converted_by_no_function(api: Api, expression: str, error: str) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    policy = {"metadata": {"name": "p"}, "spec": spec}
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    assert error in api.refused("POST", path, policy)[2]


def test_the_options_of_an_eviction_are_validated_by_the_deletion(api: Api) -> None:
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["x"]}}
    assert api.refused("POST", f"{PODS}/p/eviction", eviction)[:2] == (404, "NotFound")
    api.ok("POST", PODS, {**POD, "metadata": {"name": "p", "labels": {"a": "b"}}})
    api.ok("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, **MERGE)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    selector = {"matchLabels": {"a": "b"}}
    api.ok("POST", budgets, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}})
    assert api.refused("POST", f"{PODS}/p/eviction", eviction)[:2] == (429, "TooManyRequests")
    api.ok("DELETE", f"{budgets}/b")
    assert api.refused("POST", f"{PODS}/p/eviction", eviction)[:2] == (422, "Invalid")


def test_the_requests_of_a_claim_template_are_rounded(api: Api) -> None:
    resources = {"requests": {"storage": "1n"}}
    claim = {"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "volumeClaimTemplates": [claim]}
    made = api.ok("POST", "/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "s"}, "spec": spec})
    assert made["spec"]["volumeClaimTemplates"][0]["spec"]["resources"] == {"requests": {"storage": "1m"}}


def test_a_template_cannot_have_a_grace_period_of_zero_either(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
    spec = {"metadata": {"deletionGracePeriodSeconds": 0}, "spec": {}}
    message = api.refused("POST", path, {"metadata": {"name": "t"}, "spec": spec})[2]
    assert message.endswith("spec.metadata.deletionGracePeriodSeconds: Forbidden: cannot be set")


@pytest.mark.parametrize(
    ("node", "value", "problems"),
    [
        ({"maximum": 2.5, "exclusiveMaximum": True}, 2, ["x in body should be less than 2"]),
        ({"maximum": 2.5}, 2, []),
        ({"maximum": 2.5}, 3, ["x in body should be less than or equal to 2"]),
        ({"maximum": 2.5, "exclusiveMaximum": True}, 2.25, []),
        ({"minimum": 1.5}, 1, []),
        ({"minimum": 1.5}, 1.25, ["x in body should be greater than or equal to 1.5"]),
        ({"minimum": -1.5, "exclusiveMinimum": True}, -1, ["x in body should be greater than -1"]),
    ],
)
def test_the_bounds_of_an_integer_are_cut_to_integers(node: Any, value: float, problems: list[str]) -> None:
    """Also where the schema allows fractions (`MaximumNativeType`)."""
    validator = SchemaValidator({"type": "number", **node})
    assert [one.message for one in validator.check(value, "x").problems] == problems
    assert not (problems and validator.accepts(value))


@pytest.mark.parametrize("on", [True, False])
def test_the_fields_of_coordinated_leader_election_have_a_gate(on: bool) -> None:
    api = Api(feature_gates={"CoordinatedLeaderElection": on})
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"holderIdentity": "h", "strategy": "OldestEmulationVersion", "preferredHolder": "p"}
    made = api.ok("POST", path, {"metadata": {"name": "l"}, "spec": spec})
    kept = spec if on else {"holderIdentity": "h"}
    assert made["spec"] == kept
    changed = api.ok("PUT", f"{path}/l", {**made, "spec": {**spec, "holderIdentity": "i"}})
    assert changed["spec"] == {**kept, "holderIdentity": "i"}
