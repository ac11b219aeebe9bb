"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.resourcenames import check_container_resource, number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import NOT_POSITIVE, Errors, check_nonnegative
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

LONGEST_PERIOD, LONGEST_WINDOW = 1800, 3600


SELECT_POLICIES = ("Disabled", "Max", "Min")


POLICY_TYPES = ("Percent", "Pods")


METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")


TARGET_TYPES = ("Utilization", "Value", "AverageValue")


#: Fields with a metric's source, in the order in which they are looked at, and the type of each.
SOURCES = {
    "object": "Object",
    "external": "External",
    "pods": "Pods",
    "resource": "Resource",
    "containerResource": "ContainerResource",
}


def validate(autoscaler: Object) -> Errors:
    errors: Errors = []
    _check(autoscaler.get("spec") or {}, {}, errors)
    return errors


def validate_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    _check(new.get("spec") or {}, old.get("spec") or {}, errors)
    return errors


def validate_status_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    status = new.get("status") or {}
    for field in ("currentReplicas", "desiredReplicas"):
        check_nonnegative(status.get(field), f"status.{field}", errors)
    return errors


def _check(spec: Object, before: Object, errors: Errors) -> None:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    least = 0 if before.get("minReplicas") == 0 else 1
    if low is not None and low < least:
        errors.append(field_invalid("spec.minReplicas", low, f"must be greater than or equal to {least}"))
    if not high:
        errors.append(field_required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 1:
        errors.append(field_invalid("spec.maxReplicas", high, "must be greater than 0"))
    if low is not None and high < low:
        why = "must be greater than or equal to `minReplicas`"
        errors.append(field_invalid("spec.maxReplicas", high, why))
    target: Object = spec.get("scaleTargetRef") or {}
    _check_reference(target, "spec.scaleTargetRef", errors)
    if target.get("apiVersion") != (before.get("scaleTargetRef") or {}).get("apiVersion", False):
        grouped = target.get("kind") != "ReplicationController"
        _check_version(target, "spec.scaleTargetRef", errors, grouped=grouped)
    _check_metrics(spec, before, errors)
    behavior: Object = spec.get("behavior") or {}
    for field in ("scaleUp", "scaleDown"):
        if behavior.get(field) is not None:
            _check_rules(behavior[field], f"spec.behavior.{field}", errors)


def _check_segment(value: str, path: str, errors: Errors, missing: str = "") -> None:
    if value:
        content.add(errors, path, value, names.path_segment_problems(value))
    else:
        errors.append(field_required(path, missing))


def _check_reference(reference: Object, path: str, errors: Errors) -> None:
    for field in ("kind", "name"):
        _check_segment(reference.get(field) or "", f"{path}.{field}", errors)


def _check_version(reference: Object, path: str, errors: Errors, *, grouped: bool) -> None:
    """`grouped`: the version must name a group."""
    version: str = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        errors.append(field_invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif grouped and not version.rpartition("/")[0]:
        errors.append(field_invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))


def _check_rules(rules: Object, path: str, errors: Errors) -> None:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None:
        here = f"{path}.stabilizationWindowSeconds"
        if window < 0:
            errors.append(field_invalid(here, window, "must be greater than or equal to zero"))
        if window > LONGEST_WINDOW:
            errors.append(field_invalid(here, window, f"must be less than or equal to {LONGEST_WINDOW}"))
    if select is not None and select not in SELECT_POLICIES:
        errors.append(field_not_supported(f"{path}.selectPolicy", select, SELECT_POLICIES))
    policies: Sequence[Object] = rules.get("policies") or ()
    if not policies:
        errors.append(field_required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(policies):
        _check_policy(policy, f"{path}.policies[{i}]", errors)
    tolerance = rules.get("tolerance")
    if tolerance is not None and number_of(tolerance) < 0:
        errors.append(field_invalid(f"{path}.tolerance", tolerance, content.NEGATIVE))


def _check_policy(policy: Object, path: str, errors: Errors) -> None:
    content.check_supported(policy.get("type") or "", POLICY_TYPES, f"{path}.type", errors)
    for field in ("value", "periodSeconds"):
        number = policy.get(field) or 0
        if number <= 0:
            errors.append(field_invalid(f"{path}.{field}", number, NOT_POSITIVE))
    period = policy.get("periodSeconds") or 0
    if period > LONGEST_PERIOD:
        why = f"must be less than or equal to {LONGEST_PERIOD}"
        errors.append(field_invalid(f"{path}.periodSeconds", period, why))


def _check_metrics(spec: Object, before: Object, errors: Errors) -> None:
    metrics: Sequence[Object] = spec.get("metrics") or ()
    known = [(one.get("object") or {}).get("describedObject") for one in before.get("metrics") or ()]
    for i, metric in enumerate(metrics):
        _check_metric(metric, known, f"spec.metrics[{i}]", errors)
    if spec.get("minReplicas") == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(field_forbidden("spec.metrics", why))


def _check_metric(metric: Object, known: Sequence[Object | None], path: str, errors: Errors) -> None:
    """Of its sources only the first is looked at, and there must be no second one."""
    kind = metric.get("type") or ""
    unknown = field_not_supported(f"{path}.type", kind, METRIC_TYPES)
    if not kind:
        errors.append(field_required(f"{path}.type", "must specify a metric source type"))
    if kind not in METRIC_TYPES:
        errors.append(unknown)
    present = [field for field in SOURCES if metric.get(field) is not None]
    for field in present[:1]:
        source, here = metric[field], f"{path}.{field}"
        if field == "object":
            _check_described(source.get("describedObject") or {}, known, f"{here}.describedObject", errors)
        CHECKS[field](source, here, errors)
    if kind not in METRIC_TYPES:
        errors.append(unknown)
    for field, type in SOURCES.items():
        if type == kind and field not in present:
            why = "must populate information for the given metric source"
            errors.append(field_required(f"{path}.{field}", why))
    if len(present) > 1:
        errors += [
            field_forbidden(f"{path}.{field}", "must populate the given metric source only")
            for field in present
            if SOURCES[field] != kind
        ]


def _check_described(described: Object, known: Sequence[Object | None], path: str, errors: Errors) -> None:
    _check_reference(described, path, errors)
    if described not in known:
        _check_version(described, path, errors, grouped=False)


def _check_identified(source: Object, path: str, errors: Errors) -> Object:
    metric: Object = source.get("metric") or {}
    _check_segment(metric.get("name") or "", f"{path}.metric.name", errors, "must specify a metric name")
    return _check_target(source, path, errors)


def _check_target(source: Object, path: str, errors: Errors) -> Object:
    target: Object = source.get("target") or {}
    kind, path = target.get("type") or "", f"{path}.target"
    if not kind:
        errors.append(field_required(f"{path}.type", "must specify a metric target type"))
    if kind not in TARGET_TYPES:
        why = "must be either Utilization, Value, or AverageValue"
        errors.append(field_invalid(f"{path}.type", kind, why))
    for field in ("value", "averageValue"):
        if target.get(field) is not None and number_of(target[field]) <= 0:
            errors.append(field_invalid(f"{path}.{field}", target[field], "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(field_invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return target


def _check_object(source: Object, path: str, errors: Errors) -> None:
    target = _check_identified(source, path, errors)
    if target.get("value") is None and target.get("averageValue") is None:
        why = "must set either a target value or averageValue"
        errors.append(field_required(f"{path}.target.averageValue", why))


def _check_external(source: Object, path: str, errors: Errors) -> None:
    target = _check_identified(source, path, errors)
    given = [field for field in ("value", "averageValue") if target.get(field) is not None]
    if not given:
        why = "must set either a target value for metric or a per-pod target"
        errors.append(field_required(f"{path}.target.averageValue", why))
    if len(given) == 2:
        why = "may not set both a target value for metric and a per-pod target"
        errors.append(field_forbidden(f"{path}.target.value", why))


def _check_pods(source: Object, path: str, errors: Errors) -> None:
    target = _check_identified(source, path, errors)
    if target.get("averageValue") is None:
        why = "must specify a positive target averageValue"
        errors.append(field_required(f"{path}.target.averageValue", why))


def _check_resource(source: Object, path: str, errors: Errors) -> None:
    if not source.get("name"):
        errors.append(field_required(f"{path}.name", "must specify a resource name"))
    _check_share(source, path, errors)


def _check_container_resource(source: Object, path: str, errors: Errors) -> None:
    if source.get("name"):
        check_container_resource(source["name"], f"{path}.name", errors)
    else:
        errors.append(field_required(f"{path}.name", "must specify a resource name"))
    if source.get("container"):
        content.check_dns_label(source["container"], f"{path}.container", errors)
    else:
        errors.append(field_required(f"{path}.container", "must specify a container"))
    _check_share(source, path, errors)


def _check_share(source: Object, path: str, errors: Errors) -> None:
    target = _check_target(source, path, errors)
    given = [field for field in ("averageUtilization", "averageValue") if target.get(field) is not None]
    if not given:
        why = "must set either a target raw value or a target utilization"
        errors.append(field_required(f"{path}.target.averageUtilization", why))
    if len(given) == 2:
        why = "may not set both a target raw value and a target utilization"
        errors.append(field_forbidden(f"{path}.target.averageValue", why))


CHECKS: dict[str, Callable[[Object, str, Errors], None]] = {
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container_resource,
}
