"""TODO"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import COMPUTE, HUGE_PAGES, check_quantity, name_problems
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, Errors, add
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

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


def _quota(obj: Object, ages: Ages) -> list[Any]:
    hard, used = get(obj, "status.hard", {}), get(obj, "status.used", {})
    shown = {resource: f"{resource}: {used.get(resource, '0')}/{hard[resource]}" for resource in sorted(hard)}
    limits = [resource for resource in shown if resource.startswith("limits.")]
    requests = [resource for resource in shown if resource not in limits]
    return [name_of(obj), *(", ".join(shown[one] for one in part) for part in (requests, limits)), age_of(obj, ages)]


KIND = Kind(
    "resourcequotas",
    Strategy(
        returns_deleted=True,
        validate=validate_quota,
        validate_update=validate_quota_update,
        validate_status_update=validate_quota_status,
    ),
    printer=Printer(columns(NAME, "Request", "Limit", AGE), _quota),
)
