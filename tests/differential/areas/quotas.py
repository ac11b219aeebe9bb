"""Quotas and limit ranges: pods, claims, services and other objects in a namespace that has them."""

from __future__ import annotations

import copy
from typing import Any

from tests.differential.scenario import MERGE_PATCH, Draw, Object, Scenario, Step, create, patch

CORE = "/api/v1/namespaces/{}/{}"
LEASE: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}

HARD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pods", ("0", "1", "2")), ("requests.cpu", ("1", "500m", "1500m")), ("limits.cpu", ("1", "2")), ("requests.memory", ("1Gi", "1.5Gi")),
    ("limits.memory", ("1Gi",)), ("cpu", ("1", "100m")), ("memory", ("1Gi",)), ("configmaps", ("1", "2")), ("secrets", ("1",)), ("services", ("1", "2")),
    ("services.nodeports", ("0", "1")), ("services.loadbalancers", ("0", "1")), ("persistentvolumeclaims", ("1", "2")), ("requests.storage", ("1Gi", "5Gi")),
    ("fast.storageclass.storage.k8s.io/requests.storage", ("1Gi", "2Gi")), ("fast.storageclass.storage.k8s.io/persistentvolumeclaims", ("0", "1")),
    ("count/pods", ("1", "2")), ("count/configmaps", ("1",)), ("count/deployments.apps", ("0", "1")), ("count/replicasets.apps", ("1",)),
    ("requests.example.com/gpu", ("1", "2")), ("requests.ephemeral-storage", ("1Gi",)), ("limits.ephemeral-storage", ("1Gi",)),
    ("replicationcontrollers", ("0", "1")), ("requests.hugepages-2Mi", ("2Mi",)), ("hugepages-2Mi", ("4Mi",)),
)  # fmt: skip

SCOPES: tuple[Object, ...] = (
    {"scopes": ["BestEffort"]},
    {"scopes": ["NotBestEffort"]},
    {"scopes": ["Terminating"]},
    {"scopes": ["NotTerminating"]},
    {"scopes": ["NotTerminating", "NotBestEffort"]},
    {"scopes": ["CrossNamespacePodAffinity"]},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
    {
        "scopeSelector": {
            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}]
        }
    },
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "VolumeAttributesClass", "operator": "Exists"}]}},
)

LIMITS: tuple[Object, ...] = (
    {"type": "Container", "default": {"cpu": "500m", "memory": "512Mi"}, "defaultRequest": {"cpu": "100m"}},
    {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}},
    {"type": "Container", "max": {"cpu": "1", "memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}},
    {"type": "Container", "min": {"memory": "100Mi"}},
    {"type": "Pod", "max": {"cpu": "1500m", "memory": "2Gi"}},
    {"type": "Pod", "min": {"cpu": "200m"}},
    {"type": "Pod", "maxLimitRequestRatio": {"cpu": "3"}},
    {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}, "min": {"storage": "1Gi"}},
    {"type": "Container", "default": {"example.com/gpu": "1"}},
    {"type": "Container", "defaultRequest": {"ephemeral-storage": "1Gi"}, "max": {"ephemeral-storage": "2Gi"}},
)


def scenario(draw: Draw, namespace: str) -> Scenario:
    """A namespace with quotas, limit ranges or both, and writes in it."""
    steps: list[Step] = []
    kind = draw.weighted({"quota": 3, "limits": 2, "both": 2})
    if kind != "quota":
        body = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l"},
            "spec": {"limits": draw.some(LIMITS, 3, 1)},
        }
        steps.append(create(CORE.format(namespace, "limitranges"), body))
    if kind != "limits":
        for i in range(draw.weighted({1: 3, 2: 1})):
            steps += _quota(draw, namespace, f"q{i}")
    used: list[str] = []
    for i in range(draw.number(5, 9)):
        steps.append(_write(draw, namespace, i, used))
        if kind != "limits" and draw.chance(0.3):
            steps.append(Step("GET", CORE.format(namespace, "resourcequotas/q0")))
    cleanup = [path for path in used if "/services/" in path]
    return Scenario([*steps, Step("GET", CORE.format(namespace, "resourcequotas"))], cleanup)


def _quota(draw: Draw, namespace: str, name: str) -> list[Step]:
    """Creates a quota, and a status for it, which no controller writes. Waits until the server uses each of them."""
    hard = {resource: draw.one(values) for resource, values in draw.some(HARD, 4, 1)}
    scope: Object = draw.one(SCOPES) if draw.chance(0.3) else {}
    if scope:
        hard = {
            resource: value
            for resource, value in hard.items()
            if resource in ("pods", "requests.cpu", "limits.cpu", "cpu", "count/pods")
        } or {"pods": "1"}
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": hard, **copy.deepcopy(scope)},
    }
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    mark = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": f"{name}-mark"},
        "spec": {"hard": {"count/leases.coordination.k8s.io": "0"}},
    }
    collection = CORE.format(namespace, "resourcequotas")
    none = {"hard": {"count/leases.coordination.k8s.io": "0"}, "used": {"count/leases.coordination.k8s.io": "0"}}
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    return [
        create(collection, body),
        patch(f"{collection}/{name}/status", MERGE_PATCH, status),
        # the mark is written after the quota: a lease that is refused shows that the server knows both
        create(collection, mark, compared=False),
        patch(f"{collection}/{name}-mark/status", MERGE_PATCH, {"status": none}, compared=False),
        create(leases, LEASE, ("dryRun", "All"), until=403, compared=False),
        Step("DELETE", f"{collection}/{name}-mark", compared=False),
        create(leases, LEASE, ("dryRun", "All"), until=201, compared=False),
    ]


def _write(draw: Draw, namespace: str, i: int, used: list[str]) -> Step:
    kind = draw.weighted(
        {
            "pod": 6,
            "claim": 2,
            "service": 2,
            "configmap": 2,
            "secret": 1,
            "deployment": 1,
            "delete": 1,
            "grow": 1,
            "rc": 0.5,
        }
    )
    if kind in ("delete", "grow") and not used:
        kind = "pod"
    if kind == "delete":
        return Step("DELETE", used.pop(draw.number(0, len(used) - 1)))
    if kind == "grow":
        path = draw.one(used)
        return patch(path, MERGE_PATCH, draw.one(GROWTH), *draw.one(((), (("dryRun", "All"),))))
    plural, body = _MADE[kind](draw)
    root = f"/apis/apps/v1/namespaces/{namespace}" if plural == "deployments" else f"/api/v1/namespaces/{namespace}"
    name = f"{kind}{i}"
    used.append(f"{root}/{plural}/{name}")
    return create(
        f"{root}/{plural}", {**body, "metadata": {"name": name}}, *((("dryRun", "All"),) if draw.chance(0.1) else ())
    )


GROWTH: tuple[Object, ...] = (
    {"spec": {"resources": {"requests": {"storage": "10Gi"}}}},
    {"spec": {"type": "NodePort"}},
    {"spec": {"type": "LoadBalancer"}},
    {"metadata": {"labels": {"a": "b"}}},
    {"spec": {"activeDeadlineSeconds": 100}},
    {"spec": {"containers": [{"name": "c0", "image": "x:2"}]}},
    {"data": {"a": "b"}},
)


def _amounts(draw: Draw) -> Object:
    values = {"cpu": ("100m", "500m", "1", "2", "0", "50m"), "memory": ("100Mi", "1Gi", "2Gi"), "ephemeral-storage": ("1Gi",), "example.com/gpu": ("1", "2"),
              "hugepages-2Mi": ("2Mi", "4Mi")}  # fmt: skip
    names = draw.some(("cpu", "memory"), 2) if draw.chance(0.85) else draw.some(tuple(values), 3)
    return {name: draw.one(values[name]) for name in names}


def _container(draw: Draw, name: str) -> Object:
    resources: Object = {}
    if draw.chance(0.7):
        resources["requests"] = _amounts(draw)
    if draw.chance(0.6):
        resources["limits"] = _amounts(draw)
    for resource in ("example.com/gpu", "hugepages-2Mi"):
        amount = resources.get("limits", {}).get(resource) or resources.get("requests", {}).get(resource)
        if amount and draw.chance(0.8):
            resources.setdefault("limits", {})[resource] = amount
            resources.setdefault("requests", {})[resource] = amount
    return {"name": name, "image": "x", **({"resources": resources} if resources else {})}


def _pod(draw: Draw) -> tuple[str, Object]:
    spec: Object = {"containers": [_container(draw, f"c{i}") for i in range(draw.weighted({1: 4, 2: 1}))]}
    if draw.chance(0.25):
        spec["initContainers"] = [{**_container(draw, "i"), **draw.one(({}, {"restartPolicy": "Always"}))}]
    if draw.chance(0.15):
        spec["activeDeadlineSeconds"] = 10
    if draw.chance(0.15):
        spec["priorityClassName"] = draw.one(("system-node-critical", "system-cluster-critical", "nosuch"))
    if draw.chance(0.1):
        spec["overhead"] = {"cpu": "100m"}
    if draw.chance(0.15):
        spec["resources"] = {draw.one(("requests", "limits")): _amounts(draw)}
    if draw.chance(0.05):
        term = {"topologyKey": "zone", "labelSelector": {}, "namespaces": ["other"]}
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return "pods", {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def _claim(draw: Draw) -> tuple[str, Object]:
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": draw.one(("500Mi", "1Gi", "3Gi"))}},
    }
    if draw.chance(0.6):
        spec["storageClassName"] = draw.one(("fast", "slow", ""))
    if draw.chance(0.1):
        spec["volumeAttributesClassName"] = "v"
    return "persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec}


def _service(draw: Draw) -> tuple[str, Object]:
    spec: Object = {
        "type": draw.one(("ClusterIP", "NodePort", "LoadBalancer")),
        "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}][: draw.number(1, 2)],
    }
    if spec["type"] == "LoadBalancer" and draw.chance(0.4):
        spec["allocateLoadBalancerNodePorts"] = False
    return "services", {"apiVersion": "v1", "kind": "Service", "spec": spec}


def _deployment(draw: Draw) -> tuple[str, Object]:
    _, pod = _pod(draw)
    template: Any = {"metadata": {"labels": {"a": "b"}}, "spec": pod["spec"]}
    template["spec"].pop("activeDeadlineSeconds", None)
    return "deployments", {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


_MADE = {
    "pod": _pod,
    "claim": _claim,
    "service": _service,
    "deployment": _deployment,
    "configmap": lambda draw: ("configmaps", {"apiVersion": "v1", "kind": "ConfigMap"}),
    "secret": lambda draw: ("secrets", {"apiVersion": "v1", "kind": "Secret"}),
    "rc": lambda draw: ("replicationcontrollers", {"apiVersion": "v1", "kind": "ReplicationController", "spec": {"selector": {"a": "b"}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}),
}  # fmt: skip
