"""Details of answers: preconditions in queries, statuses of deletions, selectors, metadata of status writes."""

import pytest

from tests.apiserver.api import CONFIGMAPS, DEPLOYMENTS, PODS, configmap

MERGE = {"content_type": "application/merge-patch+json"}
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


# --- deletions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["uid=other", "resourceVersion={}"])
def test_the_query_of_a_deletion_has_preconditions(api, query):
    made = api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
    api.ok("PUT", f"{CONFIGMAPS}/c", {"metadata": {"name": "c"}, "data": {"a": "b"}})
    query = query.format(made["metadata"]["resourceVersion"])
    assert api.refused("DELETE", f"{CONFIGMAPS}/c?{query}")[:2] == (409, "Conflict")
    assert api.refused("DELETE", f"{CONFIGMAPS}?{query}")[:2] == (409, "Conflict")
    api.ok("DELETE", f"{CONFIGMAPS}/c?{query}", {})  # the query does not count if there is a body


@pytest.mark.parametrize(
    ("options", "status"),
    [({"orphanDependents": False}, 202), ({"orphanDependents": True}, 200), ({"propagationPolicy": "Foreground"}, 200)],
)
def test_a_deletion_that_has_to_wait_is_accepted_only_if_dependents_are_deleted(api, options, status):
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c", "finalizers": ["a.b/c"]}})
    assert api.answer("DELETE", f"{CONFIGMAPS}/c", options).status == status


def test_a_terminating_pod_takes_another_propagation_policy(api):
    api.ok("POST", PODS, POD)
    api.ok("DELETE", f"{PODS}/p", {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0})
    pod = api.ok("DELETE", f"{PODS}/p", {"propagationPolicy": "Orphan", "gracePeriodSeconds": 0})
    assert pod["metadata"]["finalizers"] == ["orphan"]


def test_the_preconditions_of_a_namespace_have_their_own_error(api):
    api.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    message = api.refused("DELETE", f"{NAMESPACES}/n", {"preconditions": {"uid": "x"}})[2]
    assert 'on namespaces "n": Precondition failed: UID in precondition: x, UID in object meta: ' in message


# --- reads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/scale", "/status"])
def test_a_read_of_a_future_version_waits_in_vain(api, path):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert api.refused("GET", f"{DEPLOYMENTS}/d{path}?resourceVersion=99999999")[:2] == (504, "Timeout")


def test_kinds_without_a_watch_cache_do_not_suggest_a_retry(api):
    details = {}
    for collection in (EVENTS, CONFIGMAPS):
        details[collection] = api.call("GET", f"{collection}/x?resourceVersion=99999999")[1]["details"]
    assert "retryAfterSeconds" not in details[EVENTS]
    assert details[CONFIGMAPS]["retryAfterSeconds"] == 1
    assert api.refused("GET", f"{EVENTS}/x?resourceVersion=x")[0] == 400
    assert api.refused("GET", f"{CONFIGMAPS}/x?resourceVersion=x")[0] == 500


@pytest.mark.parametrize(
    ("path", "selector", "problem"),
    [
        (PODS, "status.podIPs=1.1.1.1", None),
        (PODS, "spec.host=n", None),
        (NAMESPACES, "name=n", "field label not supported: name"),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            "metadata.namespace=n",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace",
        ),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            "status.replicas=1",
            '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_field_selectors(api, path, selector, problem):
    target = f"{path}?fieldSelector={selector}"
    if problem is None:
        assert api.ok("GET", target)["items"] == []
    else:
        assert api.refused("GET", target)[2] == problem


@pytest.mark.parametrize(("method", "headers"), [("GET", {"accept": "text/html"}), ("PATCH", {"content_type": "x/y"})])
def test_requests_that_are_rejected_by_their_media_type_have_no_deprecation_warning(api, method, headers):
    path = "/api/v1/namespaces/default/endpoints/x"
    answer = api.answer(method, path, {}, **headers)
    assert answer.status in (406, 415)
    assert not answer.warnings
    assert api.answer("GET", path).warnings


# --- writes -----------------------------------------------------------------------------------------------------------


def test_a_write_of_a_status_checks_the_uid(api):
    spec = {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    api.ok("POST", ATTACHMENTS, {"metadata": {"name": "v"}, "spec": spec})
    target = f"{ATTACHMENTS}/v/status"
    assert "metadata.uid: Invalid value" in api.refused("PATCH", target, {"metadata": {"uid": "x"}}, **MERGE)[2]
    assert "labels" not in api.ok("PATCH", target, {"metadata": {"labels": {"a": "b"}}}, **MERGE)["metadata"]


def test_the_status_of_a_namespace_has_a_default_phase(api):
    api.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    assert api.ok("PUT", f"{NAMESPACES}/n/status", {"metadata": {"name": "n"}})["status"] == {"phase": "Active"}


def test_entries_of_managed_fields_without_a_manager(api):
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "b"}})
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}
    sent = {"metadata": {"name": "c", "managedFields": [{**entry, "manager": ""}]}, "data": {"a": "b"}}
    (found,) = api.ok("PUT", f"{CONFIGMAPS}/c", sent)["metadata"]["managedFields"]
    assert "manager" not in found


@pytest.mark.parametrize(
    ("features", "problems"),
    [
        (["A/b", "B"], []),
        (["a"], ["[0]: Invalid value"]),
        (["B", "A"], ['[1]: Invalid value: "A": list must be sorted alphabetically']),
        (["A", "A"], ["[1]: Duplicate value"]),
        (["A" + "x" * 253], ["must be no more than 253 characters"]),
    ],
)
def test_declared_features_of_a_node(api, features, problems):
    code, shown = api.call("POST", NODES, {"metadata": {"name": "n"}, "status": {"declaredFeatures": features}})
    assert (code == 201) == (not problems)
    assert all(problem in shown["message"] for problem in problems)


def test_the_source_of_a_claim_that_has_a_volume(api):
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"}
    api.ok("POST", claims, {"metadata": {"name": "c"}, "spec": spec})
    patch = {"spec": {"dataSource": {"kind": "A", "name": "b", "apiGroup": "x.y"}}}
    assert "dataSource" not in api.ok("PATCH", f"{claims}/c", patch, **MERGE)["spec"]


def test_an_eviction_of_the_former_version_is_accepted(api):
    api.ok("POST", PODS, POD)
    eviction = b'{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"}}'
    assert api.answer("POST", f"{PODS}/p/eviction", eviction).status == 201


def test_a_stale_binding_is_an_error_of_the_storage(api):
    api.ok("POST", PODS, POD)
    binding = {"metadata": {"name": "p", "resourceVersion": "1"}, "target": {"name": "n"}}
    message = api.refused("POST", f"{PODS}/p/binding", binding)[2]
    assert (
        'pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0' in message
    )


# --- structs in errors ------------------------------------------------------------------------------------------------


def test_changes_of_a_pod_are_shown_in_the_internal_type(api):
    api.ok("POST", PODS, POD)
    message = api.refused("PATCH", f"{PODS}/p", {"spec": {"hostNetwork": True, "hostname": "<x>"}}, **MERGE)[2]
    assert '-  "HostNetwork": false,\n+  "HostNetwork": true,\n' in message
    assert '+ "Hostname": "\\u003cx\\u003e",' in message


def test_an_immutable_claim_template_is_shown_in_the_internal_type(api):
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
    api.ok("POST", path, {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {}}}})
    change = {"spec": {"metadata": {"labels": {"a": "b"}}}}
    shown = '{"labels":{"a":"b"},"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}'
    message = api.refused("PATCH", f"{path}/t", change, **MERGE)[2]
    assert message.endswith(f"spec: Invalid value: {shown}: field is immutable")


@pytest.mark.parametrize(
    ("path", "body"),
    [(CONFIGMAPS, configmap()), ("/api/v1/namespaces/default/events", {"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}})],
)  # fmt: skip
def test_a_get_of_the_present_revision_is_answered_and_of_a_later_one_is_not(api, path, body):
    made = api.ok("POST", path, body)
    for revision in ("", "0", "1", str(api.revision - 1), str(api.revision)):
        assert api.ok("GET", f"{path}/a?resourceVersion={revision}") == made
    code, reason, message = api.refused("GET", f"{path}/a?resourceVersion={api.revision + 1}")
    assert (code, reason) == (504, "Timeout")
    assert message.endswith(f"Too large resource version: {api.revision + 1}, current: {api.revision}")


def test_the_series_of_an_event_has_its_count_also_if_it_is_zero(api):
    about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "r", "message": "m"}
    event = {"metadata": {"name": "e"}, "type": "Normal", "series": {}, **about}
    api.ok("POST", "/api/v1/namespaces/default/events", event)
    assert api.ok("GET", f"{EVENTS}/e")["series"] == {"count": 0, "lastObservedTime": None}
