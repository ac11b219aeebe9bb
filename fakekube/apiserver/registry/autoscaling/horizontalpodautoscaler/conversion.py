"""Converts HorizontalPodAutoscalers between autoscaling/v2, the stored form, and autoscaling/v1, which has fields for
CPU only and carries the rest in annotations (kubernetes `pkg/apis/autoscaling/v1/conversion.go`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.generic.validation.gostructs import marshal, selector_fields

Object = dict[str, Any]

CPU_UTILIZATION = 80


def _cpu_metric(utilization: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


_ANNOTATION = "autoscaling.alpha.kubernetes.io/"


METRICS, STATUSES, CONDITIONS, BEHAVIOR = (
    f"{_ANNOTATION}{what}" for what in ("metrics", "current-metrics", "conditions", "behavior")
)


ROUND_TRIP = frozenset((METRICS, STATUSES, CONDITIONS, BEHAVIOR))

SPEC_FIELDS = ("maxReplicas", "minReplicas", "scaleTargetRef")

STATUS_FIELDS = ("desiredReplicas", "lastScaleTime", "observedGeneration")


#: The sources of metrics in autoscaling/v1: the fields in order, each with its field of v2 (`status` has `current`
#: where `spec` has `target`), and its value if it is absent (None: it stays absent).
SPEC_SOURCES: Mapping[str, tuple[tuple[str, str, Any], ...]] = {
    "object": (
        ("target", "describedObject", {}),
        ("metricName", "metric.name", ""),
        ("targetValue", "target.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "target.averageValue", None),
    ),
    "pods": (
        ("metricName", "metric.name", ""),
        ("targetAverageValue", "target.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        ("name", "name", ""),
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
    "containerResource": (
        ("name", "name", ""),
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
        ("container", "container", ""),
    ),
    "external": (
        ("metricName", "metric.name", ""),
        ("metricSelector", "metric.selector", None),
        ("targetValue", "target.value", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
}


STATUS_SOURCES: Mapping[str, tuple[tuple[str, str, Any], ...]] = {
    "object": (
        ("target", "describedObject", {}),
        ("metricName", "metric.name", ""),
        ("currentValue", "current.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "current.averageValue", None),
    ),
    "pods": (
        ("metricName", "metric.name", ""),
        ("currentAverageValue", "current.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        ("name", "name", ""),
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
    ),
    "containerResource": (
        ("name", "name", ""),
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
        ("container", "container", ""),
    ),
    "external": (
        ("metricName", "metric.name", ""),
        ("metricSelector", "metric.selector", None),
        ("currentValue", "current.value", "0"),
        ("currentAverageValue", "current.averageValue", None),
    ),
}


def _is_cpu(metric: Object, holder: str) -> bool:
    """Whether v1 has fields for the metric."""
    source: Object = metric.get("resource") or {}
    known = metric.get("type") == "Resource" and source.get("name") == "cpu"
    return known and (source.get(holder) or {}).get("averageUtilization") is not None


def to_v1(stored: Object) -> Object:
    spec, status = stored.get("spec") or {}, stored.get("status") or {}
    made: Object = {key: spec[key] for key in SPEC_FIELDS if key in spec}
    metrics = spec.get("metrics") or ()
    cpu: Object = next((one for one in metrics if (one.get("resource") or {}).get("name") == "cpu"), {})
    if _is_cpu(cpu, "target"):
        made["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    shown: Object = {"currentReplicas": status.get("currentReplicas") or 0}
    shown |= {key: status[key] for key in STATUS_FIELDS if key in status}
    shown.setdefault("desiredReplicas", 0)
    for metric in status.get("currentMetrics") or ():
        if _is_cpu(metric, "current"):
            shown["currentCPUUtilizationPercentage"] = metric["resource"]["current"]["averageUtilization"]
    meta = _with_annotations(stored["metadata"], _carried(spec, status))
    return {**stored, "metadata": meta, "spec": made, "status": shown}


def _with_annotations(meta: Object, carried: dict[str, str]) -> Object:
    """Returns the metadata with these annotations instead of all others that carry fields."""
    annotations = meta.get("annotations") or {}
    if not carried and ROUND_TRIP.isdisjoint(annotations):
        return meta
    annotations = {key: value for key, value in annotations.items() if key not in ROUND_TRIP} | carried
    meta = {key: value for key, value in meta.items() if key != "annotations"}
    if annotations:
        meta["annotations"] = annotations
    return meta


def with_status_annotations(obj: Object, meta: Object) -> Object:
    """The object with those annotations of other metadata that carry the status, instead of its own."""
    own, other = ((one.get("annotations") or {}) for one in (obj["metadata"], meta))
    kept = {key: value for key, value in own.items() if key not in (STATUSES, CONDITIONS)}
    kept |= {key: other[key] for key in (STATUSES, CONDITIONS) if key in other}
    changed = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**changed, "annotations": kept} if kept else changed}


def _carried(spec: Object, status: Object) -> dict[str, str]:
    """Returns the annotations that carry what v1 has no fields for."""
    found: dict[str, str] = {}
    others = [one for one in spec.get("metrics") or () if not _is_cpu(one, "target")]
    if others:
        found[METRICS] = marshal([_old_metric(one, SPEC_SOURCES) for one in others])
    if status.get("currentMetrics"):
        found[STATUSES] = marshal([_old_metric(one, STATUS_SOURCES) for one in status["currentMetrics"]])
    if status.get("conditions"):
        found[CONDITIONS] = marshal([_condition(one) for one in status["conditions"]])
    if spec.get("behavior") is not None:
        behavior = spec["behavior"]
        rules = {"ScaleUp": _go_rules(behavior.get("scaleUp")), "ScaleDown": _go_rules(behavior.get("scaleDown"))}
        found[BEHAVIOR] = marshal(rules)
    return found


def _condition(condition: Object) -> Object:
    made = {key: condition.get(key) for key in ("type", "status", "lastTransitionTime")}
    return made | {key: condition[key] for key in ("reason", "message") if condition.get(key)}


def _old_metric(metric: Object, sources: Mapping[str, tuple[tuple[str, str, Any], ...]]) -> Object:
    made: Object = {"type": metric.get("type") or ""}
    for kind in ("object", "pods", "resource", "containerResource", "external"):
        source = metric.get(kind)
        if source is None:
            continue
        old = made[kind] = {}
        for field, place, zero in sources[kind]:
            value = _at(source, place)
            if value is None:
                value = zero
            if value is not None:
                old[field] = _ordered(field, value)
    return made


def _ordered(field: str, value: Any) -> Any:
    if field == "target":
        made = {key: value.get(key) or "" for key in ("kind", "name")}
        return made | ({"apiVersion": value["apiVersion"]} if value.get("apiVersion") else {})
    return selector_fields(value) if isinstance(value, dict) else value


def _at(source: Object, place: str) -> Any:
    found: Any = source
    for key in place.split("."):
        found = (found or {}).get(key)
    return found


def _go_rules(rules: Object | None) -> Object | None:
    """Returns the rules in the shape of Go's internal type."""
    if rules is None:
        return None
    policies = [
        {"Type": one.get("type"), "Value": one.get("value"), "PeriodSeconds": one.get("periodSeconds")}
        for one in rules.get("policies") or ()
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies,
        "Tolerance": rules.get("tolerance"),
    }


def from_v1(obj: Object) -> Object:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    annotations = obj["metadata"].get("annotations") or {}
    made: Object = {key: spec[key] for key in SPEC_FIELDS if key in spec}
    metrics = [_new_metric(one, SPEC_SOURCES, "target") for one in _carried_list(annotations, METRICS)]
    if spec.get("targetCPUUtilizationPercentage") is not None:
        metrics.append(_cpu_metric(spec["targetCPUUtilizationPercentage"]))
    made["metrics"] = metrics or [_cpu_metric(CPU_UTILIZATION)]
    behavior = _behavior(annotations)
    if behavior:
        made["behavior"] = behavior
    shown: Object = {key: status[key] for key in STATUS_FIELDS if key in status}
    shown.setdefault("desiredReplicas", 0)
    if status.get("currentReplicas"):
        shown["currentReplicas"] = status["currentReplicas"]
    shown["currentMetrics"] = _current_metrics(status, annotations)
    conditions = _carried_list(annotations, CONDITIONS)
    if conditions:
        shown["conditions"] = conditions
    meta = _with_annotations(obj["metadata"], {})
    return {**obj, "metadata": meta, "spec": made, "status": shown}


def _current_metrics(status: Object, annotations: Object) -> list[Object] | None:
    metrics = [_new_metric(one, STATUS_SOURCES, "current") for one in _carried_list(annotations, STATUSES)]
    if metrics:
        return metrics
    utilization = status.get("currentCPUUtilizationPercentage")
    if utilization is None:
        return None
    return [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": utilization}}}]


def _carried_list(annotations: Object, key: str) -> list[Object]:
    """Returns the list in an annotation; it is empty if the server did not write the annotation."""
    try:
        found = json.loads(annotations.get(key) or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _behavior(annotations: Object) -> Object:
    try:
        found = json.loads(annotations.get(BEHAVIOR) or "{}")
    except ValueError:
        return {}
    rules = {field: _rules(found.get(field[0].upper() + field[1:])) for field in ("scaleUp", "scaleDown")}
    return {field: value for field, value in rules.items() if value is not None}


def _rules(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    made = {key[0].lower() + key[1:]: value for key, value in rules.items() if value is not None}
    if "policies" in made:
        made["policies"] = [{key[0].lower() + key[1:]: value for key, value in one.items()} for one in made["policies"]]
    return made


def _new_metric(metric: Object, sources: Mapping[str, tuple[tuple[str, str, Any], ...]], holder: str) -> Object:
    made: Object = {"type": metric.get("type") or ""}
    for kind, fields in sources.items():
        if metric.get(kind) is None:
            continue
        source: Object = made.setdefault(kind, {})
        for field, place, _ in fields:
            if field in metric[kind]:
                _put(source, place, metric[kind][field])
        values = source.setdefault(holder, {})
        if holder == "target":
            values["type"] = _target_type(kind, values)
    return made


def _put(source: Object, place: str, value: Any) -> None:
    *path, last = place.split(".")
    for key in path:
        source = source.setdefault(key, {})
    source[last] = value


def _target_type(kind: str, target: Object) -> str:
    if target.get("averageUtilization") is not None:
        return "Utilization"
    if kind == "object":
        return "Value" if target.get("averageValue") is None else "AverageValue"
    return "Value" if kind == "external" and target.get("value") is not None else "AverageValue"
