"""HorizontalPodAutoscalers in both versions: fields that v1 lacks are in annotations."""

import pytest

from fakekube.apiserver.registry.autoscaling.horizontalpodautoscaler.conversion import BEHAVIOR, METRICS, from_v1, to_v1

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
DEFAULT = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


def old(annotations=None, status=None, **spec):
    meta = {"name": "x", **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}, "status": status or {}}


@pytest.mark.parametrize("text", ["{", "1", "[1]"])
def test_an_annotation_that_is_not_the_server_s_is_ignored(text):
    assert from_v1(old({METRICS: text, BEHAVIOR: "{"}))["spec"]["metrics"] == DEFAULT


def test_the_utilization_of_v1_is_a_metric():
    made = from_v1(
        old(targetCPUUtilizationPercentage=5, status={"currentCPUUtilizationPercentage": 3, "currentReplicas": 2})
    )
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 5
    assert made["status"]["currentReplicas"] == 2
    assert made["status"]["currentMetrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 3}}}
    ]


def test_a_metric_without_a_field_in_v1_is_an_annotation():
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "5"}},
    }
    stored = {"metadata": {"name": "x"}, "spec": {"metrics": [memory]}, "status": {"currentMetrics": [
        {"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "5"}}}]}}  # fmt: skip
    shown = to_v1(stored)
    assert "targetCPUUtilizationPercentage" not in shown["spec"]
    assert "currentCPUUtilizationPercentage" not in shown["status"]
    assert from_v1(shown)["spec"]["metrics"] == [memory]


def test_one_direction_of_behavior():
    stored = {"metadata": {"name": "x"}, "spec": {"behavior": {"scaleDown": {"selectPolicy": "Min"}}}}
    back = from_v1(to_v1(stored))["spec"]["behavior"]
    assert back == {"scaleDown": {"selectPolicy": "Min", "policies": []}}
