"""Valid objects of the built-in kinds, from which requests are drawn, and their paths."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from fakekube import data
from fakekube.apiserver.catalog import builtin_resources
from fakekube.apiserver.resource import Resource
from tests.apiserver import bodies
from tests.differential.scenario import Draw, Object

LABELS = {"app": "a"}
CONTAINER: Object = {
    "name": "c",
    "image": "nginx",
    "ports": [{"containerPort": 80, "name": "http"}],
    "env": [{"name": "A", "value": "a"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
    "securityContext": {"runAsUser": 1000},
}
POD_SPEC: Object = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "i", "image": "busybox"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "m", "configMap": {"name": "m", "items": [{"key": "a", "path": "a"}]}}],
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
    "nodeSelector": {"a": "b"},
    "securityContext": {"fsGroup": 1},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": LABELS}}}
            ]
        },
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": LABELS}}
    ],
}  # fmt: skip
SMALL_POD: Object = {"containers": [{"name": "c", "image": "nginx"}]}
SELECTOR: Object = {"matchLabels": LABELS}
TEMPLATE: Object = {"metadata": {"labels": LABELS}, "spec": SMALL_POD}
FULL_TEMPLATE: Object = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
JOB_TEMPLATE: Object = {"spec": {**SMALL_POD, "restartPolicy": "Never"}}

#: (group, plural) -> valid contents; kinds that are not here have those of tests/apiserver/bodies.py.
CONTENTS: dict[tuple[str, str], list[Object]] = {
    ("", "pods"): [{"spec": POD_SPEC}, {"spec": SMALL_POD}],
    ("", "services"): [
        {"spec": {"selector": LABELS, "ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81}]}},
        {"spec": {"type": "NodePort", "ports": [{"port": 80}]}},
        {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerSourceRanges": ["10.0.0.0/8"]}},
        {"spec": {"type": "ExternalName", "externalName": "a.example.com"}},
    ],
    ("", "configmaps"): [{"data": {"a": "b"}, "binaryData": {"c": "YQ=="}}],
    ("", "secrets"): [{"data": {"a": "YQ=="}, "stringData": {"b": "b"}, "type": "Opaque"}],
    ("", "persistentvolumeclaims"): [
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}}
    ],
    ("", "persistentvolumes"): [
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}},
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                  "csi": {"driver": "d.example.com", "volumeHandle": "h"}, "persistentVolumeReclaimPolicy": "Retain"}},
    ],
    ("", "nodes"): [{"spec": {"podCIDR": "10.1.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]}}],
    ("", "limitranges"): [
        {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}}
    ],
    ("", "resourcequotas"): [{"spec": {"hard": {"pods": "3", "requests.cpu": "1"}, "scopes": ["NotBestEffort"]}}],
    ("", "replicationcontrollers"): [{"spec": {"replicas": 1, "selector": LABELS, "template": TEMPLATE}}],
    ("", "endpoints"): [
        {"subsets": [{"addresses": [{"ip": "1.2.3.4", "targetRef": {"kind": "Pod", "name": "a"}}], "ports": [{"port": 80}]}]}
    ],
    ("", "serviceaccounts"): [{"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "b"}]}],
    ("", "podtemplates"): [{"template": FULL_TEMPLATE}],
    ("apps", "deployments"): [
        {"spec": {"replicas": 1, "selector": SELECTOR, "template": FULL_TEMPLATE}},
        {"spec": {"selector": SELECTOR, "template": TEMPLATE,
                  "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}}},
    ],
    ("apps", "replicasets"): [{"spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}}],
    ("apps", "daemonsets"): [
        {"spec": {"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}}
    ],
    ("apps", "statefulsets"): [
        {"spec": {"serviceName": "a", "selector": SELECTOR, "template": TEMPLATE, "ordinals": {"start": 1},
                  "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                      "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}
    ],
    ("batch", "jobs"): [
        {"spec": {"template": JOB_TEMPLATE, "completions": 2, "parallelism": 1, "completionMode": "Indexed"}},
        {"spec": {"template": JOB_TEMPLATE, "podFailurePolicy": {"rules": [
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}}]}}},
    ],
    ("batch", "cronjobs"): [{"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}}],
    ("autoscaling", "horizontalpodautoscalers"): [
        {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}, "minReplicas": 1, "maxReplicas": 3}}
    ],
    ("networking.k8s.io", "ingresses"): [
        {"spec": {
            "tls": [{"hosts": ["a.example.com"], "secretName": "s"}],
            "rules": [{"host": "a.example.com", "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}],
        }},
        {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"name": "http"}}}}},
    ],
    ("networking.k8s.io", "networkpolicies"): [
        {"spec": {
            "podSelector": SELECTOR, "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"podSelector": {}}],
                         "ports": [{"protocol": "TCP", "port": 80, "endPort": 90}]}],
            "egress": [{"to": [{"namespaceSelector": SELECTOR}]}],
        }}
    ],
    ("policy", "poddisruptionbudgets"): [
        {"spec": {"minAvailable": 1, "selector": SELECTOR}}, {"spec": {"maxUnavailable": "50%", "selector": SELECTOR}}
    ],
    ("rbac.authorization.k8s.io", "roles"): [{"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}],
    ("rbac.authorization.k8s.io", "clusterroles"): [
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"nonResourceURLs": ["/x"], "verbs": ["get"]}]}
    ],
    ("rbac.authorization.k8s.io", "rolebindings"): [
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
         "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"},
                      {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}
    ],
    ("rbac.authorization.k8s.io", "clusterrolebindings"): [
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "none"},
         "subjects": [{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}]}
    ],
    ("coordination.k8s.io", "leases"): [
        {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}}
    ],
    ("discovery.k8s.io", "endpointslices"): [
        {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"], "conditions": {"ready": True}}], "ports": [{"port": 80, "name": "a"}]}
    ],
    ("storage.k8s.io", "storageclasses"): [{"provisioner": "example.com/p", "parameters": {"a": "b"}, "reclaimPolicy": "Delete"}],
}  # fmt: skip

#: Kinds that affect other requests of the cluster: they are only tried, with dryRun.
TRIED = frozenset(
    {
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ("networking.k8s.io", "servicecidrs"),
        ("networking.k8s.io", "ipaddresses"),
        ("networking.k8s.io", "ingressclasses"),
        ("storage.k8s.io", "storageclasses"),
        ("scheduling.k8s.io", "priorityclasses"),
        ("node.k8s.io", "runtimeclasses"),
    }
)

#: Reviews and bindings are no objects: they are areas of their own.
NO_OBJECTS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


@cache
def resources() -> tuple[Resource, ...]:
    """The built-in resources whose objects can be created."""
    every = builtin_resources(data.load("discovery-v1.36.json"))
    return tuple(
        one for one in every if "create" in one.verbs and one.group not in NO_OBJECTS and one.plural != "bindings"
    )


def resource(group: str, plural: str) -> Resource:
    return next(one for one in resources() if (one.group, one.plural) == (group, plural))


def is_tried(found: Resource) -> bool:
    return (found.group, found.plural) in TRIED


def collection(found: Resource, namespace: str) -> str:
    root = f"/apis/{found.group}/{found.version}" if found.group else f"/api/{found.version}"
    return f"{root}/namespaces/{namespace}/{found.plural}" if found.namespaced else f"{root}/{found.plural}"


def name_in(found: Resource, namespace: str, name: str) -> str:
    """The name of an object of a scenario: those of the cluster have the namespace as prefix."""
    if (found.group, found.plural) == ("networking.k8s.io", "ipaddresses"):
        return "10.0.0.9"
    if (found.group, found.plural) == ("apiregistration.k8s.io", "apiservices"):
        return f"v1.{namespace}.example.com"
    if (found.group, found.plural) == ("apiextensions.k8s.io", "customresourcedefinitions"):
        return f"backups.{namespace}.example.com"
    return name if found.namespaced else f"{namespace}-{name}"


def valid(draw: Draw, found: Resource, namespace: str, name: str) -> Object:
    """A valid object of a kind."""
    contents = CONTENTS.get((found.group, found.plural))
    body: Any = copy.deepcopy(draw.one(contents)) if contents else copy.deepcopy(bodies.body_of(found))
    body.pop("metadata", None)
    if (found.group, found.plural) == ("apiextensions.k8s.io", "customresourcedefinitions"):
        body["spec"] = _definition(namespace)
    if (found.group, found.plural) == ("apiregistration.k8s.io", "apiservices"):
        body["spec"] = {"group": f"{namespace}.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                        "service": {"name": "a", "namespace": "default"}, "insecureSkipTLSVerify": True}  # fmt: skip
    metadata: Object = {"name": name_in(found, namespace, name), "labels": dict(LABELS)}
    for field in ("involvedObject", "regarding"):
        if field in body:
            body[field]["namespace"] = namespace
    return {"apiVersion": found.api_version, "kind": found.kind, "metadata": metadata, **body}


def _definition(namespace: str) -> Object:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}},
            }
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "group": f"{namespace}.example.com",
        "scope": "Namespaced",
        "names": {"plural": "backups", "singular": "backup", "kind": "Backup"},
        "versions": [version],
    }
