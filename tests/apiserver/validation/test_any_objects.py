"""Whatever has the types of its fields can be checked."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.registry.autoscaling.horizontalpodautoscaler.conversion import from_v1, to_v1
from tests.apiserver.validation.support import CORE, PLURALS, as_new, complete, strategy

WORDS = (
    *("", "a", "A_", "a b", "x.y/z", "100%", "1", "-1", "Always", "Never", "Exists", "In", "RollingUpdate", "../x"),
    *("metadata.name", "limits.cpu", "*/5 * * * *", "Indexed", "Resource", "1.2.3.4", "::1", "True", "Complete", "cpu"),
    *("memory", "hugepages-2Mi", "TCP", "Localhost", "windows", "UTC", "0-3,5", "Object", "AverageValue"),
)
VALUES = {
    "string": WORDS,
    "int32": (-1, 0, 1, 5, 80, 70000, 2**31 - 1),
    "int64": (-1, 0, 1, 5, 80, 70000, 2**31 - 1),
    "integer": (-1, 0, 1),
    "boolean": (True, False),
    "double": (1.5,),
    "quantity": ("0", "1", "-1", "100m", "1Gi", "1.5", "1n"),
    "int-or-string": (0, 1, -1, "50%", "x", 80, "http"),
    "time": ("2026-01-01T00:00:00Z",),
    "microtime": ("2026-01-01T00:00:00.000000Z",),
    "bytes": ("YQ==",),
    "any": ({"a": 1},),
}
#: Kinds of which an update is checked for more than a create is: dynamic configuration of kubelets.
CHECKED_MORE_LATER = {"Node"}
LIKELY = {"spec", "template", "containers", "status", "name", "metrics", "selector", "conditions", "jobTemplate"}
DEEPEST = 12

#: Objects this large are drawn by a generator of their own.
SEEDS = st.integers(min_value=0, max_value=2**32)


def generate(schema, chance, depth=0):
    if schema.type == "object":
        return {
            key: generate(field, chance, depth + 1)
            for key, field in schema.fields.items()
            if depth < DEEPEST and chance.random() < (0.9 if key in LIKELY else max(0.02, 0.5 - 0.07 * depth))
        }
    if schema.type == "list":
        return [generate(schema.items, chance, depth + 1) for _ in range(chance.choice([0, 1, 1, 2]))]
    if schema.type == "map":
        return {
            chance.choice(WORDS): generate(schema.values, chance, depth + 1) for _ in range(chance.choice([0, 1, 2]))
        }
    return chance.choice(VALUES[schema.type])


def any_object(kind, chance):
    group, version, _ = PLURALS[kind]
    obj = generate(CORE.schemas.of_kind(group, version, kind), chance)
    obj["metadata"] = {"name": chance.choice(["x", "a.b"]), "labels": {"a": "b"}}
    status = complete(kind, obj).get("status")
    made = as_new(kind, obj)
    return {**made, "status": status} if status is not None else made


@pytest.mark.parametrize("kind", PLURALS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_whatever_has_the_right_types_can_be_checked(kind, seed):
    rules, chance = strategy(kind), Random(seed)
    new, old = any_object(kind, chance), any_object(kind, chance)
    rules.warnings(new)
    rules.validate_status_update(new, old)
    rules.validate_update(rules.prepare_update(new, old), old)
    if kind not in CHECKED_MORE_LATER and not rules.validate(new):
        assert rules.validate_update(new, new) == []


@given(seed=SEEDS)
@settings(max_examples=25)
def test_an_autoscaler_survives_the_old_version(seed):
    chance = Random(seed)
    autoscaler = any_object("HorizontalPodAutoscaler", chance)
    if not strategy("HorizontalPodAutoscaler").validate(autoscaler):
        again = from_v1(to_v1(autoscaler))
        assert sorted(map(str, again["spec"].pop("metrics"))) == sorted(map(str, autoscaler["spec"].pop("metrics")))
        assert again["spec"] == autoscaler["spec"]


METRICS = [
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "Value", "value": "5"},
        },
    },
    {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}}},
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "memory",
            "container": "c",
            "target": {"type": "Utilization", "averageUtilization": 5},
        },
    },
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}},
]


def test_all_kinds_of_metrics_survive_the_old_version():
    spec = {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": METRICS,
        "behavior": {"scaleUp": {"stabilizationWindowSeconds": 5, "tolerance": "100m"}},
    }
    current = {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 3, "averageValue": "1"}},
    }
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"currentMetrics": [current], "conditions": [condition], "currentReplicas": 1, "desiredReplicas": 2}
    stored = complete("HorizontalPodAutoscaler", {"spec": spec, "status": status})
    shown = to_v1(stored)
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 5
    assert shown["status"] == {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentCPUUtilizationPercentage": 3,
    }
    assert sorted(shown["metadata"]["annotations"]) == [
        f"autoscaling.alpha.kubernetes.io/{what}" for what in ("behavior", "conditions", "current-metrics", "metrics")
    ]
    assert from_v1(shown) == stored
