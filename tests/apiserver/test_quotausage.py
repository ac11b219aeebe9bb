"""What objects use of quotas, and which quotas count them."""

from datetime import UTC, datetime, timedelta

import pytest

from fakekube.apiserver.registry.core import quotausage
from fakekube.apiserver.registry.core.quotausage import covered, in_scope, of_requirements

CLAIMS = "resourceclaims.resource.k8s.io"


def test_requests_and_limits_by_the_names_of_quotas():
    requests = {"cpu": "1", "memory": "2", "hugepages-2Mi": "3", "example.com/gpu": "4", "ephemeral-storage": "5"}
    assert of_requirements({"requests": requests, "limits": {**requests, "cpu": "6"}}) == {
        "cpu": "1", "requests.cpu": "1", "memory": "2", "requests.memory": "2", "hugepages-2Mi": "3",
        "requests.hugepages-2Mi": "3", "requests.example.com/gpu": "4", "ephemeral-storage": "5",
        "requests.ephemeral-storage": "5", "limits.cpu": "6", "limits.memory": "2", "limits.ephemeral-storage": "5",
    }  # fmt: skip
    assert of_requirements({}) == {}


@pytest.mark.parametrize(
    ("resource", "names", "expected"),
    [
        ("pods", ["pods", "cpu", "limits.cpu", "services", "hugepages-1Gi", "requests.hugepages-1Gi", "requests.example.com/gpu", "requests.storage"], ["pods", "cpu", "limits.cpu", "hugepages-1Gi", "requests.hugepages-1Gi", "requests.example.com/gpu"]),
        ("services", ["services", "services.nodeports", "services.loadbalancers", "pods", "count/services"], ["services", "services.nodeports", "services.loadbalancers", "count/services"]),
        ("persistentvolumeclaims", ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims", "fast.storageclass.storage.k8s.io/requests.storage", "fast.storageclass.storage.k8s.io/cpu"], ["persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims", "fast.storageclass.storage.k8s.io/requests.storage"]),
        ("configmaps", ["configmaps", "count/configmaps", "secrets"], ["configmaps", "count/configmaps"]),
        ("deployments.apps", ["deployments.apps", "count/deployments.apps"], ["count/deployments.apps"]),
        (CLAIMS, [f"count/{CLAIMS}", "gpu.deviceclass.resource.k8s.io/devices", "pods"], [f"count/{CLAIMS}", "gpu.deviceclass.resource.k8s.io/devices"]),
    ],
)  # fmt: skip
def test_which_names_of_a_quota_apply(resource, names, expected):
    assert covered(names, resource) == expected


def scoped(*selectors, scopes=()):
    return {"spec": {"scopes": list(scopes), "scopeSelector": {"matchExpressions": list(selectors)}}}


def selects(name, operator, *values):
    return {"scopeName": name, "operator": operator, "values": list(values)}


AFFINITY = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "namespaces": ["n"]}]}
}


@pytest.mark.parametrize(
    ("quota", "spec", "expected"),
    [
        ({}, {}, True),
        (scoped(scopes=["Terminating"]), {"activeDeadlineSeconds": 0}, True),
        (scoped(scopes=["Terminating"]), {}, False),
        (scoped(scopes=["NotTerminating"]), {}, True),
        (scoped(scopes=["NotTerminating"]), {"activeDeadlineSeconds": 1}, False),
        (scoped(scopes=["BestEffort"]), {}, True),
        (scoped(scopes=["NotBestEffort"]), {}, False),
        (scoped(scopes=["BestEffort", "Terminating"]), {}, False),
        (scoped(scopes=["CrossNamespacePodAffinity"]), {}, False),
        (scoped(scopes=["CrossNamespacePodAffinity"]), {"affinity": AFFINITY}, True),
        (scoped(scopes=["CrossNamespacePodAffinity"]), {"affinity": {"podAntiAffinity": AFFINITY["podAffinity"]}}, True),
        (scoped(scopes=["Other"]), {}, False),
        (scoped(selects("PriorityClass", "In", "a", "b")), {"priorityClassName": "b"}, True),
        (scoped(selects("PriorityClass", "In", "a")), {"priorityClassName": "b"}, False),
        (scoped(selects("PriorityClass", "NotIn", "a")), {"priorityClassName": "b"}, True),
        (scoped(selects("PriorityClass", "NotIn", "a")), {"priorityClassName": "a"}, False),
        (scoped(selects("PriorityClass", "Exists")), {"priorityClassName": "a"}, True),
        (scoped(selects("PriorityClass", "Exists")), {}, False),
        (scoped(selects("PriorityClass", "DoesNotExist")), {}, True),
        (scoped(selects("PriorityClass", "DoesNotExist")), {"priorityClassName": "a"}, False),
        (scoped(selects("PriorityClass", "Exists"), scopes=["BestEffort"]), {"priorityClassName": "a"}, True),
    ],
)  # fmt: skip
def test_which_pods_are_in_the_scopes_of_a_quota(quota, spec, expected):
    pod = {"metadata": {}, "spec": spec, "status": {"qosClass": "BestEffort"}}
    assert in_scope(quota, "pods", pod) is expected
    assert in_scope(quota, "services", {"spec": {}}) is (quota == {})


@pytest.mark.parametrize(
    ("quota", "claim", "expected"),
    [
        (scoped(selects("VolumeAttributesClass", "In", "gold")), {"spec": {"volumeAttributesClassName": "gold"}}, True),
        (scoped(selects("VolumeAttributesClass", "In", "gold")), {"status": {"currentVolumeAttributesClassName": "gold"}}, True),
        (scoped(selects("VolumeAttributesClass", "In", "gold")), {"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}}, True),
        (scoped(selects("VolumeAttributesClass", "In", "gold")), {"spec": {"volumeAttributesClassName": "tin"}}, False),
        (scoped(selects("VolumeAttributesClass", "In", "gold")), {}, False),
        (scoped(selects("VolumeAttributesClass", "DoesNotExist")), {}, True),
        (scoped(selects("VolumeAttributesClass", "DoesNotExist")), {"spec": {"volumeAttributesClassName": "tin"}}, False),
        (scoped(scopes=["BestEffort"]), {}, False),
    ],
)  # fmt: skip
def test_which_claims_are_in_the_scopes_of_a_quota(quota, claim, expected):
    assert in_scope(quota, "persistentvolumeclaims", claim) is expected


def service(kind, *node_ports, **spec):
    return {"spec": {"type": kind, "ports": [{"nodePort": one} for one in node_ports], **spec}}


def of_service(ports, balancers=0):
    return {"services": "1", "services.nodeports": str(ports), "services.loadbalancers": str(balancers)}


def claim(request, allocated=None, annotations=None, **spec):
    status = {"allocatedResources": {"storage": allocated}} if allocated else {}
    resources = {"requests": {"storage": request}} if request else {}
    return {"metadata": {"annotations": annotations}, "spec": {"resources": resources, **spec}, "status": status}


def devices(*requests):
    return {"spec": {"devices": {"requests": list(requests)}}}


BY_CLASS = "fast.storageclass.storage.k8s.io/"
GPUS, FPGAS = "gpu.deviceclass.resource.k8s.io/devices", "fpga.deviceclass.resource.k8s.io/devices"


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        ("services", service("ClusterIP", 1, 2), of_service(0)),
        ("services", service("NodePort", 1, 2), of_service(2)),
        ("services", service("LoadBalancer", 0, 0), of_service(2, 1)),
        ("services", service("LoadBalancer", 0, 5, allocateLoadBalancerNodePorts=False), of_service(1, 1)),
        ("services", service("LoadBalancer", 0, 5, allocateLoadBalancerNodePorts=True), of_service(2, 1)),
        ("persistentvolumeclaims", claim("1Gi"), {"persistentvolumeclaims": "1", "requests.storage": "1Gi"}),
        ("persistentvolumeclaims", claim("10", "9"), {"persistentvolumeclaims": "1", "requests.storage": "10"}),
        ("persistentvolumeclaims", claim("9", "10"), {"persistentvolumeclaims": "1", "requests.storage": "10"}),
        ("persistentvolumeclaims", claim("1500m"), {"persistentvolumeclaims": "1", "requests.storage": "2"}),
        ("persistentvolumeclaims", claim(None), {"persistentvolumeclaims": "1"}),
        ("persistentvolumeclaims", claim("1", storageClassName="fast"), {"persistentvolumeclaims": "1", "requests.storage": "1", f"{BY_CLASS}persistentvolumeclaims": "1", f"{BY_CLASS}requests.storage": "1"}),
        ("persistentvolumeclaims", claim(None, annotations={"volume.beta.kubernetes.io/storage-class": "fast"}, storageClassName="slow"), {"persistentvolumeclaims": "1", f"{BY_CLASS}persistentvolumeclaims": "1"}),
        (CLAIMS, devices({"exactly": {"deviceClassName": "gpu", "count": 3}}, {"exactly": {"deviceClassName": "gpu"}}), {GPUS: "4"}),
        (CLAIMS, devices({"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}), {GPUS: "32"}),
        (CLAIMS, devices({"firstAvailable": [{"deviceClassName": "gpu", "count": 2}, {"deviceClassName": "gpu", "count": 5}, {"deviceClassName": "fpga"}]}), {GPUS: "5", FPGAS: "1"}),
        (CLAIMS, devices(), {}),
    ],
)  # fmt: skip
def test_what_an_object_uses(resource, obj, expected):
    found = quotausage.usage(resource, {"metadata": {}, **obj})
    assert {name: value for name, value in found.items() if not name.startswith("count/")} == expected
    assert found[f"count/{resource}"] == "1"


@pytest.mark.parametrize(
    ("meta", "phase", "now", "running"),
    [
        ({}, "Running", 0, True),
        ({}, "Pending", 0, True),
        ({}, "Succeeded", 0, False),
        ({}, "Failed", 0, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}, "Running", 30, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}, "Running", 31, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}, "Running", 0, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}, "Running", 1, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Running", 99, True),
        ({"deletionGracePeriodSeconds": 1}, "Running", 99, True),
    ],
)
def test_a_pod_counts_until_it_has_ended_or_outlived_its_deletion(meta, phase, now, running):
    """`QuotaV1Pod`."""
    pod = {"metadata": meta, "status": {"phase": phase}}
    assert quotausage.is_running(pod, datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=now)) is running
    assert quotausage.is_running(pod) is (phase in ("Running", "Pending"))


@pytest.mark.parametrize(("deadline", "terminating"), [(None, False), (-1, False), (0, True), (5, True)])
def test_a_pod_with_a_deadline_is_terminating(deadline, terminating):
    assert quotausage.is_terminating({"activeDeadlineSeconds": deadline}) is terminating


def test_a_pod_uses_the_overhead_of_its_runtime_class():
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    pod = {"spec": {"containers": [container], "overhead": {"cpu": "3"}}, "status": {}, "metadata": {}}
    assert quotausage._of_pod(pod, None) == {"pods": "1", "cpu": "4", "requests.cpu": "4", "limits.cpu": "5"}
