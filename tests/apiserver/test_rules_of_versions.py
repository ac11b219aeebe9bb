"""Rules that came with a version: what the versions before and after answer.

The dates are those of the source of each minor version; scenarios recorded from real servers are replayed by
tests/conformance.
"""

import base64

import orjson
import pytest

from tests.apiserver.api import CONFIGMAPS, CRDS, DEPLOYMENTS, PODS, Api, configmap, definition, pod

APPS, BATCH, STORAGE = "/apis/apps/v1", "/apis/batch/v1", "/apis/storage.k8s.io/v1"
CONTAINERS = [{"name": "c", "image": "i"}]


def api(minor, **more):
    return Api(version=f"1.{minor}", **more)


def versions(last):
    """The versions on both sides of a change, with whether the change holds."""
    return [(last - 1, False), (last, True)]


def created_pod(server, **spec):
    return server.ok("POST", PODS, pod(spec={"containers": CONTAINERS, **spec}))


@pytest.mark.parametrize(("minor", "new"), versions(34))
def test_a_template_has_a_creation_timestamp_until_1_33(minor, new):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    shown = api(minor).ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert ("creationTimestamp" not in shown["spec"]["template"]["metadata"]) is new


@pytest.mark.parametrize(("minor", "new"), versions(33))
def test_pods_have_a_generation(minor, new):
    assert ("generation" in created_pod(api(minor))["metadata"]) is new


@pytest.mark.parametrize(("minor", "new"), versions(32))
def test_the_class_of_a_pod_survives_a_status_without_it(minor, new):
    server = api(minor)
    created_pod(server)
    shown = server.ok("PUT", f"{PODS}/a/status", pod(spec={"containers": CONTAINERS}, status={"phase": "Running"}))
    assert ("qosClass" in shown["status"]) is new


@pytest.mark.parametrize(("gates", "opens"), [({}, False), ({"WatchList": True}, True)])
def test_a_watch_with_initial_events_needs_its_gate(gates, opens):
    response = api(31, feature_gates=gates).answer(
        "GET", f"{CONFIGMAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    )
    assert (response.watch is not None) is opens
    if not opens:
        shown = response.body.to_object()
        why = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        assert [cause["message"] for cause in shown["details"]["causes"]] == [why]


def bookmark(server, **headers):
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    (event,) = server.answer("GET", f"{CONFIGMAPS}?{query}", **headers).watch.initial
    return event.entry.object["metadata"]


@pytest.mark.parametrize(("minor", "blueprint"), [(31, False), (32, True), (33, True), (34, False)])
def test_the_bookmark_after_initial_events_has_an_empty_list_in_1_32_and_1_33(minor, blueprint):
    meta = bookmark(api(minor, feature_gates={"WatchList": True}))
    assert meta["annotations"]["k8s.io/initial-events-end"] == "true"
    assert ("kubernetes.io/initial-events-list-blueprint" in meta["annotations"]) is blueprint
    assert ("creationTimestamp" in meta) is (minor < 34)


@pytest.mark.parametrize(
    ("accept", "kind", "version"),
    [
        ("application/json", "ConfigMapList", "v1"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "PartialObjectMetadataList", "meta.k8s.io/v1"),
    ],
)
def test_the_empty_list_of_a_bookmark_is_that_of_the_watched_kind(accept, kind, version):
    meta = bookmark(api(33, feature_gates={"WatchList": True}), accept=accept)
    found = orjson.loads(base64.b64decode(meta["annotations"]["kubernetes.io/initial-events-list-blueprint"]))
    assert found == {"kind": kind, "apiVersion": version, "metadata": {}, "items": None}


@pytest.mark.parametrize(("query", "last"), [("", 33), ("&limit=2", 0), ("&resourceVersionMatch=Exact", 0)])
def test_a_list_of_a_version_that_is_no_number_is_500_from_the_cache_before_1_33(query, last):
    for minor in (32, 33):
        code = api(minor).call("GET", f"{CONFIGMAPS}?resourceVersion=abc{query}")[0]
        assert code == (400 if minor >= last else 500)


@pytest.mark.parametrize(("minor", "code"), [(33, 500), (34, 504)])
def test_a_list_of_exactly_a_future_version(minor, code):
    assert api(minor).call("GET", f"{CONFIGMAPS}?resourceVersion=9000000&resourceVersionMatch=Exact")[0] == code
    assert api(minor).call("GET", f"{CONFIGMAPS}?resourceVersion=9000000&resourceVersionMatch=NotOlderThan")[0] == 504


@pytest.mark.parametrize(("minor", "code"), [(34, 500), (35, 400)])
@pytest.mark.parametrize("body", [b'{"kind":"Pod"}', b"{", {"gracePeriodSeconds": "x"}, {"preconditions": {"uid": 1}}])
def test_options_of_a_delete_that_cannot_be_decoded(minor, code, body):
    server = api(minor)
    server.ok("POST", CONFIGMAPS, configmap())
    assert server.refused("DELETE", f"{CONFIGMAPS}/a", body, content_type="application/json")[0] == code


@pytest.mark.parametrize(
    ("minor", "name", "accepted"), [(35, "1a", False), (36, "1a", True), (35, "a1", True), (36, "a.b", False)]
)
def test_names_of_services_are_relaxed_by_their_gate(minor, name, accepted):
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    assert (api(minor).call("POST", "/api/v1/namespaces/default/services", body)[0] == 201) is accepted


def test_names_of_services_follow_the_gate_and_not_the_version():
    body = {"metadata": {"name": "1a"}, "spec": {"ports": [{"port": 80}]}}
    server = api(34, feature_gates={"RelaxedServiceNameValidation": True})
    assert server.call("POST", "/api/v1/namespaces/default/services", body)[0] == 201


@pytest.mark.parametrize(
    ("minor", "name", "accepted"),
    [
        (31, "a b", False),
        (32, "a b", True),
        (31, "a-b.c", True),
        (31, "1a", False),
        (31, "..a", False),
        (32, "a=b", False),
    ],
)
def test_names_of_environment_variables_are_relaxed_by_their_gate(minor, name, accepted):
    containers = [{**CONTAINERS[0], "env": [{"name": name, "value": "x"}]}]
    assert (api(minor).call("POST", PODS, pod(spec={"containers": containers}))[0] == 201) is accepted


@pytest.mark.parametrize(("minor", "new"), versions(33))
def test_endpoints_are_deprecated(minor, new):
    response = api(minor).answer("GET", "/api/v1/namespaces/default/endpoints")
    assert bool(response.warnings) is new


@pytest.mark.parametrize(("minor", "kind"), [(32, "deployments/scale"), (33, "deployments")])
def test_the_scale_of_a_missing_object(minor, kind):
    shown = api(minor).call("GET", f"{DEPLOYMENTS}/none/scale")[1]
    assert (shown["code"], shown["details"]["kind"]) == (404, kind)


def test_the_scale_of_a_missing_stateful_set_names_the_set_in_all_versions():
    shown = api(32).call("GET", f"{APPS}/namespaces/default/statefulsets/none/scale")[1]
    assert shown["details"]["kind"] == "statefulsets"


@pytest.mark.parametrize(("minor", "reason"), [(35, "FieldValueForbidden"), (36, "FieldValueInvalid")])
def test_a_storage_class_keeps_its_provisioner(minor, reason):
    server = api(minor)
    body = {"metadata": {"name": "c"}, "provisioner": "example.com/p"}
    server.ok("POST", f"{STORAGE}/storageclasses", body)
    shown = server.call("PUT", f"{STORAGE}/storageclasses/c", {**body, "provisioner": "example.com/q"})[1]
    assert [cause["reason"] for cause in shown["details"]["causes"]] == [reason]


def causes(server, path, body):
    shown = server.call("POST", path, body)[1]
    return [(cause["field"], cause["reason"]) for cause in shown["details"]["causes"]]


@pytest.mark.parametrize(("minor", "reason"), [(35, "FieldValueInvalid"), (36, "FieldValueRequired")])
def test_an_autoscaler_needs_a_maximum(minor, reason):
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert causes(api(minor), path, {"metadata": {"name": "a"}, "spec": spec})[0] == ("spec.maxReplicas", reason)


@pytest.mark.parametrize(("minor", "checked"), versions(34))
def test_the_version_of_an_autoscalers_target_is_checked(minor, checked):
    spec = {"scaleTargetRef": {"apiVersion": "v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 1}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    code = api(minor).call("POST", path, {"metadata": {"name": "a"}, "spec": spec})[0]
    assert (code == 422) is checked


@pytest.mark.parametrize(("minor", "new"), versions(33))
def test_the_history_limit_of_a_stateful_set_can_change(minor, new):
    server = api(minor)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "s"}
    path = f"{APPS}/namespaces/default/statefulsets"
    made = server.ok("POST", path, {"metadata": {"name": "s"}, "spec": spec})
    made = {**made, "spec": {**made["spec"], "revisionHistoryLimit": 3}}
    assert (server.call("PUT", f"{path}/s", made)[0] == 200) is new


@pytest.mark.parametrize(
    ("path", "minor", "column", "has"),
    [
        ("/api/v1/namespaces/default/serviceaccounts", 34, "Secrets", True),
        ("/api/v1/namespaces/default/serviceaccounts", 35, "Secrets", False),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", 31, "PreemptionPolicy", False),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", 32, "PreemptionPolicy", True),
    ],
)
def test_columns_of_tables(path, minor, column, has):
    shown = api(minor).ok("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert (column in [one["name"] for one in shown["columnDefinitions"]]) is has


@pytest.mark.parametrize(("minor", "shown"), [(35, "6.1"), (36, "6.1 (arm64)")])
def test_the_table_of_nodes_shows_the_architecture(minor, shown):
    server = api(minor)
    info = {"kernelVersion": "6.1", "architecture": "arm64"}
    server.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"nodeInfo": info}})
    rows = server.ok("GET", "/api/v1/nodes", accept="application/json;as=Table;v=v1;g=meta.k8s.io")["rows"]
    assert shown in rows[0]["cells"]


@pytest.mark.parametrize(("minor", "code"), [(33, 405), (34, 403)])
def test_a_new_object_of_a_definition_that_ends(minor, code):
    server = api(minor)
    server.ok("POST", CRDS, definition())
    path = "/apis/example.com/v1/namespaces/default/backups"
    held = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a", "finalizers": ["x.io/y"]}}
    server.ok("POST", path, held)
    server.ok("DELETE", f"{CRDS}/backups.example.com")
    assert server.call("POST", path, {**held, "metadata": {"name": "b"}})[0] == code


def ruled(rule, **schema):
    spec = {
        "type": "object",
        "properties": {"l": {"type": "array", "maxItems": 5, "items": {"type": "integer"}}, **schema},
    }
    spec["x-kubernetes-validations"] = [{"rule": rule}]
    whole = {"type": "object", "properties": {"spec": spec}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return definition(versions=[one])


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("self.l.distinct().size() > 0", 35),
        ("lists.range(3).size() > 0", 35),
        ("self.l.sortBy(x, x).size() > 0", 35),
        ("isSemver('1.0.0')", 34),
        ("semver('1.0.0').major() == 1", 34),
        ("self.l.all(i, v, i < v)", 33),
        ("self.l.transformList(i, v, v).size() > 0", 33),
        ("!format.dns1123Label().validate('a').hasValue()", 31),
        ("isIP('1.2.3.4')", 30),
        ("cidr('1.2.3.0/24').prefixLength() == 24", 30),
        ("sets.contains(self.l, [1])", 30),
        ("'%d'.format([1]) == '1'", 30),
        ("quantity('1').isGreaterThan(quantity('0'))", 29),
        ("self.l[?0].hasValue()", 29),
        ("optional.of(1).hasValue()", 29),
        ("1 < 1.5", 29),
    ],
)
def test_a_function_of_an_expression_can_be_used_one_version_after_it_came(rule, first):
    codes = {minor: api(minor).call("POST", CRDS, ruled(rule))[0] for minor in (first - 1, first)}
    assert codes == {first - 1: 422, first: 201}


@pytest.mark.parametrize(("minor", "code"), [(34, 422), (35, 200)])
def test_an_object_that_loses_all_its_fields_to_an_apply_is_null_before_1_35(minor, code):
    server = api(minor)
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    server.ok("POST", CRDS, ruled("true", o=inner))
    path = "/apis/example.com/v1/namespaces/default/backups/a?fieldManager=m&force=true"
    body = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a"}, "spec": {"o": {"a": "x"}}}
    how = {"content_type": "application/apply-patch+yaml"}
    server.ok("PATCH", path, body, **how)
    assert server.call("PATCH", path, {**body, "spec": {"o": {}}}, **how)[0] == code


@pytest.mark.parametrize(("minor", "new"), versions(36))
@pytest.mark.parametrize("value", [2**31, 2**31 - 1])
def test_the_range_of_an_int32_is_checked(minor, new, value):
    server = api(minor)
    server.ok("POST", CRDS, ruled("true", i={"type": "integer", "format": "int32"}))
    body = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a"}, "spec": {"i": value}}
    code = server.call("POST", "/apis/example.com/v1/namespaces/default/backups", body)[0]
    assert code == (422 if new and value >= 2**31 else 201)


@pytest.mark.parametrize(("minor", "kept"), [(35, False), (36, True)])
def test_fields_of_a_feature_that_is_off_are_dropped(minor, kept):
    device = {"name": "d", "allowMultipleAllocations": True}
    spec = {
        "devices": [device],
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "resourceSliceCount": 1},
    }
    body = {"metadata": {"name": "s"}, "spec": spec}
    shown = api(minor).ok("POST", "/apis/resource.k8s.io/v1/resourceslices", body)
    assert ("allowMultipleAllocations" in shown["spec"]["devices"][0]) is kept


@pytest.mark.parametrize("minor", [33, 36])
def test_the_condition_of_a_jobs_failure_policy_is_true_by_default(minor):
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"metadata": {"name": "j"}, "spec": {**spec, "podFailurePolicy": policy}}
    shown = api(minor).ok("POST", f"{BATCH}/namespaces/default/jobs", body)
    assert shown["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


@pytest.mark.parametrize(("minor", "code"), [(31, 422), (32, 201)])
@pytest.mark.parametrize("name", ["namespace", "return", "if", "for", "import"])
def test_a1_a_field_with_a_reserved_name_is_selected_directly(minor, code, name):
    server = api(minor)
    rule = f"self.{name} != 'x'"
    assert server.call("POST", CRDS, ruled(rule, **{name: {"type": "string"}}))[0] == code
    if code == 201:
        path = "/apis/example.com/v1/namespaces/default/backups"
        body = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "a"}}
        assert server.call("POST", path, {**body, "spec": {name: "x"}})[0] == 422
        assert server.call("POST", path, {**body, "spec": {name: "y"}})[0] == 201


@pytest.mark.parametrize(("minor", "code"), [(33, 201), (34, 422)])
def test_the_pods_of_a_stateful_set_are_validated(minor, code):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "s"}
    path = f"{APPS}/namespaces/default/statefulsets"
    assert api(minor).call("POST", path, {"metadata": {"name": "s"}, "spec": spec})[0] == code


@pytest.mark.parametrize("minor", [33, 34])
@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_a5_the_controller_sets_the_names_of_pods_of_a_stateful_set(minor, field):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS, field: "Not_A_Name"}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "serviceName": "s"}
    path = f"{APPS}/namespaces/default/statefulsets"
    assert api(minor).call("POST", path, {"metadata": {"name": "s"}, "spec": spec})[0] == 201


@pytest.mark.parametrize(("minor", "new"), versions(31))
def test_services_can_be_selected_by_type(minor, new):
    path = "/api/v1/namespaces/default/services?fieldSelector=spec.type%3DClusterIP"
    assert (api(minor).call("GET", path)[0] == 200) is new


@pytest.mark.parametrize(("minor", "new"), versions(31))
def test_a_gated_pod_says_since_when(minor, new):
    status = created_pod(api(minor), schedulingGates=[{"name": "example.com/g"}])["status"]
    assert (status["conditions"][0]["lastTransitionTime"] is not None) is new


@pytest.mark.parametrize(("gates", "kept"), [({}, False), ({"CustomResourceFieldSelectors": True}, True)])
def test_selectable_fields_are_kept_by_their_gate(gates, kept):
    body = ruled("true", color={"type": "string"})
    body["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.color"}]
    shown = api(30, feature_gates=gates).ok("POST", CRDS, body)
    assert ("selectableFields" in shown["spec"]["versions"][0]) is kept


@pytest.mark.parametrize(("minor", "code"), [(30, 201), (31, 422)])
def test_a_literal_format_is_checked_when_it_compiles(minor, code):
    assert api(minor).call("POST", CRDS, ruled("'%d'.format(['a']) == ''"))[0] == code


SINCE_1_37 = [
    pytest.param("/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests", "PodCertificateRequest"),
    pytest.param("/apis/certificates.k8s.io/v1/clustertrustbundles", "ClusterTrustBundle"),
    pytest.param("/apis/resource.k8s.io/v1/devicetaintrules", "DeviceTaintRule"),
    pytest.param("/apis/storagemigration.k8s.io/v1/storageversionmigrations", "StorageVersionMigration"),
]


@pytest.mark.parametrize(("path", "kind"), SINCE_1_37)
def test_an_update_of_a_kind_of_1_37_needs_a_resource_version(path, kind):
    server = api(37)
    group, version = path.split("/")[2:4]
    body = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    made = server.ok("POST", path, body)
    code, reason, message = server.refused("PUT", f"{path}/x", body)
    assert (code, reason) == (422, "Invalid")
    assert message.endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    version = {"name": "x", "resourceVersion": made["metadata"]["resourceVersion"]}
    server.ok("PUT", f"{path}/x", {**body, "metadata": version})


@pytest.mark.parametrize(("path", "kind"), [one for one in SINCE_1_37 if "bundles" not in one.values[0]])
def test_a_status_of_a_kind_of_1_37_changes_no_metadata(path, kind):
    server = api(37)
    group, version = path.split("/")[2:4]
    body = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    meta = server.ok("POST", path, body)["metadata"]
    sent = {**body, "metadata": {**meta, "labels": {"a": "b"}}, "status": {"conditions": []}}
    assert "labels" not in server.ok("PUT", f"{path}/x/status", sent)["metadata"]


def test_the_generation_of_a_taint_rule_counts_changes_of_its_spec():
    server, path = api(37), "/apis/resource.k8s.io/v1/devicetaintrules"
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "spec": {"taint": taint}}
    meta = server.ok("POST", path, {**body, "metadata": {"name": "x"}})["metadata"]
    assert meta["generation"] == 1
    labeled = server.ok("PUT", f"{path}/x", {**body, "metadata": {**meta, "labels": {"a": "b"}}})["metadata"]
    assert labeled["generation"] == 1
    changed = {**body, "metadata": labeled, "spec": {"taint": {**taint, "effect": "NoExecute"}}}
    assert server.ok("PUT", f"{path}/x", changed)["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("clustertrustbundles", "spec.signerName"),
        ("namespaces/default/podcertificaterequests", "spec.signerName"),
        ("namespaces/default/podcertificaterequests", "spec.podName"),
        ("namespaces/default/podcertificaterequests", "spec.serviceAccountName"),
        ("namespaces/default/podcertificaterequests", "spec.nodeName"),
    ],
)
def test_certificates_of_1_37_are_selected_by_their_fields(path, field):
    server, path = api(37), f"/apis/certificates.k8s.io/v1/{path}"
    for name in ("a", "b"):
        spec = {field.removeprefix("spec."): f"example.com/{name}"}
        server.ok("POST", path, {"metadata": {"name": name}, "spec": spec})
    found = server.ok("GET", f"{path}?fieldSelector={field}%3Dexample.com/b")["items"]
    assert [one["metadata"]["name"] for one in found] == ["b"]
    assert server.refused("GET", f"{path}?fieldSelector=spec.x%3D1")[2] == "field label not supported: spec.x"
