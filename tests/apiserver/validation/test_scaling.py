"""Autoscalers, disruption budgets, priority and runtime classes: what is said of new and of changed ones.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from tests.apiserver.validation.support import check_new, check_status, check_update, merged

AUTOSCALER = {
    "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
}

EMPTY = {}

BASES = {
    "PodDisruptionBudget": EMPTY,
    "PriorityClass": EMPTY,
    "RuntimeClass": EMPTY,
    "HorizontalPodAutoscaler": AUTOSCALER,
}


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": 1, "maxUnavailable": "50%"}},
            [
                'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"50%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cann…'
            ],
        ),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": -1}},
            ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "x"}},
            [
                "spec.minAvailable: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending '%'…"
            ],
        ),
        (
            "PodDisruptionBudget",
            {
                "spec": {
                    "maxUnavailable": "101%",
                    "unhealthyPodEvictionPolicy": "X",
                    "selector": {"matchLabels": {"a b": ""}},
                }
            },
            [
                'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
                "spec.selector.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an al…",
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"',
            ],
        ),
        ("PodDisruptionBudget", {}, []),
        ("HorizontalPodAutoscaler", {}, []),
        (
            "HorizontalPodAutoscaler",
            {"spec": None},
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"minReplicas": 0}},
            [
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"minReplicas": 5}},
            ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"maxReplicas": -1}},
            [
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController"}}},
            [],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "a/b", "name": ".."}}},
            [
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'",
                'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {
                "spec": {
                    "behavior": {
                        "scaleUp": {
                            "stabilizationWindowSeconds": -1,
                            "selectPolicy": "X",
                            "policies": [
                                {"type": "", "value": 0, "periodSeconds": 0},
                                {"type": "Pods", "value": 1, "periodSeconds": 1801},
                            ],
                            "tolerance": "-1",
                        },
                        "scaleDown": {"stabilizationWindowSeconds": 3601, "policies": []},
                    }
                }
            },
            [
                "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
                'spec.behavior.scaleUp.selectPolicy: Unsupported value: "X": supported values: "Disabled", "Max", "Min"',
                'spec.behavior.scaleUp.policies[0].type: Unsupported value: "": supported values: "Percent", "Pods"',
                "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleUp.policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
                'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
                "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
                "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {
                "spec": {
                    "metrics": [
                        {},
                        {"type": "X"},
                        {"type": "Resource"},
                        {"type": "Resource", "resource": {"name": "", "target": {"type": "X"}}},
                        {
                            "type": "Pods",
                            "pods": {"metric": {"name": ""}, "target": {"type": "AverageValue", "averageValue": "0"}},
                            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}},
                        },
                    ]
                }
            },
            [
                "spec.metrics[0].type: Required value: must specify a metric source type",
                'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
                'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
                'spec.metrics[1].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
                'spec.metrics[1].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
                "spec.metrics[2].resource: Required value: must populate information for the given metric source",
                "spec.metrics[3].resource.name: Required value: must specify a resource name",
                'spec.metrics[3].resource.target.type: Invalid value: "X": must be either Utilization, Value, or AverageValue',
                "spec.metrics[3].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
                "spec.metrics[4].pods.metric.name: Required value: must specify a metric name",
                'spec.metrics[4].pods.target.averageValue: Invalid value: "0": must be positive',
                "spec.metrics[4].resource: Forbidden: must populate the given metric source only",
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {
                "spec": {
                    "metrics": [
                        {
                            "type": "Object",
                            "object": {
                                "describedObject": {"kind": "", "name": "x", "apiVersion": "a/b/c"},
                                "metric": {"name": "a/b"},
                                "target": {"type": "Value"},
                            },
                        },
                        {
                            "type": "External",
                            "external": {
                                "metric": {"name": "q"},
                                "target": {"type": "Value", "value": "1", "averageValue": "1"},
                            },
                        },
                        {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value"}}},
                        {
                            "type": "ContainerResource",
                            "containerResource": {
                                "name": "foo",
                                "container": "A",
                                "target": {"type": "Utilization", "averageUtilization": 5, "averageValue": "1"},
                            },
                        },
                    ]
                }
            },
            [
                "spec.metrics[0].object.describedObject.kind: Required value",
                'spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "spec.metrics[0].object.metric.name: Invalid value: \"a/b\": may not contain '/'",
                "spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue",
                "spec.metrics[1].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
                "spec.metrics[2].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
                'spec.metrics[3].containerResource.name: Invalid value: "foo": must be a standard resource type or fully qualified',
                'spec.metrics[3].containerResource.name: Invalid value: "foo": must be a standard resource for containers',
                "spec.metrics[3].containerResource.container: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',…",
                "spec.metrics[3].containerResource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
            ],
        ),
        (
            "PriorityClass",
            {"value": 1000000001},
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        (
            "PriorityClass",
            {"metadata": {"name": "system-x"}},
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class"
            ],
        ),
        (
            "PriorityClass",
            {"metadata": {"name": "system-node-critical"}, "value": 1},
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityCl…"
            ],
        ),
        (
            "PriorityClass",
            {"metadata": {"name": "system-node-critical"}, "value": 2000001000, "globalDefault": True},
            [
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: globalDefault of system-node-critical Pr…"
            ],
        ),
        (
            "PriorityClass",
            {"value": 1, "preemptionPolicy": "X"},
            ['preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"'],
        ),
        (
            "RuntimeClass",
            {"handler": ""},
            ["handler: Required value"],
        ),
        (
            "RuntimeClass",
            {
                "handler": "A",
                "overhead": {"podFixed": {"foo": "1"}},
                "scheduling": {"nodeSelector": {"a b": "c"}, "tolerations": [{"operator": "X"}]},
            },
            [
                "handler: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alph…",
                'overhead.limits[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                'overhead.limits[foo]: Invalid value: "foo": must be a standard resource for containers',
                "scheduling.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alph…",
                'scheduling.tolerations[0].operator: Invalid value: "X": operator must be Exists when `key` is empty, which means "match all values and all keys"',
                'scheduling.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
            ],
        ),
    ],
)
def test_new_objects(kind, change, expected):
    check_new(kind, merged(BASES[kind], change), expected)


@pytest.mark.parametrize(
    ("kind", "before", "change", "expected"),
    [
        (
            "PriorityClass",
            {"value": 1},
            {"value": 2, "preemptionPolicy": "Never"},
            [
                "value: Forbidden: may not be changed in an update.",
                'preemptionPolicy: Invalid value: "Never": field is immutable',
            ],
        ),
        ("RuntimeClass", {"handler": "a"}, {"handler": "b"}, ['handler: Invalid value: "b": field is immutable']),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": 1}},
            {"spec": {"minAvailable": -1}},
            ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}},
            {"spec": {"maxReplicas": 4}},
            [],
        ),
        (
            "HorizontalPodAutoscaler",
            {},
            {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
        ),
        (
            "HorizontalPodAutoscaler",
            {"spec": {"minReplicas": 0}},
            {"spec": {"maxReplicas": 4}},
            [
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"
            ],
        ),
    ],
)
def test_changed_objects(kind, before, change, expected):
    check_update(kind, merged(BASES[kind], before), change, expected)


@pytest.mark.parametrize(
    ("kind", "change", "before", "status", "expected"),
    [
        (
            "PodDisruptionBudget",
            {},
            {},
            {"disruptionsAllowed": -1, "currentHealthy": -1, "desiredHealthy": -1, "expectedPods": -1},
            [
                "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
                "status.currentHealthy: Invalid value: -1: must be greater than or equal to 0",
                "status.desiredHealthy: Invalid value: -1: must be greater than or equal to 0",
                "status.expectedPods: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            "PodDisruptionBudget",
            {},
            {},
            {
                "conditions": [
                    {"type": "A", "status": "X"},
                    {"type": "A", "status": "True", "reason": "a b", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                ]
            },
            [
                'status.conditions[0].status: Unsupported value: "X": supported values: "False", "True", "Unknown"',
                "status.conditions[0].lastTransitionTime: Required value",
                "status.conditions[0].reason: Required value",
                'status.conditions[1].type: Duplicate value: "A"',
                'status.conditions[1].reason: Invalid value: "a b": a condition reason must start with alphabetic character, optionally followed by a string of alphanu…',
            ],
        ),
        (
            "HorizontalPodAutoscaler",
            {},
            {},
            {"currentReplicas": -1, "desiredReplicas": -1},
            [
                "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
                "status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
    ],
)
def test_statuses(kind, change, before, status, expected):
    check_status(kind, merged(BASES[kind], change), status, before, expected)
