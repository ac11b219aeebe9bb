"""Writes of built-in kinds: what is accepted, stored and answered as on a real server, each found as a difference from
it."""

import pytest

from tests.apiserver.api import CONFIGMAPS, CRDS, DEPLOYMENTS, PODS, Api, configmap, definition

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": CONTAINERS}
TEMPLATED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/api/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
NETWORK_POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
NAMESPACES = "/api/v1/namespaces"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def made(api_version, kind, name="x", **rest):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **rest.pop("metadata", {})}, **rest}


def job(**meta):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", **CONTAINERS}}
    return made("batch/v1", "Job", spec={"template": template}, metadata=meta)


def controller(**meta):
    spec = {"selector": {"a": "b"}, "template": TEMPLATE}
    return made("v1", "ReplicationController", spec=spec, metadata=meta)


def replica_set(**meta):
    return made("apps/v1", "ReplicaSet", spec=TEMPLATED, metadata=meta)


def stateful_set(**spec):
    return made("apps/v1", "StatefulSet", spec={**TEMPLATED, "serviceName": "s", **spec})


# --- deletion --------------------------------------------------------------------------------------------------------

PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


@pytest.mark.parametrize(
    ("path", "obj", "finalizers", "warnings"),
    [(JOBS, job(), ["orphan"], [PRESERVED]), (CONTROLLERS, controller(), ["orphan"], []), (REPLICA_SETS, replica_set(), None, [])],
    ids=["Job", "ReplicationController", "ReplicaSet"],
)  # fmt: skip
def test_a4_h9_the_default_policy_of_a_delete(api, path, obj, finalizers, warnings):
    api.ok("POST", path, obj)
    response = api.answer("DELETE", f"{path}/x")
    assert list(response.warnings) == warnings
    code, found = api.call("GET", f"{path}/x")
    assert (code, found["metadata"].get("finalizers")) == (200 if finalizers else 404, finalizers)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"propagationPolicy": "Background"}, 404), ({"propagationPolicy": "Orphan"}, 200), ({"orphanDependents": False}, 404)],
)  # fmt: skip
def test_h9_a_policy_of_the_options_comes_first(api, options, code):
    api.ok("POST", JOBS, job())
    assert not api.answer("DELETE", f"{JOBS}/x", options).warnings
    assert api.call("GET", f"{JOBS}/x")[0] == code


def test_h9_a_deletecollection_has_the_default_policy_too(api):
    api.ok("POST", JOBS, job())
    assert list(api.answer("DELETE", JOBS).warnings) == [PRESERVED]
    assert api.ok("GET", JOBS)["items"][0]["metadata"]["finalizers"] == ["orphan"]


@pytest.mark.parametrize(
    ("options", "code"), [({"orphanDependents": False}, 202), ({"propagationPolicy": "Background"}, 200), ({}, 200)]
)
def test_a_pending_delete_with_dependents_is_accepted(api, options, code):
    api.ok("POST", REPLICA_SETS, replica_set(finalizers=["example.com/f"]))
    assert api.call("DELETE", f"{REPLICA_SETS}/x", options)[0] == code


@pytest.mark.parametrize(
    ("options", "code", "finalizers"),
    [
        ({"orphanDependents": False}, 202, ["example.com/f", "foregroundDeletion"]),
        ({"orphanDependents": True}, 200, ["example.com/f", "orphan"]),
        ({"propagationPolicy": "Foreground"}, 200, ["example.com/f", "foregroundDeletion"]),
        ({"propagationPolicy": "Background"}, 200, ["example.com/f"]),
        ({}, 200, ["example.com/f"]),
    ],
)
def test_finalizers_of_a_deleted_namespace(api, options, code, finalizers):
    api.ok("POST", NAMESPACES, made("v1", "Namespace", "n", metadata={"finalizers": ["example.com/f"]}))
    found = api.call("DELETE", f"{NAMESPACES}/n", options)
    assert (found[0], found[1]["metadata"]["finalizers"]) == (code, finalizers)


def test_a_terminating_namespace_is_removed_as_other_objects_are(api):
    api.ok("POST", NAMESPACES, made("v1", "Namespace", "n", metadata={"finalizers": ["example.com/f"]}))
    assert "deletionGracePeriodSeconds" not in api.ok("DELETE", f"{NAMESPACES}/n")["metadata"]
    emptied = made("v1", "Namespace", "n", metadata={"finalizers": ["example.com/f"]}, spec={})
    api.ok("PUT", f"{NAMESPACES}/n/finalize", emptied)
    again = api.ok("DELETE", f"{NAMESPACES}/n")
    assert again["metadata"]["deletionGracePeriodSeconds"] == 0
    api.ok("PATCH", f"{NAMESPACES}/n", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert api.call("GET", f"{NAMESPACES}/n")[0] == 404


@pytest.mark.parametrize(
    ("precondition", "message"),
    [
        ({"uid": "u"}, "Precondition failed: UID in precondition: u, UID in object meta: "),
        ({"resourceVersion": "1"}, "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: "),
    ],
)  # fmt: skip
def test_preconditions_of_a_namespace(api, precondition, message):
    api.ok("POST", NAMESPACES, made("v1", "Namespace", "n"))
    code, reason, text = api.refused("DELETE", f"{NAMESPACES}/n", {"preconditions": precondition})
    assert (code, reason) == (409, "Conflict")
    assert text.startswith(f'Operation cannot be fulfilled on namespaces "n": {message}')


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_an_event_is_deleted_at_once(api, policy):
    api.ok("POST", EVENTS, made("v1", "Event", involvedObject={"namespace": "default"}))
    api.ok("DELETE", f"{EVENTS}/x", {"propagationPolicy": policy})
    assert api.call("GET", f"{EVENTS}/x")[0] == 404


# --- status ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "obj", "status"),
    [
        ("/apis/networking.k8s.io/v1/servicecidrs", made("networking.k8s.io/v1", "ServiceCIDR", spec={"cidrs": ["172.20.0.0/24"]}), {}),
        ("/apis/storage.k8s.io/v1/volumeattachments", made("storage.k8s.io/v1", "VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}), {"attached": True}),
        ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", made("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", spec={"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9}), {}),
        ("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", made("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", spec={"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}), {}),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", made("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {}}), {}),
        ("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", made("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", spec={"validations": [{"expression": "true"}], "matchConstraints": {"resourceRules": [{"apiGroups": ["z.io"], "apiVersions": ["v1"], "resources": ["z"], "operations": ["CREATE"]}]}}), {"observedGeneration": 1}),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) and "kind" in value else "",
)  # fmt: skip
def test_m5_a_status_write_ignores_metadata(api, path, obj, status):
    api.ok("POST", path, obj)
    current = api.ok("GET", f"{path}/x")
    meta = {"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["example.com/f"]}
    put = {**current, "metadata": {**current["metadata"], **meta}, "status": status}
    patched = {"metadata": meta, "status": status}
    for answer in (
        api.ok("PUT", f"{path}/x/status", put),
        api.ok("PATCH", f"{path}/x/status", patched, content_type=MERGE),
    ):
        assert not answer["metadata"].keys() & meta.keys()


@pytest.mark.parametrize(("path", "obj"), [(JOBS, job()), (CONTROLLERS, controller())], ids=["Job", "RC"])
def test_a_status_write_that_removes_all_labels_leaves_those_of_the_template(api, path, obj):
    labels = api.ok("POST", path, obj)["metadata"]["labels"]
    bare = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
    assert api.ok("PUT", f"{path}/x/status", bare)["metadata"]["labels"] == labels


def test_the_phase_of_a_namespace_has_a_default(api):
    api.ok("POST", NAMESPACES, made("v1", "Namespace", "n"))
    assert api.ok("PUT", f"{NAMESPACES}/n/status", made("v1", "Namespace", "n"))["status"] == {"phase": "Active"}


# --- what is accepted, and what is stored ----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["create", "apply"])
@pytest.mark.parametrize("query", ["fieldValidation=Strict", "fieldValidation=Warn"])
def test_h1_claim_templates_can_have_an_api_version_and_a_kind(api, verb, query):
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    obj = stateful_set(volumeClaimTemplates=[{"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}])  # fmt: skip
    if verb == "create":
        response = api.answer("POST", f"{STATEFUL_SETS}?{query}", obj)
    else:
        response = api.answer("PATCH", f"{STATEFUL_SETS}/x?fieldManager=m&{query}", obj, content_type=APPLY)
    assert (response.status, list(response.warnings)) == (201, [])
    stored = response.body.to_object()["spec"]["volumeClaimTemplates"][0]
    assert (stored["apiVersion"], stored["kind"]) == ("v1", "PersistentVolumeClaim")


def test_h2_resource_names_apply_to_all_resources_of_a_rule(api):
    rule = {"apiGroups": ["", "apps"], "resources": ["pods", "services"], "resourceNames": ["a", "b"], "verbs": ["get"]}
    assert api.ok("POST", ROLES, made("rbac.authorization.k8s.io/v1", "Role", rules=[rule]))["rules"] == [rule]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "RollingUpdate", "rollingUpdate": {}}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ],
)
def test_h10_the_update_strategy_of_a_stateful_set(api, given, stored):
    assert api.ok("POST", STATEFUL_SETS, stateful_set(updateStrategy=given))["spec"]["updateStrategy"] == stored


@pytest.mark.parametrize(
    ("path", "obj"),
    [
        (LEASES, made("coordination.k8s.io/v1", "Lease", spec={})),
        (EVENTS, made("v1", "Event", involvedObject={"namespace": "default"})),
        (RUNTIME_CLASSES, made("node.k8s.io/v1", "RuntimeClass", handler="h")),
        (BUDGETS, made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1})),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", made("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")),
        ("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", made("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", spec={"policyName": "p", "validationActions": ["Deny"]})),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_m13_finalizers_of_some_kinds_need_no_domain(api, path, obj):
    whole = {**obj, "metadata": {**obj["metadata"], "finalizers": ["unqualified"]}}
    assert api.ok("POST", path, whole)["metadata"]["finalizers"] == ["unqualified"]
    assert api.refused("POST", CONFIGMAPS, configmap(metadata={"finalizers": ["unqualified"]}))[0] == 422


@pytest.mark.parametrize(
    ("path", "obj"),
    [
        (BUDGETS, made("policy/v1", "PodDisruptionBudget", "A_b", spec={"minAvailable": 1})),
        (EVENTS, made("v1", "Event", "Pod_X.17a", involvedObject={"namespace": "default"})),
    ],
    ids=["budget", "event"],
)
def test_m7_names_that_are_no_dns_subdomains(api, path, obj):
    assert api.ok("POST", path, obj)["metadata"]["name"] == obj["metadata"]["name"]


def test_m7_a_put_creates_a_runtime_class(api):
    assert api.call("PUT", f"{RUNTIME_CLASSES}/x", made("node.k8s.io/v1", "RuntimeClass", handler="h"))[0] == 201


def test_m7_a_dry_run_can_have_a_resource_version(api):
    obj = configmap(metadata={"resourceVersion": "1"})
    assert api.call("POST", f"{CONFIGMAPS}?dryRun=All", obj)[0] == 201
    code, _, message = api.refused("POST", CONFIGMAPS, obj)
    assert (code, message) == (500, "resourceVersion should not be set on objects to be created")


@pytest.mark.parametrize(
    ("method", "query", "content_type"),
    [("PUT", "", "application/json"), ("PATCH", "&fieldManager=m", "application/apply-patch+yaml")],
)
def test_m7_what_an_update_creates_keeps_its_version_in_a_dry_run(api, method, query, content_type):
    obj = made("coordination.k8s.io/v1", "Lease", metadata={"resourceVersion": "1"})
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x"
    shown = api.ok(method, f"{path}?dryRun=All{query}", obj, content_type=content_type)
    assert shown["metadata"]["resourceVersion"] == "1"
    stored = api.ok(method, f"{path}?{query[1:]}", obj, content_type=content_type)
    assert stored["metadata"]["resourceVersion"] != "1"


@pytest.mark.parametrize("selector", ["=", "%3D%3D", "metadata.name!=x"])
def test_m13_field_selectors_that_select_all(api, selector):
    api.ok("POST", CONFIGMAPS, configmap())
    assert len(api.ok("GET", f"{CONFIGMAPS}?fieldSelector={selector}")["items"]) == 1


@pytest.mark.parametrize("owner", ["a/b/c", ""])
def test_m12_the_api_version_of_an_owner(api, owner):
    reference = {"apiVersion": owner, "kind": "K", "name": "n", "uid": "u"}
    assert api.refused("POST", CONFIGMAPS, configmap(metadata={"ownerReferences": [reference]}))[0] == 422


def test_m12_an_overhead_needs_a_runtime_class(api):
    pod = made("v1", "Pod", spec={**CONTAINERS, "overhead": {}})
    assert api.refused("POST", PODS, pod)[:2] == (403, "Forbidden")


def test_m12_tokens_of_a_driver_are_in_secrets_only_if_it_requests_tokens(api):
    driver = made("storage.k8s.io/v1", "CSIDriver", spec={"serviceAccountTokenInSecrets": True})
    assert api.refused("POST", "/apis/storage.k8s.io/v1/csidrivers", driver)[0] == 422


def test_a_network_policy_selects_all_pods_by_default(api):
    created = api.ok("POST", NETWORK_POLICIES, made("networking.k8s.io/v1", "NetworkPolicy", spec={}))
    assert created["spec"]["podSelector"] == {}


def test_secrets_of_a_service_account_keep_only_their_names(api):
    account = made("v1", "ServiceAccount", secrets=[{"name": "a", "kind": "Secret", "uid": "u"}])
    assert api.ok("POST", ACCOUNTS, account)["secrets"] == [{"name": "a"}]


@pytest.mark.parametrize(
    ("path", "obj"),
    [(CONTROLLERS, controller()), (DEVICE_CLASSES, made("resource.k8s.io/v1", "DeviceClass", spec={}))],
    ids=["ReplicationController", "DeviceClass"],
)
def test_kinds_that_validate_the_generated_name_only(api, path, obj):
    for prefix in ("a.", "x" * 260):
        created = api.ok("POST", path, {**obj, "metadata": {"generateName": prefix}})
        assert created["metadata"]["name"].startswith(prefix[:58])
    code, answer = api.call("POST", path, {**obj, "metadata": {"generateName": "A"}})
    assert (code, [one["field"] for one in answer["details"]["causes"]]) == (422, ["metadata.name"])
    message = api.refused("POST", path, {**obj, "metadata": {"name": "x" * 254}})[2]
    assert message.endswith("must be no more than 253 bytes")


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", ["invalid", "1", "1d"])
@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", configmap()), ("DELETE", b"")])
def test_a16_an_invalid_timeout(api, timeout, method, body):
    code, _, message = api.refused(method, f"{CONFIGMAPS}?timeout={timeout}", body)
    assert (code, message.startswith("invalid timeout specified in the request URL")) == (400, True)


@pytest.mark.parametrize("timeout", ["1s", "1h1m", "0", ""])
def test_a16_a_valid_timeout(api, timeout):
    assert api.call("GET", f"{CONFIGMAPS}?timeout={timeout}")[0] == 200


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
def test_a15_an_update_that_moves_a_pod_into_the_scope_of_a_quota(api, kind):
    api.ok("POST", PODS, made("v1", "Pod", spec=CONTAINERS))
    hard = {"hard": {"pods": "0"}, "scopes": ["Terminating"]}
    api.ok("POST", QUOTAS, made("v1", "ResourceQuota", "q", spec=hard))
    used = {"hard": {"pods": "0"}, "used": {"pods": "0"}}
    api.ok("PUT", f"{QUOTAS}/q/status", made("v1", "ResourceQuota", "q", spec=hard, status=used))
    code, _, message = api.refused("PATCH", f"{PODS}/x", {"spec": {"activeDeadlineSeconds": 5}}, content_type=kind)
    assert (code, "exceeded quota: q" in message) == (403, True)


PATCHES = [
    (MERGE, {"spec": {"zz": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i", "z": 1, "a": 1}]}}}, "a": 1}),
    (STRATEGIC, {"spec": {"zz": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i", "z": 1, "a": 1}]}}}, "a": 1}),
    (JSON_PATCH, [
        {"op": "add", "path": "/spec/zz", "value": 1},
        {"op": "add", "path": "/spec/template/spec/containers/0/z", "value": 1},
        {"op": "add", "path": "/spec/template/spec/containers/0/a", "value": 1},
        {"op": "add", "path": "/a", "value": 1},
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "patch"), PATCHES, ids=["merge", "strategic", "json"])
def test_unknown_fields_of_a_patch_are_sorted(api, kind, patch):
    api.ok("POST", DEPLOYMENTS, made("apps/v1", "Deployment", spec=TEMPLATED))
    container = "spec.template.spec.containers[0]"
    found = api.answer("PATCH", f"{DEPLOYMENTS}/x", patch, content_type=kind).warnings
    assert list(found) == [f'unknown field "{path}"' for path in ("a", f"{container}.a", f"{container}.z", "spec.zz")]


def test_a_page_of_events_at_any_version_has_a_following_page(api):
    for name in "ab":
        api.ok("POST", EVENTS, made("v1", "Event", name, involvedObject={"namespace": "default"}))
    page = api.ok("GET", f"{EVENTS}?limit=1&resourceVersion=0")
    assert (len(page["items"]), bool(page["metadata"].get("continue"))) == (1, True)


def test_the_storage_version_hash_of_versions_that_are_not_stored(api):
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}
        for name in ("v1", "v2")
    ]
    api.ok("POST", CRDS, definition(versions=versions))
    groups = (api.ok("GET", path)["resources"] for path in ("/apis/events.k8s.io/v1", "/api/v1"))
    events = [row["storageVersionHash"] for group in groups for row in group if row["name"] == "events"]
    assert events[0] == events[1], "Events of both groups are stored as v1"
    hashes = {api.ok("GET", f"/apis/example.com/{name}")["resources"][0]["storageVersionHash"] for name in ("v1", "v2")}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("in%20(", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("a%20in%20(b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ],
)
def test_selectors_that_end_too_early(api, selector, message):
    assert api.refused("GET", f"{CONFIGMAPS}?labelSelector={selector}")[2].endswith(message)


@pytest.fixture
def api():
    api = Api()
    api.context.uid = lambda key: "u-1"  # a valid label, which Jobs have
    return api


@pytest.mark.parametrize(
    ("path", "body", "prefix", "kept"),
    [
        ("/api/v1/namespaces/default/configmaps", {}, 5, 5),
        ("/api/v1/namespaces/default/configmaps", {}, 58, 58),
        ("/api/v1/namespaces/default/configmaps", {}, 59, 58),
        ("/api/v1/namespaces/default/configmaps", {}, 253, 58),
        ("/api/v1/namespaces/default/services", {"spec": {"ports": [{"port": 1}]}}, 59, 58),
        ("/api/v1/namespaces", {}, 63, 58),
    ],
)
def test_a_generated_name_has_63_characters_at_most(api, path, body, prefix, kept):
    created = api.ok("POST", path, {"metadata": {"generateName": "a" * prefix}, **body})
    assert created["metadata"]["name"] == "a" * kept + "xxxxx"
