"""ResourceQuotas and LimitRanges (`ValidateResourceQuota`, `ValidateLimitRange`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import (
    COMPUTE,
    HUGE_PAGES,
    allows_overcommit,
    check_quantity,
    container_name_problems,
    name_problems,
    number_of,
)
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, Errors, add, qualified_name_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_duplicate, field_forbidden, field_invalid, field_required

Object = dict[str, Any]
Quantities = Mapping[str, str]

#: Resources that a quota may name without a domain.
STANDARD = frozenset(
    [
        *("cpu", "memory", "ephemeral-storage"),
        *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims"),
        *("configmaps", "services.nodeports", "services.loadbalancers"),
    ]
)

#: What the scopes can be asked about.
PODS = frozenset(("pods",))
OF_PODS = PODS | {*COMPUTE, *(f"{kind}.{name}" for kind in ("limits", "requests") for name in COMPUTE)}
OF_CLAIMS = frozenset(("persistentvolumeclaims", "requests.storage"))
SCOPES = {
    "BestEffort": PODS,
    "NotBestEffort": OF_PODS,
    "Terminating": OF_PODS,
    "NotTerminating": OF_PODS,
    "PriorityClass": OF_PODS,
    "CrossNamespacePodAffinity": OF_PODS,
    "VolumeAttributesClass": OF_CLAIMS,
}
EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))

#: Scopes that a selector can only ask to be there.
UNVALUED = frozenset(("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"))
ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def is_standard(name: str) -> bool:
    return name in STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def _check_quantities(quantities: Quantities | None, path: str, errors: Errors) -> None:
    for name, value in (quantities or {}).items():
        here = f"{path}[{name}]"
        add(errors, here, name, name_problems(name))
        if "/" not in name and not is_standard(name):
            errors.append(field_invalid(here, name, "must be a standard resource for quota"))
        check_quantity(name, value, here, errors)


def validate_quota(quota: Object) -> list[FieldError]:
    errors: Errors = []
    _check_quota_spec(quota.get("spec") or {}, errors)
    return errors


def validate_quota_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    after, before = new.get("spec") or {}, old.get("spec") or {}
    _check_quota_spec(after, errors)
    if set(after.get("scopes") or ()) != set(before.get("scopes") or ()):
        errors.append(field_invalid("spec.scopes", after.get("scopes") or None, IMMUTABLE))
    return errors


def validate_quota_status(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    status = new.get("status") or {}
    for field in ("hard", "used"):
        _check_quantities(status.get(field), f"status.{field}", errors)
    return errors


def _check_quota_spec(spec: Object, errors: Errors) -> None:
    _check_quantities(spec.get("hard"), "spec.hard", errors)
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in SCOPES:
            errors.append(field_invalid("spec.scopes", scopes, "unsupported scope"))
        for _ in _beyond(scope, spec):
            errors.append(field_invalid("spec.scopes", scopes, "unsupported scope applied to resource"))
    _check_exclusive(scopes, scopes, "spec.scopes", errors)
    if spec.get("scopeSelector") is not None:
        _check_selector(spec, errors)


def _beyond(scope: str, spec: Object) -> list[str]:
    """The resources of the quota that a scope says nothing of."""
    if scope not in SCOPES:
        return []
    return [name for name in sorted(spec.get("hard") or ()) if is_standard(name) and name not in SCOPES[scope]]


def _check_exclusive(found: list[str], shown: list[str], path: str, errors: Errors) -> None:
    for pair in EXCLUSIVE:
        if set(pair) <= set(found):
            errors.append(field_invalid(path, shown or None, "conflicting scopes"))


def _check_selector(spec: Object, errors: Errors) -> None:
    path, selector = "spec.scopeSelector.matchExpressions", spec["scopeSelector"]
    expressions = selector.get("matchExpressions") or ()
    for one in expressions:
        scope, operator = one.get("scopeName") or "", one.get("operator") or ""
        if scope not in SCOPES:
            errors.append(field_invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for _ in _beyond(scope, spec):
            shown = gostructs.marshal({"MatchExpressions": [_requirement(each) for each in expressions]})
            why = f"Invalid value: {shown}: unsupported scope applied to resource"
            errors.append(FieldError(path, "FieldValueInvalid", why))
        if scope in UNVALUED and operator != "Exists":
            errors.append(field_invalid(f"{path}.operator", operator, ONLY_EXISTS))
        _check_values(operator, one.get("values") or [], path, errors)
    _check_exclusive([one.get("scopeName") or "" for one in expressions], spec.get("scopes") or [], path, errors)


def _requirement(one: Object) -> Object:
    return {"ScopeName": one.get("scopeName", ""), "Operator": one.get("operator", ""), "Values": one.get("values")}


def _check_values(operator: str, values: list[str], path: str, errors: Errors) -> None:
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(field_required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(field_invalid(f"{path}.values", values, why))
    else:
        errors.append(field_invalid(f"{path}.operator", operator, "not a valid selector operator"))


# --- limit ranges --------------------------------------------------------------------------------------------------

LIMIT_TYPES = frozenset(("Pod", "Container", "PersistentVolumeClaim"))


def validate_limit_range(obj: Object) -> list[FieldError]:
    errors: Errors = []
    seen: set[str] = set()
    for i, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{i}]", limit.get("type") or ""
        problems = qualified_name_problems(kind)
        add(errors, f"{path}.type", kind, problems)
        if not problems and "/" not in kind and kind not in LIMIT_TYPES:
            why = "must be a standard limit type or fully qualified"
            errors.append(field_invalid(f"{path}.type", kind, why))
        if kind in seen:
            errors.append(field_duplicate(f"{path}.type", kind))
        seen.add(kind)
        _check_limit(limit, kind, path, errors)
    return errors


def validate_limit_range_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    return errors + validate_limit_range(new)


def _check_limit(limit: Object, kind: str, path: str, errors: Errors) -> None:
    problems_of = container_name_problems if kind in ("Pod", "Container") else name_problems
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if field == "maxLimitRequestRatio":
            _check_claim_bounds(limit, kind, path, errors)
        if kind == "Pod" and field in ("default", "defaultRequest"):
            if limit.get(field):
                errors.append(field_forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in limit.get(field) or ():
            add(errors, f"{path}.{field}[{name}]", name, problems_of(name))
    fields = ("max", "min", "maxLimitRequestRatio") if kind == "Pod" else FIELDS
    found = {field: limit.get(field) or {} for field in fields}
    for name in dict.fromkeys(name for values in found.values() for name in values):
        _check_bounds({field: values[name] for field, values in found.items() if name in values}, name, path, errors)


FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _check_claim_bounds(limit: Object, kind: str, path: str, errors: Errors) -> None:
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(field) or {}) for field in ("min", "max")):
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(field_required(f"{path}.limits", why))


#: Lower bound, upper bound, the field that is said to be wrong, which of the two is shown, and what they are called.
BOUNDS = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min", "defaultRequest", "defaultRequest", "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest", "max", "defaultRequest", "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest", "default", "defaultRequest", "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip


def _check_bounds(values: Mapping[str, str], name: str, path: str, errors: Errors) -> None:
    numbers = {field: number_of(value) for field, value in values.items()}
    for lower, upper, field, shown, text in BOUNDS:
        if lower in values and upper in values and numbers[lower] > numbers[upper]:
            why = text.format(values[lower], values[upper])
            errors.append(field_invalid(f"{path}.{field}[{name}]", values[shown], why))
    _check_ratio(values, numbers, f"{path}.maxLimitRequestRatio[{name}]", errors)
    given = numbers.keys() >= {"default", "defaultRequest"}
    if given and not allows_overcommit(name) and numbers["default"] != numbers["defaultRequest"]:
        why = (
            f"default value {values['default']} must equal to defaultRequest value {values['defaultRequest']} in {name}"
        )
        errors.append(field_invalid(f"{path}.defaultRequest[{name}]", values["defaultRequest"], why))


def _check_ratio(values: Mapping[str, str], numbers: Mapping[str, Decimal], path: str, errors: Errors) -> None:
    ratio = numbers.get("maxLimitRequestRatio")
    if ratio is None:
        return
    shown = values["maxLimitRequestRatio"]
    if ratio < 1:
        errors.append(field_invalid(path, shown, f"ratio {shown} is less than 1"))
    if "min" in numbers and "max" in numbers and numbers["min"]:
        most = numbers["max"] / numbers["min"]
        if ratio > most:
            errors.append(field_invalid(path, shown, f"ratio {shown} is greater than max/min = {float(most):f}"))
