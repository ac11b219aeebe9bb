"""ConfigMaps, Secrets, ServiceAccounts, quotas, limits, leases, namespaces and nodes: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import base64

import pytest

from fakekube.apiserver.registry.core.configmap import decoded_size
from tests.apiserver.validation.support import check_new, check_update, merged

DOCKER = base64.b64encode(b"{}").decode()
BIG = "x" * (1024 * 1024 + 1)
KEY = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"

NEW = [
    ("ConfigMap", {}, []),
    ("ConfigMap", {"data": {"a": "", "A-_.9": "x"}, "binaryData": {"b": "YQ=="}}, []),
    ("ConfigMap", {"data": {"": "x"}}, [f'data[]: Invalid value: "": {KEY}…']),
    ("ConfigMap", {"data": {"a/b": "x"}}, [f'data[a/b]: Invalid value: "a/b": {KEY}…']),
    ("ConfigMap", {"data": {"..": "x"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
    ("ConfigMap", {"data": {"..a": "x"}}, ["data[..a]: Invalid value: \"..a\": must not start with '..'"]),
    ("ConfigMap", {"data": {"a" * 254: "x"}}, ["data[" + "a" * 254 + "…"]),
    (
        "ConfigMap",
        {"data": {"a": "x"}, "binaryData": {"a": "YQ=="}},
        ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ),
    ("ConfigMap", {"data": {"a": BIG}}, ["[]: Too long: may not be more than 1048576 bytes"]),
    ("Secret", {"data": {"a": "YQ=="}}, []),
    ("Secret", {"data": {"a b": ""}}, [f'data[a b]: Invalid value: "a b": {KEY}…']),
    ("Secret", {"type": "kubernetes.io/dockercfg"}, ["data[.dockercfg]: Required value"]),
    (
        "Secret",
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": DOCKER}},
        [],
    ),
    (
        "Secret",
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "eA=="}},
        ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": …'],
    ),
    (
        "Secret",
        {"type": "kubernetes.io/basic-auth"},
        ["data[username]: Required value", "data[password]: Required value"],
    ),
    ("Secret", {"type": "kubernetes.io/ssh-auth"}, ["data[ssh-privatekey]: Required value"]),
    (
        "Secret",
        {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}},
        ["data[tls.key]: Required value"],
    ),
    (
        "Secret",
        {"type": "kubernetes.io/service-account-token"},
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ),
    ("Lease", {"spec": {}}, []),
    (
        "Lease",
        {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    ("ResourceQuota", {"spec": {"hard": {"pods": "5", "requests.cpu": "1500m", "count/jobs.batch": "3"}}}, []),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1500m"}}},
        ['spec.hard[pods]: Invalid value: "1500m": must be an integer'],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"cpu": "-1"}}},
        ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"cpus": "1"}}},
        [
            'spec.hard[cpus]: Invalid value: "cpus": must be a standard resource type or fully qualified',
            'spec.hard[cpus]: Invalid value: "cpus": must be a standard resource for quota',
        ],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}},
        ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}, "scopes": ["Best"]}},
        ['spec.scopes: Invalid value: ["Best"]: unsupported scope'],
    ),
    ("LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "1"}}]}}, []),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
        [
            'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
        ],
    ),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}, "default": {"cpu": "1"}}]}},
        ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    ),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod"}, {"type": "Pod"}]}},
        ['spec.limits[1].type: Duplicate value: "Pod"'],
    ),
    (
        "LimitRange",
        {"spec": {"limits": [{"type": "PersistentVolumeClaim"}]}},
        [
            "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided"
        ],
    ),
    ("Node", {"spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "a", "value": "b", "effect": "NoExecute"}]}}, []),
    (
        "Node",
        {"spec": {"podCIDR": "10.0.0.0"}},
        ['spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value…'],
    ),
    (
        "Node",
        {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
        [
            'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family'
        ],
    ),
    (
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "No"}]}},
        [
            'metadata.taints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
    (
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}] * 2}},
        ["metadata.taints[1]: Duplicate value: …"],
    ),
]

CHANGED = [
    ("ConfigMap", {"immutable": True, "data": {"a": "1"}}, {"metadata": {"labels": {"x": "y"}}}, []),
    (
        "ConfigMap",
        {"immutable": True, "data": {"a": "1"}},
        {"immutable": False},
        ["immutable: Forbidden: field is immutable when `immutable` is set"],
    ),
    (
        "ConfigMap",
        {"immutable": True, "data": {"a": "1"}},
        {"data": {"a": "2"}, "binaryData": {"b": ""}},
        [
            "data: Forbidden: field is immutable when `immutable` is set",
            "binaryData: Forbidden: field is immutable when `immutable` is set",
        ],
    ),
    ("ConfigMap", {"data": {"a": "1"}}, {"data": {"a": "2"}, "immutable": True}, []),
    ("Secret", {"type": "a"}, {"type": "b"}, ['type: Invalid value: "b": field is immutable']),
    (
        "Secret",
        {"immutable": True, "data": {"a": "YQ=="}},
        {"data": {"a": "Yg=="}},
        ["data: Forbidden: field is immutable when `immutable` is set"],
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
        {"spec": {"scopes": ["NotBestEffort"]}},
        ['spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable'],
    ),
    (
        "Node",
        {"spec": {"providerID": "a"}},
        {"spec": {"providerID": "b"}},
        ["spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"],
    ),
    ("Node", {}, {"spec": {"providerID": "b", "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, []),
    (
        "Node",
        {"spec": {"podCIDR": "10.0.0.0/24"}},
        {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}},
        ["spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)


def test_a_configmap_may_hold_just_what_fits():
    half = "x" * (512 * 1024)
    obj = {"data": {"a": half}, "binaryData": {"b": base64.b64encode(half.encode()).decode()}}
    check_new("ConfigMap", obj, [])
    check_new("ConfigMap", merged(obj, {"data": {"c": "1"}}), ["[]: Too long: may not be more than 1048576 bytes"])


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 0), ("YQ==", 1), ("YWI=", 2), ("YWJj", 3), ("YWJjZA==", 4), ("YWJjZGU=", 5), ("YWJjZGVm", 6)],
)
def test_the_size_of_binary_data_is_that_of_its_bytes(text, size):
    assert decoded_size(text) == len(base64.b64decode(text)) == size
