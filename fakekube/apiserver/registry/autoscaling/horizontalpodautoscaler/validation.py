"""HorizontalPodAutoscalers in the form of autoscaling/v2 (`ValidateHorizontalPodAutoscaler`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.resourcenames import container_name_problems, number_of
from fakekube.apiserver.registry.generic.validation.content import NEGATIVE
from fakekube.apiserver.registry.generic.validation.field import SKIPPED, Field

Object = dict[str, Any]

LONGEST_PERIOD, LONGEST_WINDOW = 1800, 3600

SELECT_POLICIES = ("Disabled", "Max", "Min")

POLICY_TYPES = ("Percent", "Pods")

METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")

TARGET_TYPES = ("Utilization", "Value", "AverageValue")


#: The fields with the source of a metric, in the order in which they are validated, and the type of each.
SOURCES = {
    "object": "Object",
    "external": "External",
    "pods": "Pods",
    "resource": "Resource",
    "containerResource": "ContainerResource",
}


def validate(autoscaler: Field, before: Field = SKIPPED) -> None:
    """`before` is the stored spec."""
    spec = autoscaler["spec"]
    low, high, target = spec.get("minReplicas"), spec["maxReplicas"], spec["scaleTargetRef"]
    least = 0 if before["minReplicas"].value == 0 else 1
    low.at_least(least, f"must be greater than or equal to {least}")
    if since(36):
        high.required("must be set and greater than 0").at_least(1, "must be greater than or equal to 1")
    else:
        high.at_least(1, "must be greater than 0")
    if low.value is not None and high.number < low.value:
        high.invalid("must be greater than or equal to `minReplicas`", high.number)
    _validate_reference(target)
    stored = before["scaleTargetRef"]["apiVersion"]
    if not since(34):
        pass  # any version was accepted
    elif stored.value is None or target["apiVersion"].value != stored.value:
        _validate_version(target["apiVersion"], grouped=target["kind"].value != "ReplicationController")
    _validate_metrics(spec, before)
    for rules in spec["behavior"].members(("scaleUp", "scaleDown")):
        _validate_scaling_rules(rules)


def validate_update(new: Field, old: Field) -> None:
    validate(new, old["spec"])


def validate_status_update(new: Field, old: Field) -> None:
    new["status"].non_negative_members("currentReplicas", "desiredReplicas")


def _validate_reference(reference: Field) -> None:
    for field in ("kind", "name"):
        reference[field].required().check(names.path_segment_problems)


def _validate_version(version: Field, *, grouped: bool) -> None:
    """`grouped`: the version has a group."""
    if version.text.count("/") > 1:
        version.invalid(f"unexpected GroupVersion string: {version.text}")
    elif grouped and not version.text.rpartition("/")[0]:
        version.invalid("apiVersion must specify API group")


# --- behavior ------------------------------------------------------------------------------------------------------


def _validate_scaling_rules(rules: Field) -> None:
    window, tolerance = rules["stabilizationWindowSeconds"], rules["tolerance"]
    window.at_least(0, "must be greater than or equal to zero")
    window.at_most(LONGEST_WINDOW, f"must be less than or equal to {LONGEST_WINDOW}")
    rules.get("selectPolicy").one_of(SELECT_POLICIES)
    for policy in rules["policies"].required("must specify at least one Policy"):
        policy["type"].one_of(POLICY_TYPES)
        policy["value"].positive()
        policy["periodSeconds"].positive().at_most(LONGEST_PERIOD, f"must be less than or equal to {LONGEST_PERIOD}")
    if tolerance.value is not None and number_of(tolerance.value) < 0:
        tolerance.invalid(NEGATIVE)


# --- metrics -------------------------------------------------------------------------------------------------------


def _validate_metrics(spec: Field, before: Field) -> None:
    metrics = spec["metrics"]
    known = [metric["object"]["describedObject"].value for metric in before["metrics"]]
    for metric in metrics:
        _validate_metric(metric, known)
    if spec["minReplicas"].value == 0 and not any(one["type"].value in ("Object", "External") for one in metrics):
        metrics.forbidden("must specify at least one Object or External metric to support scaling to zero replicas")


def _validate_metric(metric: Field, known: Sequence[Object | None]) -> None:
    """Of its sources only the first is validated, and there is no second one. `known` are the objects of the stored
    metrics, whose versions stay valid."""
    kind = metric["type"]
    kind.required("must specify a metric source type")
    kind.one_of(METRIC_TYPES)
    sources = metric.members(SOURCES)
    for source in sources[:1]:
        if source.key == "object":
            described = source["describedObject"].with_value(source["describedObject"].struct)
            _validate_reference(described)
            if described.value not in known:
                _validate_version(described["apiVersion"], grouped=False) if since(34) else None
        RULES[source.key](source)
    kind.one_of(METRIC_TYPES)
    for field, type in SOURCES.items():
        if type == kind.value:
            metric[field].specified("must populate information for the given metric source")
    for source in sources if len(sources) > 1 else ():
        if SOURCES[source.key] != kind.value:
            source.forbidden("must populate the given metric source only")


def _validate_identified(source: Field) -> Field:
    """Returns the target."""
    source["metric"]["name"].required("must specify a metric name").check(names.path_segment_problems)
    return _validate_target(source)


def _validate_target(source: Field) -> Field:
    target = source["target"]
    kind, utilization = target["type"], target.get("averageUtilization")
    kind.required("must specify a metric target type")
    if kind.value not in TARGET_TYPES:
        kind.invalid("must be either Utilization, Value, or AverageValue")
    for value in target.members(("value", "averageValue")):
        if number_of(value.value) <= 0:
            value.invalid("must be positive")
    utilization.at_least(1, "must be greater than 0")
    return target


def _validate_object(source: Field) -> None:
    target = _validate_identified(source)
    if not target.members(("value", "averageValue")):
        target["averageValue"].missing("must set either a target value or averageValue")


def _validate_either(target: Field, one: str, other: str, first: str, second: str) -> None:
    """One of the two members is set; the errors call them `first` and `second`."""
    found = target.members((one, other))
    if not found:
        target[one].missing(f"must set either {first} or {second}")
    if len(found) == 2:
        target[other].forbidden(f"may not set both {first} and {second}")


def _validate_external(source: Field) -> None:
    target = _validate_identified(source)
    _validate_either(target, "averageValue", "value", "a target value for metric", "a per-pod target")


def _validate_pods(source: Field) -> None:
    _validate_identified(source)["averageValue"].specified("must specify a positive target averageValue")


def _validate_resource(source: Field) -> None:
    source["name"].required("must specify a resource name")
    _validate_resource_target(source)


def _validate_container_resource(source: Field) -> None:
    source["name"].required("must specify a resource name").check(container_name_problems)
    source["container"].required("must specify a container").dns_label()
    _validate_resource_target(source)


def _validate_resource_target(source: Field) -> None:
    target = _validate_target(source)
    _validate_either(target, "averageUtilization", "averageValue", "a target raw value", "a target utilization")


RULES: Mapping[str, Callable[[Field], None]] = {
    "object": _validate_object,
    "external": _validate_external,
    "pods": _validate_pods,
    "resource": _validate_resource,
    "containerResource": _validate_container_resource,
}
