"""Fields of features that are off: a write drops them, in pods, in templates, and in the other kinds that have some."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.registry.generic.gatedfields import REMOVED, GatedFields, uses, without
from tests.apiserver.api import DEPLOYMENTS, PODS, Api, pod

Object = dict[str, Any]

MERGE = {"content_type": "application/merge-patch+json"}
LABELS = {"matchLabels": {"a": "b"}}
USUAL = {"name": "c", "image": "i"}


def found(value: Any, path: str) -> Any:
    """What is at the path, with the indexes of lists; None where nothing is."""
    for step in path.split("."):
        if value is None:
            return None
        value = value[int(step)] if step.isdigit() else value.get(step)
    return value


def with_container(**fields: Any) -> Object:
    return {"containers": [{**USUAL, **fields}]}


def with_volume(**source: Any) -> Object:
    mounts = [{"name": "v", "mountPath": "/v"}]
    return {"containers": [{**USUAL, "volumeMounts": mounts}], "volumes": [{"name": "v", **source}]}


def projected(**source: Any) -> Object:
    return with_volume(projected={"sources": [source, {"secret": {"name": "s"}}]})


SPREAD = {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": LABELS}
TERM = {"topologyKey": "k", "labelSelector": LABELS}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
BUNDLE = {"name": "b", "path": "p"}

#: The version, the gate, a spec, and where the field is.
FIELDS = [
    (36, "GenericWorkload", {"schedulingGroup": {"podGroupName": "g"}}, "schedulingGroup.podGroupName"),
    (36, "ContainerStopSignals", {"os": {"name": "linux"}, **with_container(lifecycle={"stopSignal": "SIGTERM"})}, "containers.0.lifecycle"),
    (36, "ClusterTrustBundleProjection", projected(clusterTrustBundle=BUNDLE), "volumes.0.projected.sources.0.clusterTrustBundle"),
    (34, "HostnameOverride", {"hostnameOverride": "h"}, "hostnameOverride"),
    (34, "ContainerRestartRules", with_container(restartPolicy="Never"), "containers.0.restartPolicy"),
    (33, "PodLevelResources", {"resources": {"limits": {"cpu": "1"}}}, "resources"),
    (32, "InPlacePodVerticalScaling", with_container(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]), "containers.0.resizePolicy"),
    (32, "SELinuxChangePolicy", {"securityContext": {"seLinuxChangePolicy": "Recursive"}}, "securityContext.seLinuxChangePolicy"),
    (32, "UserNamespacesSupport", {"hostUsers": False}, "hostUsers"),
    (31, "SupplementalGroupsPolicy", {"securityContext": {"supplementalGroupsPolicy": "Merge"}}, "securityContext.supplementalGroupsPolicy"),
    (30, "RecursiveReadOnlyMounts", {"containers": [{**USUAL, "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Enabled"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}, "containers.0.volumeMounts.0.recursiveReadOnly"),
    (29, "PodLifecycleSleepAction", with_container(lifecycle={"preStop": {"sleep": {"seconds": 1}}}), "containers.0.lifecycle"),
    (30, "MatchLabelKeysInPodAffinity", {"affinity": {"podAffinity": {REQUIRED: [{**TERM, "matchLabelKeys": ["x"]}]}}}, f"affinity.podAffinity.{REQUIRED}.0.matchLabelKeys"),
    (30, "MatchLabelKeysInPodAffinity", {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {**TERM, "matchLabelKeys": ["x"]}}]}}}, f"affinity.podAntiAffinity.{PREFERRED}.0.podAffinityTerm.matchLabelKeys"),
    (26, "PodSchedulingReadiness", {"schedulingGates": [{"name": "e.com/g"}]}, "schedulingGates"),
    (25, "NodeInclusionPolicyInPodTopologySpread", {"topologySpreadConstraints": [{**SPREAD, "nodeTaintsPolicy": "Honor"}]}, "topologySpreadConstraints.0.nodeTaintsPolicy"),
]  # fmt: skip


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize(("minor", "gate", "spec", "path"), FIELDS)
def test_a_pod_has_a_field_if_its_feature_is_on(minor: int, gate: str, spec: Object, path: str, enabled: bool) -> None:
    server = Api(version=f"1.{minor}", feature_gates={gate: enabled})
    shown = server.ok("POST", PODS, pod(spec={"containers": [USUAL], **spec}))["spec"]
    assert (found(shown, path) is not None) is enabled


@pytest.mark.parametrize("enabled", [False, True])
def test_a_volume_that_is_an_image_goes_with_its_mounts(enabled: bool) -> None:
    server = Api(version="1.34", feature_gates={"ImageVolume": enabled})
    shown = server.ok("POST", PODS, pod(spec=with_volume(image={"reference": "r", "pullPolicy": "Always"})))["spec"]
    assert ("volumes" in shown, "volumeMounts" in shown["containers"][0]) == (enabled, enabled)


def test_a_mount_of_proc_becomes_the_default() -> None:
    server = Api(version="1.32")
    spec = with_container(securityContext={"procMount": "Unmasked"})
    shown = server.ok("POST", PODS, pod(spec=spec))["spec"]
    assert shown["containers"][0]["securityContext"]["procMount"] == "Default"


def deployment(**spec: Any) -> Object:
    template = {"metadata": {"labels": LABELS["matchLabels"]}, "spec": {"containers": [USUAL], **spec}}
    return {"metadata": {"name": "d"}, "spec": {"selector": LABELS, "template": template}}


def test_templates_lose_the_fields_too() -> None:
    server = Api(version="1.32")
    shown = server.ok("POST", DEPLOYMENTS, deployment(hostUsers=False))
    assert "hostUsers" not in shown["spec"]["template"]["spec"]
    again = server.ok("PUT", f"{DEPLOYMENTS}/d", deployment(hostUsers=False))
    assert again["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("stored", "kept"), [({"hostnameOverride": "h"}, True), ({"hostnameOverride": None}, False), ({}, False)]
)
def test_a_stored_field_can_be_changed(stored: Object, kept: bool) -> None:
    token = features.use(features.features_of("1.34"))
    try:
        gated = GatedFields(("HostnameOverride", ("spec.hostnameOverride",)))
        new = gated.drop_disabled({"spec": {"hostnameOverride": "i"}}, {"spec": stored})
    finally:
        features.leave(token)
    assert ("hostnameOverride" in new["spec"]) is kept


#: The version, the path of the collection, the object, and where the field of a feature that is off is.
KINDS = [
    (36, "/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "x"}, "spec": {"selector": LABELS, "serviceName": "s", "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}, "template": deployment()["spec"]["template"]}}, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
    (31, "/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": "x"}, "spec": {"managedBy": "e.com/m", "manualSelector": True, "selector": LABELS, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [USUAL]}}}}, "spec.managedBy"),
    (33, "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeAttributesClassName": "v"}}, "spec.volumeAttributesClassName"),
    (34, "/apis/storage.k8s.io/v1/csidrivers", {"metadata": {"name": "x.e.com"}, "spec": {"nodeAllocatableUpdatePeriodSeconds": 2}}, "spec.nodeAllocatableUpdatePeriodSeconds"),
    (34, "/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "x"}, "spec": {"extendedResourceName": "A"}}, "spec.extendedResourceName"),
    (33, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {"metadata": {"name": "x"}, "spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "D", "name": "d", "apiVersion": "apps/v1"}, "behavior": {"scaleUp": {"tolerance": "1"}}}}, "spec.behavior.scaleUp.tolerance"),
    (33, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"], "hints": {"forNodes": [{"name": "n"}]}}]}, "endpoints.0.hints.forNodes"),
]  # fmt: skip


@pytest.mark.parametrize(("minor", "path", "obj", "field"), KINDS)
def test_other_kinds_lose_the_fields_of_features_that_are_off(minor: int, path: str, obj: Object, field: str) -> None:
    assert found(obj, field) is not None
    assert found(Api(version=f"1.{minor}").ok("POST", path, obj), field) is None


@pytest.mark.parametrize(
    ("minor", "gate", "status", "field"),
    [
        (33, "PodObservedGenerationTracking", {"observedGeneration": 3}, "observedGeneration"),
        (34, "DRAExtendedResource", {"extendedResourceClaimStatus": {"requestMappings": [{"containerName": ""}]}}, "extendedResourceClaimStatus"),
        (34, "InPlacePodVerticalScaling", {"containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}, "containerStatuses.0.resources"),
        (34, "SupplementalGroupsPolicy", {"containerStatuses": [{"name": "c", "user": {}}]}, "containerStatuses.0.user"),
        (35, "ResourceHealthStatus", {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [{"name": "cpu"}]}]}, "containerStatuses.0.allocatedResourcesStatus"),
    ],
)  # fmt: skip
def test_the_status_of_a_pod_loses_them(minor: int, gate: str, status: Object, field: str) -> None:
    server = Api(version=f"1.{minor}", feature_gates={gate: False})
    server.ok("POST", PODS, pod(spec={"containers": [USUAL]}))
    assert found(status, field) is not None
    shown = server.ok("PATCH", f"{PODS}/a/status", {"status": status}, **MERGE)
    assert found(shown["status"], field) is None


def test_a_status_kept_its_fields_before_1_33() -> None:
    server = Api(version="1.32")
    server.ok("POST", PODS, pod(spec={"containers": [USUAL]}))
    status = {"containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}
    shown = server.ok("PATCH", f"{PODS}/a/status", {"status": status}, **MERGE)
    assert found(shown["status"], "containerStatuses.0.resources") == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(("method", "kept"), [("PUT", False), ("PATCH", True)])
def test_the_features_of_a_node_are_dropped_with_its_specification_only(method: str, kept: bool) -> None:
    server, status = Api(version="1.31"), {"features": {"supplementalGroupsPolicy": True}}
    server.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    if kept:
        shown = server.ok("PATCH", "/api/v1/nodes/n/status", {"status": status}, **MERGE)
    else:
        shown = server.ok("PUT", "/api/v1/nodes/n", {"metadata": {"name": "n"}, "status": status})
    assert ("features" in shown["status"]) is kept


@pytest.mark.parametrize(("minor", "owned"), [(32, False), (33, True)])
def test_who_owns_ephemeral_containers(minor: int, owned: bool) -> None:
    server = Api(version=f"1.{minor}")
    server.ok("POST", PODS, pod(spec={"containers": [USUAL]}))
    change = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
    patched = server.ok("PATCH", f"{PODS}/a/ephemeralcontainers", change, **MERGE)
    subresources = [one.get("subresource") for one in patched["metadata"]["managedFields"]]
    assert ("ephemeralcontainers" in subresources) is owned
    assert patched["spec"]["ephemeralContainers"][0]["name"] == "d"


@pytest.mark.parametrize(
    ("rolling", "shown"),
    [({"maxUnavailable": 2}, {"partition": 0, "maxUnavailable": 2}), ({}, {"partition": 0, "maxUnavailable": 1})],
)
def test_unavailable_pods_of_a_stateful_set_have_a_default_with_their_feature(rolling: Object, shown: Object) -> None:
    server = Api(feature_gates={"MaxUnavailableStatefulSet": True})
    spec = {**deployment()["spec"], "serviceName": "s", "updateStrategy": {"rollingUpdate": rolling}}
    made = server.ok("POST", "/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "x"}, "spec": spec})
    assert made["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": shown}


# --- the paths of the tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "path", "left"),
    [
        ({"a": 1, "b": 2}, "a", {"b": 2}),
        ({"b": 2}, "a", {"b": 2}),
        ({"a": None}, "a", {}),
        ({"s": {"a": 1}}, "s.a", {"s": {}}),
        ({"s": {"a": 1}}, "s?.a", {}),
        ({"s": {"a": 1, "b": 2}}, "s?.a", {"s": {"b": 2}}),
        ({"l": [{"a": 1}, {"b": 2}]}, "l[].a", {"l": [{}, {"b": 2}]}),
        ({"l": [{"s": {"a": 1}}, {}]}, "l[].s?.a", {"l": [{}, {}]}),
        ({"l": None, "s": None}, "l[].a", {"l": None, "s": None}),
        ({"h": {"p": {"x": 1}}}, "h?.p?.x", {}),
    ],
)
def test_a_path_without_its_field(obj: Object, path: str, left: Object) -> None:
    before = repr(obj)
    assert without(obj, path) == GatedFields((REMOVED, (path,))).drop_disabled(obj) == left
    assert repr(obj) == before


@pytest.mark.parametrize("paths", list(permutations(("a.b", "a.b.c", "a.l[].b", "d"))))
@pytest.mark.parametrize(
    ("obj", "left"),
    [
        ({"a": {"b": {}}}, {"a": {}}),
        ({"a": {"b": {"c": 1}}, "e": 1}, {"a": {}, "e": 1}),
        ({"a": {"l": [{"e": 1}, {"b": 1}]}}, {"a": {"l": [{"e": 1}, {}]}}),
        ({"d": None}, {}),
    ],
)
def test_a_path_may_be_the_beginning_of_another(paths: tuple[str, ...], obj: Object, left: Object) -> None:
    assert GatedFields((REMOVED, paths)).drop_disabled(obj) == left


def test_an_object_without_the_fields_stays_the_same_one() -> None:
    obj = {"a": {"l": [{"e": 1}], "m": None}}
    assert GatedFields((REMOVED, ("a.l[].b", "a.m.c", "d"))).drop_disabled(obj) is obj


@pytest.mark.parametrize(
    ("obj", "path", "used"),
    [
        ({"a": 0}, "a", True),
        ({"a": False}, "a", True),
        ({"a": []}, "a", False),
        ({"a": {}}, "a", False),
        ({"a": None}, "a", False),
        ({"l": [{}, {"a": 1}]}, "l[].a", True),
        ({"l": [{}]}, "l[].a", False),
        ({}, "l[].a", False),
    ],
)
def test_a_field_that_is_set_and_not_empty_is_used(obj: Object, path: str, used: bool) -> None:
    assert uses(obj, (path,)) is used
