"""Rules of built-in kinds that hold on a real server, each found as a difference from it."""

import json

import pytest

from tests.apiserver.api import CONFIGMAPS, DEPLOYMENTS, PODS, Api, configmap

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
JOBS = "/apis/batch/v1/namespaces/default/jobs"
DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
AUTOSCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
CAPACITIES = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"


@pytest.fixture
def api():
    api = Api()
    api.context.uid = lambda key: "u-1"  # a valid name and label
    return api


def made(api_version, kind, name="x", **rest):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **rest.pop("metadata", {})}, **rest}


def deployment(**spec):
    return made("apps/v1", "Deployment", spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec})


def owned(obj, index=0):
    return obj["metadata"]["managedFields"][index]["fieldsV1"]


def causes(answer):
    return [(one["field"], one["message"].partition(":")[0]) for one in answer["details"]["causes"]]


# --- managedFields of what the server sets ---------------------------------------------------------------------------


def test_the_label_with_its_name_is_owned_by_who_creates_a_namespace(api):
    created = api.ok("POST", "/api/v1/namespaces", made("v1", "Namespace", "n"))
    assert owned(created)["f:metadata"]["f:labels"] == {".": {}, "f:kubernetes.io/metadata.name": {}}


def test_the_template_generation_is_owned_by_who_creates_a_daemon_set(api):
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    created = api.ok("POST", DAEMON_SETS, made("apps/v1", "DaemonSet", spec=spec))
    assert created["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}
    assert "f:deprecated.daemonset.template.generation" in owned(created)["f:metadata"]["f:annotations"]
    annotated = made("apps/v1", "DaemonSet", "y", spec=spec)
    annotated["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "many"}
    code, _, message = api.refused("POST", DAEMON_SETS, annotated)
    assert (code, message.partition("strconv")[2]) == (400, '.ParseInt: parsing "many": invalid syntax')


@pytest.mark.parametrize(("accept", "at"), [(METADATA, ()), (TABLE, ("rows", 0, "object"))])
def test_metadata_alone_has_no_template_generation(api, accept, at):
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    api.ok("POST", DAEMON_SETS, made("apps/v1", "DaemonSet", spec=spec))
    shown = api.ok("GET", f"{DAEMON_SETS}/x", accept=accept)
    for key in at:
        shown = shown[key]
    assert "annotations" not in shown["metadata"]


def test_an_autoscaler_of_v1_owns_the_utilization_that_conversion_adds(api):
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    status = {"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 10}
    created = api.ok("POST", AUTOSCALERS, made("autoscaling/v1", "HorizontalPodAutoscaler", spec=spec, status=status))
    assert "f:targetCPUUtilizationPercentage" in owned(created)["f:spec"]
    assert "f:autoscaling.alpha.kubernetes.io/current-metrics" in owned(created)["f:metadata"]["f:annotations"]
    assert "annotations" not in created["metadata"], "a new object has no status, nor the annotations that carry it"


def test_a_certificate_request_owns_no_spec():
    api = Api()
    requests = api.apiserver.catalog.find("certificates.k8s.io", "v1", "certificatesigningrequests")
    assert api.apiserver.registration(requests).strategy.unowned == ("spec",)


def test_the_data_of_a_revision_is_owned_as_a_whole(api):
    created = api.ok("POST", REVISIONS, made("apps/v1", "ControllerRevision", data={"a": {"b": 1}}, revision=1))
    assert owned(created) == {"f:data": {}, "f:revision": {}}


@pytest.mark.parametrize("empty", [[], [{}]])
def test_m9_empty_managed_fields_clear_them(api, empty):
    budget = made("policy/v1", "PodDisruptionBudget", spec={})
    api.ok("POST", BUDGETS, budget)
    patched = api.ok("PATCH", f"{BUDGETS}/x", {"metadata": {"managedFields": empty}}, content_type=MERGE)
    assert "managedFields" not in patched["metadata"]
    applied = api.ok(
        "PATCH", f"{BUDGETS}/x?fieldManager=m", {**budget, "spec": {"minAvailable": 1}}, content_type=APPLY
    )
    assert [one["manager"] for one in applied["metadata"]["managedFields"]] == ["m"], "nothing is left for others"


def test_m9_an_item_without_its_key_leaves_an_object_without_managed_fields(api):
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    created = api.ok("POST", accounts, made("v1", "ServiceAccount", secrets=[{"kind": "x"}]))
    assert "managedFields" not in created["metadata"]


def test_an_empty_required_list_is_owned_and_read_as_null(api):
    created = api.ok("POST", ROLES, made("rbac.authorization.k8s.io/v1", "Role", rules=[]))
    assert (created["rules"], owned(created)) == (None, {"f:rules": {}})
    created = api.ok("POST", ROLES, made("rbac.authorization.k8s.io/v1", "Role", "y", rules=None))
    assert "managedFields" not in created["metadata"]


# --- conversion without a JSON decoder -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "stored"), [(4294967297, 1), (1.0, 1), (2**63, 0)], ids=["wraps", "whole-float", "out-of-range"]
)
def test_m14_integers_wrap_in_strategic_patches_and_in_apply(api, value, stored):
    api.ok("POST", DEPLOYMENTS, deployment(replicas=5))
    patched = api.ok("PATCH", f"{DEPLOYMENTS}/x", {"spec": {"replicas": value}}, content_type=STRATEGIC)
    assert patched["spec"]["replicas"] == stored
    api.ok("PATCH", f"{DEPLOYMENTS}/x", {"spec": {"replicas": 5}}, content_type=MERGE)
    applied = api.ok(
        "PATCH", f"{DEPLOYMENTS}/x?fieldManager=m&force=true", deployment(replicas=value), content_type=APPLY
    )
    assert applied["spec"]["replicas"] == stored


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"replicas": "1"}}, "unrecognized type: int32"),
        ({"spec": {"paused": 1}}, "unrecognized type: bool"),
        ({"spec": {"template": {"spec": {"schedulerName": 1}}}}, "cannot convert int64 to string"),
        ({"spec": {"template": {"spec": {"schedulerName": True}}}}, "unrecognized type: string"),
        ({"spec": {"template": {"spec": {"affinity": 1}}}}, "cannot restore struct from: int64"),
        ({"spec": {"template": {"spec": {"nodeSelector": 1}}}}, "cannot restore map from int64"),
        ({"status": {"conditions": [{"type": "x", "lastUpdateTime": 1}]}}, "json: cannot unmarshal number into Go value of type string"),
        ({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 2**31}}}}, "json: cannot unmarshal number 2147483648 into Go value of type int32"),
        ({"apiVersion": 1}, "cannot convert int64 to string"),
    ],
)  # fmt: skip
def test_m14_the_errors_of_strategic_patches(api, patch, why):
    api.ok("POST", DEPLOYMENTS, deployment())
    code, _, message = api.refused("PATCH", f"{DEPLOYMENTS}/x", patch, content_type=STRATEGIC)
    assert (code, message.rpartition('": ')[2]) == (422, why)


def test_m14_an_apply_finds_conflicts_before_values_that_do_not_convert(api):
    api.ok("PATCH", f"{DEPLOYMENTS}/x?fieldManager=a", deployment(replicas=1), content_type=APPLY)
    wrong = deployment(replicas=2, strategy={"rollingUpdate": {"maxSurge": {"x": 1}}})
    assert api.refused("PATCH", f"{DEPLOYMENTS}/x?fieldManager=b", wrong, content_type=APPLY)[:2] == (409, "Conflict")
    code, _, message = api.refused("PATCH", f"{DEPLOYMENTS}/x?fieldManager=a", wrong, content_type=APPLY)
    assert (code, message.rpartition("Kind=Deployment: ")[2]) == (
        500, "json: cannot unmarshal object into Go value of type int32",
    )  # fmt: skip


def test_bytes_can_be_given_as_numbers(api):
    assert api.ok("POST", CONFIGMAPS, configmap(binaryData={"a": [104, 105, None]}))["binaryData"] == {"a": "aGkA"}
    code, _, message = api.refused("POST", CONFIGMAPS, configmap("b", binaryData={"a": [300]}))
    assert (code, message.rpartition("number ")[2].split()[0]) == (400, "300")


@pytest.mark.parametrize("value", [False, 0, [], {}])
@pytest.mark.parametrize("field", ["kind", "apiVersion"])
def test_a_kind_that_is_no_text_is_refused_even_if_it_is_empty(api, field, value):
    code, _, message = api.refused("POST", CONFIGMAPS, json.dumps({**configmap(), field: value}).encode())
    assert code == 400
    assert f"into Go struct field .{field} of type string ({{" in message


@pytest.mark.parametrize("meta", ["x", 1, [1], True])
def test_an_apply_with_metadata_that_is_no_object(api, meta):
    code, _, message = api.refused(
        "PATCH", f"{CONFIGMAPS}/a?fieldManager=m", {**configmap(), "metadata": meta}, content_type=APPLY
    )
    assert (code, message.partition(": ")[0]) == (500, "failed to create typed patch object (/; /v1, Kind=ConfigMap)")


def test_a_json_patch_of_null_changes_nothing(api):
    api.ok("POST", CONFIGMAPS, configmap(data={"a": "b"}))
    before = api.revision
    assert api.ok("PATCH", f"{CONFIGMAPS}/a", b"null", content_type=JSON_PATCH)["data"] == {"a": "b"}
    assert api.revision == before


@pytest.mark.parametrize(
    ("path", "obj", "message"),
    [
        (PODS, made("v1", "Pod", spec={"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": 1}}]}), "EphemeralVolumeSource.spec.volumes.VolumeSource.ephemeral.volumeClaimTemplate of type v1.PersistentVolumeClaimTemplate"),
        (PODS, made("v1", "Pod", spec={"overhead": 1}), "PodSpec.spec.overhead of type v1.ResourceList"),
        ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", made("networking.k8s.io/v1", "NetworkPolicy", spec={"policyTypes": [1]}), "NetworkPolicySpec.spec.policyTypes of type v1.PolicyType"),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", made("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[{"rules": [{"apiGroups": 1}]}]), "RuleWithOperations.webhooks.rules.Rule.apiGroups of type []string"),
    ],
)  # fmt: skip
def test_errors_of_types_name_embedded_structs_and_named_types(api, path, obj, message):
    code, _, shown = api.refused("POST", path, obj)
    assert (code, shown.partition("Go struct field ")[2]) == (400, message)


# --- kinds -----------------------------------------------------------------------------------------------------------


def test_a_job_without_labels_has_those_of_its_template(api):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", **TEMPLATE["spec"]}}
    job = made("batch/v1", "Job", spec={"template": template})
    assert "job-name" in api.ok("POST", JOBS, job)["metadata"]["labels"]
    generated = {**job, "metadata": {"generateName": "g-"}}
    assert api.ok("POST", JOBS, generated)["metadata"]["labels"] == {"a": "b"}, "a copy, as the create can be repeated"


def test_m12_a_revision_holds_an_object(api):
    code, _, message = api.refused("POST", REVISIONS, made("apps/v1", "ControllerRevision", data=[1], revision=1))
    assert (code, message.partition("invalid: ")[2]) == (
        422, "data: Required value: data must be a valid JSON object",
    )  # fmt: skip


def test_m12_selinux_changes_are_recursive_only(api):
    spec = {**TEMPLATE["spec"], "securityContext": {"seLinuxChangePolicy": "MountOption"}}
    assert api.refused("POST", PODS, made("v1", "Pod", spec=spec))[0] == 422


def test_m12_a_capacity_is_replaced_with_its_version_only(api):
    capacity = made("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="a")
    created = api.ok("POST", CAPACITIES, capacity)
    assert api.refused("PUT", f"{CAPACITIES}/x", capacity)[0] == 422
    wrong = {**created, "storageClassName": "A b"}
    code, answer = api.call("PUT", f"{CAPACITIES}/x", wrong)
    assert (code, [field for field, _ in causes(answer)]) == (422, ["storageClassName", "storageClassName"])
    table = api.ok("GET", f"{CAPACITIES}/x", accept=TABLE)
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Created At"]
    assert api.ok("DELETE", f"{CAPACITIES}/x")["kind"] == "Status"


def test_a_driver_with_tokens_in_its_attributes_is_warned_of(api):
    driver = made("storage.k8s.io/v1", "CSIDriver", spec={"tokenRequests": [{"audience": "a"}]})
    assert "serviceAccountTokenInSecrets is unset" in api.answer("POST", DRIVERS, driver).warnings[0]
    same = api.answer("PATCH", f"{DRIVERS}/x", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    assert not same.warnings
    driver["spec"]["serviceAccountTokenInSecrets"] = False
    assert not api.answer("POST", DRIVERS, {**driver, "metadata": {"name": "y"}}).warnings


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        ({}, "tls: failed to find any PEM data in certificate input"),
        (
            {"tls.crt": "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"},
            "tls: failed to find any PEM data in key input",
        ),
        (
            {"tls.crt": "-----BEGIN RSA PRIVATE KEY-----\nMII=\n-----END RSA PRIVATE KEY-----\n"},
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
            "have been switched",
        ),
    ],
)
def test_a_pair_that_is_no_pair_is_warned_of(api, data, warning):
    whole = {"tls.crt": "", "tls.key": "", **data}
    secret = made("v1", "Secret", type="kubernetes.io/tls", stringData=whole)
    assert api.answer("POST", "/api/v1/namespaces/default/secrets", secret).warnings == [warning]


def test_terms_without_expressions_equal_all_others(api):
    storage = made("storage.k8s.io/v1", "StorageClass", provisioner="p", allowedTopologies=[{}, {}])
    code, answer = api.call("POST", CLASSES, storage)
    assert (code, len(causes(answer))) == (422, 5), "two for the first, three for the second"


@pytest.mark.parametrize(
    ("obj", "path", "times"),
    [
        (made("v1", "Namespace"), "/api/v1/namespaces", 4),
        (made("v1", "Node"), "/api/v1/nodes", 4),
        (made("storage.k8s.io/v1", "StorageClass", provisioner="p"), CLASSES, 4),
        (made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1}), BUDGETS, 2),
        (made("apps/v1", "ControllerRevision", data={"a": 1}, revision=1), REVISIONS, 4),
        (made("node.k8s.io/v1", "RuntimeClass", handler="h"), "/apis/node.k8s.io/v1/runtimeclasses", 4),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_metadata_is_validated_as_often_as_the_kind_does(api, obj, path, times):
    created = api.ok("POST", path, obj)
    created["metadata"]["labels"] = {"a": "b c"}
    code, answer = api.call("PUT", f"{path}/x", created)
    assert (code, causes(answer)) == (422, [("metadata.labels", "Invalid value")] * times)


def test_the_metadata_of_a_new_budget_is_validated_last(api):
    wrong = made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": -1}, metadata={"labels": {"a": "b c"}})
    code, answer = api.call("POST", BUDGETS, wrong)
    assert (code, causes(answer)) == (422, [("spec.minAvailable", "Invalid value")])
    code, answer = api.call("POST", BUDGETS, {**wrong, "spec": {"minAvailable": 1}})
    assert (code, causes(answer)) == (422, [("metadata.labels", "Invalid value")])


def test_small_quantities_are_rounded_up(api):
    quota = made("v1", "ResourceQuota", spec={"hard": {"limits.cpu": "0.0005"}})
    created = api.ok("POST", "/api/v1/namespaces/default/resourcequotas", quota)
    assert created["spec"]["hard"] == {"limits.cpu": "1m"}


def test_a_limit_range_without_a_name_gets_one(api):
    created = api.ok(
        "POST", "/api/v1/namespaces/default/limitranges", made("v1", "LimitRange", "", spec={"limits": []})
    )
    assert created["metadata"]["name"]


def test_finalize_takes_the_metadata_of_the_body(api):
    api.ok("POST", "/api/v1/namespaces", made("v1", "Namespace", "n", metadata={"labels": {"x": "y"}}))
    body = made("v1", "Namespace", "n", metadata={"annotations": {"a": "b"}}, spec={"finalizers": ["kubernetes"]})
    answer = api.ok("PUT", "/api/v1/namespaces/n/finalize", body)["metadata"]
    assert (answer["annotations"], answer["labels"]) == ({"a": "b"}, {"kubernetes.io/metadata.name": "n"})


# --- tables and lists ------------------------------------------------------------------------------------------------


def test_columns_have_the_descriptions_of_a_real_server(api):
    described = {one["name"]: one["description"] for one in api.ok("GET", PODS, accept=TABLE)["columnDefinitions"]}
    assert described["Ready"] == "The aggregate readiness state of this pod for accepting traffic."
    assert described["Name"].startswith("Name must be unique within a namespace.")
    assert all(described.values())


def test_a11_wd_097_kinds_that_are_not_stored_have_no_table(api):
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert api.refused("POST", path, review, accept=TABLE)[0] == 406
    assert api.ok("POST", path, review, accept=f"{TABLE},application/json")["kind"] == "SelfSubjectAccessReview"
    assert set(api.ok("POST", path, review, accept=METADATA)) == {"kind", "apiVersion", "metadata"}


def test_a_selector_that_is_wrong_is_reported_before_the_form_of_the_list(api):
    assert api.refused("GET", f"{PODS}?fieldSelector=spec.nope%3Dx", accept=METADATA)[0] == 400
    assert api.refused("GET", PODS, accept=METADATA)[0] == 406
