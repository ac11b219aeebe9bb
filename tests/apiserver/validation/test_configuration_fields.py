"""Leases, quotas, limits, secrets, nodes, access and certificates: rules of single fields.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_update, merged
from tests.apiserver.validation.test_access import BINDING


def lim(**item):
    return {"spec": {"limits": [{"type": "Container", **item}]}}


def q(**s):
    return {"spec": {"hard": {"pods": "1", "services": "1"}, **s}}


def sel(*e):
    return {"scopeSelector": {"matchExpressions": list(e)}}


CAND = {
    "spec": {
        "leaseName": "l",
        "binaryVersion": "1.30.0",
        "emulationVersion": "1.29.0",
        "strategy": "OldestEmulationVersion",
    }
}
NEW = [
    ("LeaseCandidate", CAND, []),
    ("LeaseCandidate", {"spec": {}}, ['spec.leaseName: Required value', 'spec.binaryVersion: Required value', 'spec.strategy: Required value']),
    ("LeaseCandidate", merged(CAND, {"spec": {"binaryVersion": "1.2", "emulationVersion": "01.2.3"}}), [
        'spec.emulationVersion: Invalid value: "01.2.3": must be a valid semantic version',
        'spec.binaryVersion: Invalid value: "1.2": must be a valid semantic version',
        "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
    ]),
    ("LeaseCandidate", merged(CAND, {"spec": {"binaryVersion": "1.28.0"}}), ['spec.binaryVersion: Invalid value: "1.28.0": must be greater than or equal to `emulationVersion`']),
    ("LeaseCandidate", merged(CAND, {"spec": {"emulationVersion": None}}), ["spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"]),
    ("LeaseCandidate", merged(CAND, {"spec": {"strategy": "example.com/a b"}}), ['spec.strategy.strategy: Invalid value: "example.com/a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and …']),
    ("LeaseCandidate", merged(CAND, {"spec": {"strategy": "Newest"}}), ['spec.strategy.strategy: Unsupported value: "Newest": supported values: "OldestEmulationVersion"']),
    ("LimitRange", lim(max={"hugepages-2Mi": "4Mi"}, default={"hugepages-2Mi": "4Mi"}, defaultRequest={"hugepages-2Mi": "2Mi"}), [
        'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi',
    ]),
    ("LimitRange", lim(max={"cpu": "4"}, min={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}), ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000']),
    ("LimitRange", lim(max={"cpu": "4"}, min={"cpu": "1"}, maxLimitRequestRatio={"cpu": "500m"}), ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1']),
    ("LimitRange", {"spec": {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}, {"type": "Other"}, {"type": "a b"}]}}, [
        'spec.limits[1].type: Invalid value: "Other": must be a standard limit type or fully qualified',
        'spec.limits[2].type: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start and …',
    ]),
    ("LimitRange", lim(max={"a b": "1"}), [
        'spec.limits[0].max[a b]: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start …',
        'spec.limits[0].max[a b]: Invalid value: "a b": must be a standard resource for containers',
        'spec.limits[0].default[a b]: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must st…',
        'spec.limits[0].default[a b]: Invalid value: "a b": must be a standard resource for containers',
        'spec.limits[0].defaultRequest[a b]: Invalid value: "a b": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and …',
        'spec.limits[0].defaultRequest[a b]: Invalid value: "a b": must be a standard resource for containers',
    ]),
    ("ResourceQuota", q(scopes=["BestEffort"]), ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource']),
    ("ResourceQuota", q(**sel({"scopeName": "Terminating", "operator": "In", "values": ["a"]}, {"scopeName": "NotTerminating", "operator": "Exists", "values": ["a"]})), [
        'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating","Operator":"In","Values":["a"]…',
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be \'Exists\' when scope is any of ResourceQuotaScopeTermina…',
        'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating","Operator":"In","Values":["a"]…',
        'spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value when `operator` is \'Exist\' or \'DoesNotExist\' for scope selector',
        'spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes',
    ]),
    ("ResourceQuota", q(**sel({"scopeName": "PriorityClass", "operator": "In"}, {"scopeName": "Best", "operator": "Near"})), [
        'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"In","Values":nul…',
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Best": unsupported scope',
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "Near": not a valid selector operator',
    ]),
    ("Secret", {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "WzFd"}}, ['data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}']),
    ("Secret", {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "ew=="}}, ['data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input']),
    ("Node", {"spec": {"podCIDRs": ["10.0.0.0/24", "2001:db8::/64"]}}, []),
    ("Node", {"spec": {"podCIDRs": ["10.0.0.0/24"]}}, []),
    ("Node", {"spec": {"podCIDRs": ["10.0.0.0/24", "2001:db8::/64", "10.0.1.0/24"]}}, [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","2001:db8::/64","10.0.1.0/24"]: may specify no more than one CIDR for '
        "each IP family",
    ]),
    ("Node", {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.0.0/24", "x"]}}, [
        'spec.podCIDRs[2]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[2]: <nil> (invalid CIDR address: x)",
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24","x"]: may specify no more than one CIDR for each IP family',
    ]),
    ("Node", {"spec": {"taints": [{"key": "a", "effect": "NoExecute", "value": "x y"}, {"key": "a", "effect": "NoExecute"}, {"key": "", "effect": ""}]}}, [
        'metadata.taints[0].value: Invalid value: "x y": a valid label must be an empty string or consist of alphanumeric characters, \'-\', …',
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair',
        'metadata.taints[2].key: Invalid value: "": name part must be non-empty',
        'metadata.taints[2].key: Invalid value: "": name part must consist of alphanumeric characters, \'-\', \'_\' or \'.\', and must start and …',
        'metadata.taints[2].effect: Required value',
    ]),
    ("Role", {"metadata": {"name": "x", "namespace": "d"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["a", "b"], "resourceNames": ["c"]}]}, []),
    ("RoleBinding", merged(BINDING, {"subjects": [{"kind": "User", "name": "", "apiGroup": ""}, {"kind": "Robot", "name": "r"}]}), [
        'subjects[0].name: Required value',
        'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ]),
    ("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value": 2000001000}, []),
    ("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value": 2000001000, "globalDefault": True}, ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: globalDefault of sys…"]),
    ("PriorityClass", {"metadata": {"name": "system-x"}, "value": 1}, ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a kn…"]),
]  # fmt: skip

CHANGED = [
    ("LeaseCandidate", CAND, {"spec": {"leaseName": "m"}}, ['spec.leaseName: Invalid value: "m": field is immutable']),
    ("Node", {"spec": {"podCIDRs": ["10.0.0.0/24"], "providerID": "a"}, "status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}, {"type": "InternalIP", "address": "1.2.3.4"}]}}, {"spec": {"podCIDR": None, "podCIDRs": ["10.0.1.0/24"], "providerID": "b"}}, [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}',
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]),
    ("ResourceQuota", q(), {"spec": {"scopes": ["NotBestEffort"]}}, [
        'spec.scopes: Invalid value: ["NotBestEffort"]: unsupported scope applied to resource',
        'spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable',
    ]),
    ("Secret", {"data": {"a": "YQ=="}, "immutable": True}, {"data": {"a": "Yg=="}, "type": "x"}, ['type: Invalid value: "x": field is immutable', 'data: Forbidden: field is immutable when `immutable` is set']),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


@pytest.mark.parametrize(("kind", "old", "change", "expected"), CHANGED)
def test_changed(kind, old, change, expected):
    check_update(kind, old, change, expected)
