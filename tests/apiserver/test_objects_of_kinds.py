"""Objects of each built-in kind: their generation, their finalizers, their selectors and what a delete answers."""

import pytest

from fakekube.apiserver.registry.builtin import STRATEGIES
from fakekube.server import bootstrap
from tests.apiserver.api import Api
from tests.apiserver.bodies import BODIES, body_of, recorded_bodies
from tests.apiserver.test_rules_of_kinds import OF_SPEC, PLAIN_FINALIZERS, RETURNED, STATUS_RESETS

KINDS = {
    f"{one.qualified}/{one.version}": one
    for one in bootstrap._resources(bootstrap.KUBERNETES_VERSION)
    if one.qualified in STRATEGIES
    and {"create", "update"} <= set(one.verbs)
    and ((one.group, one.version, one.plural) in recorded_bodies() or (one.group, one.plural) in BODIES)
}
WITH_STATUS = {kind: one for kind, one in KINDS.items() if "status" in one.subresources}

#: Kinds whose new objects have the generation 1, besides those that count changes of the spec.
FIRST = {
    "endpointslices.discovery.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "podtemplates",
    "priorityclasses.scheduling.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
}
#: A CSIDriver has a generation only after the first change of its spec.
LATER = {"csidrivers.storage.k8s.io"}

#: Kinds whose dependents a delete orphans by default: the object waits for the garbage collector.
ORPHANS = {"jobs.batch", "replicationcontrollers"}

#: Kinds whose status keeps labels without `ResetObjectMetaForStatus`.
KEEP_LABELS = {"apiservices.apiregistration.k8s.io", "deployments.apps"}

#: Kinds with field labels of their own -> the error of another one.
SUPPORTED = dict.fromkeys(
    ("certificatesigningrequests.certificates.k8s.io", "events", "events.events.k8s.io", "namespaces", "nodes", "pods",
     "replicationcontrollers", "secrets", "services"),
    "field label not supported: spec.x",
) | {
    "jobs.batch": 'field label "spec.x" not supported for Job',
    "resourceslices.resource.k8s.io": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x",
}  # fmt: skip
ANY = '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'


@pytest.fixture
def api():
    api = Api()
    api.context.uid = lambda key: "u-1"  # a valid label: those of a Job have its uid
    return api


def collection(resource):
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    return f"{root}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"


def body(resource, **meta):
    found = body_of(resource)
    given = {key: value for key, value in found["metadata"].items() if key != "namespace"}
    return {**found, "metadata": {"name": "x", **given, **meta}}


@pytest.mark.parametrize("kind", KINDS)
def test_the_generation_of_a_new_object(api, kind):
    resource = KINDS[kind]
    path, counts = f"{collection(resource)}?dryRun=All", resource.qualified in (OF_SPEC | FIRST) - LATER
    assert api.ok("POST", path, body(resource))["metadata"].get("generation") == (1 if counts else None)
    assert api.ok("POST", path, body(resource, generation=7))["metadata"]["generation"] == (1 if counts else 7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_finalizer_without_a_domain(api, kind):
    resource = KINDS[kind]
    path = f"{collection(resource)}?dryRun=All"
    code, found = api.call("POST", path, body(resource, finalizers=["plain"]))
    if resource.qualified in PLAIN_FINALIZERS:
        assert code == 201
    else:
        causes = [one["field"] for one in found["details"]["causes"]]
        assert (code, set(causes)) == (422, {"metadata.finalizers[0]"})
    assert api.call("POST", path, body(resource, finalizers=["example.com/a"]))[0] == 201


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_delete_answers(api, kind):
    resource = KINDS[kind]
    sent = body(resource)
    api.ok("POST", collection(resource), sent)
    found = api.ok("DELETE", f"{collection(resource)}/{sent['metadata']['name']}?dryRun=All")
    assert found["kind"] == (resource.kind if resource.qualified in RETURNED | ORPHANS else "Status")


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_label_that_is_not_supported(api, kind):
    resource = KINDS[kind]
    code, reason, why = api.refused("GET", f"{collection(resource)}?fieldSelector=spec.x%3D1")
    assert (code, reason, why) == (400, "BadRequest", SUPPORTED.get(resource.qualified, ANY))


@pytest.mark.parametrize("kind", WITH_STATUS)
def test_what_of_metadata_a_status_changes(api, kind):
    resource = WITH_STATUS[kind]
    name = api.ok("POST", collection(resource), body(resource, labels={"a": "b"}))["metadata"]["name"]
    made = api.ok("GET", f"{collection(resource)}/{name}")  # the server may have completed its status
    sent = {**made, "metadata": {**made["metadata"], "labels": {"a": "c"}, "generation": 9}}
    path = f"{collection(resource)}/{name}/status"
    found = api.ok("PUT", f"{path}?dryRun=All", {**sent, "apiVersion": resource.api_version, "kind": resource.kind})
    assert found["metadata"].get("generation") == made["metadata"].get("generation")
    assert found["metadata"]["labels"]["a"] == ("b" if resource.qualified in STATUS_RESETS | KEEP_LABELS else "c")
    assert found.get("spec") == made.get("spec")


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_validated_in_new_and_in_changed_objects(api, kind):
    resource, wrong = KINDS[kind], {"a": "b c"}
    code, found = api.call("POST", f"{collection(resource)}?dryRun=All", body(resource, labels=wrong))
    assert (code, {one["field"] for one in found["details"]["causes"]}) == (422, {"metadata.labels"})
    name = api.ok("POST", collection(resource), body(resource))["metadata"]["name"]
    made = api.ok("GET", f"{collection(resource)}/{name}")
    sent = {**made, "metadata": {**made["metadata"], "labels": {**made["metadata"].get("labels", {}), **wrong}}}
    code, found = api.call("PUT", f"{collection(resource)}/{name}", sent)
    assert (code, {one["field"] for one in found["details"]["causes"]}) == (422, {"metadata.labels"})
