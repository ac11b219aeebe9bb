"""ResourceQuota (`ValidateResourceQuota`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.core.resourcenames import (
    COMPUTE,
    HUGE_PAGES,
    name_problems,
    number_of,
    validate_quantity,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy, no_update_warnings
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

#: Resources that a quota can name without a domain.
STANDARD = frozenset(
    [
        *("cpu", "memory", "ephemeral-storage"),
        *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims"),
        *("configmaps", "services.nodeports", "services.loadbalancers"),
    ]
)


#: The resources that a scope applies to.
PODS = frozenset(("pods",))

OF_PODS = PODS | {*COMPUTE, *(f"{kind}.{name}" for kind in ("limits", "requests") for name in COMPUTE)}

OF_CLAIMS = frozenset(("persistentvolumeclaims", "requests.storage"))


SCOPES: dict[str, frozenset[str]] = {
    "BestEffort": PODS,
    "NotBestEffort": OF_PODS,
    "Terminating": OF_PODS,
    "NotTerminating": OF_PODS,
    "PriorityClass": OF_PODS,
    "CrossNamespacePodAffinity": OF_PODS,
    "VolumeAttributesClass": OF_CLAIMS,
}


EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))

#: Scopes that a selector can test for existence only.
UNVALUED = frozenset(("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"))


ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _is_scope(name: str) -> bool:
    return name in SCOPES and (since(33) or name != "VolumeAttributesClass")


def is_standard(name: str) -> bool:
    return name in STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def _validate_quantities(quantities: Field) -> None:
    for quantity in quantities.entries():
        name = quantity.with_value(quantity.key).check(name_problems)
        if "/" not in name.text and not is_standard(name.text):
            name.invalid("must be a standard resource for quota")
        validate_quantity(quantity, name.text)


def validate(quota: Field) -> None:
    spec = quota["spec"]
    scopes, selector = spec["scopes"], spec["scopeSelector"]
    _validate_quantities(spec["hard"])
    for scope in scopes:
        if not _is_scope(scope.text):
            scopes.invalid("unsupported scope")
        for _ in _beyond(scope.text, spec["hard"]):
            scopes.invalid("unsupported scope applied to resource")
    _validate_exclusive(scopes.value or (), scopes, scopes)
    if selector.value is not None:
        _validate_selector(selector["matchExpressions"], spec)


def validate_update(new: Field, old: Field) -> None:
    validate(new)
    scopes = new["spec"]["scopes"]
    if set(scopes.value or ()) != set(old["spec"]["scopes"].value or ()):
        scopes.invalid(IMMUTABLE, scopes.value)


def validate_status_update(new: Field, old: Field) -> None:
    _validate_quantities(new["status"]["hard"])
    _validate_quantities(new["status"]["used"])


def _beyond(scope: str, hard: Field) -> list[str]:
    """The resources of the quota that a scope does not apply to."""
    if not _is_scope(scope):
        return []
    return [name for name in hard.struct if is_standard(name) and name not in SCOPES[scope]]


def _validate_exclusive(found: Sequence[str], path: Field, scopes: Field) -> None:
    for pair in EXCLUSIVE:
        if set(pair) <= set(found):
            path.invalid("conflicting scopes", scopes.value)


def _validate_selector(expressions: Field, spec: Field) -> None:
    for one in expressions:
        scope, operator = one["scopeName"].text, one["operator"].text
        if not _is_scope(scope):
            expressions.at("scopeName", scope).invalid("unsupported scope")
        for _ in _beyond(scope, spec["hard"]):
            shown = {"MatchExpressions": [_go_requirement(each) for each in expressions]}
            expressions.with_value(shown).invalid_go("unsupported scope applied to resource")
        if scope in UNVALUED and operator != "Exists":
            expressions.at("operator", operator).invalid(ONLY_EXISTS)
        _validate_values(expressions.at("values", one["values"].value), operator)
    _validate_exclusive([one["scopeName"].text for one in expressions], expressions, spec["scopes"])


def _go_requirement(one: Field) -> Object:
    return {"ScopeName": one["scopeName"].text, "Operator": one["operator"].text, "Values": one["values"].value}


def _validate_values(values: Field, operator: str) -> None:
    if operator in ("In", "NotIn"):
        values.required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
    elif operator in ("Exists", "DoesNotExist"):
        values.optional().invalid("must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
    else:
        values.parent.at("operator", operator).invalid_go("not a valid selector operator")


def _quota(obj: Object, ages: Ages) -> list[Any]:
    hard, used = get(obj, "status.hard", {}), get(obj, "status.used", {})
    shown = {resource: f"{resource}: {used.get(resource, '0')}/{hard[resource]}" for resource in sorted(hard)}
    limits = [resource for resource in shown if resource.startswith("limits.")]
    requests = [resource for resource in shown if resource not in limits]
    return [name_of(obj), *(", ".join(shown[one] for one in part) for part in (requests, limits)), age_of(obj, ages)]


def default_quota(obj: Object) -> None:
    round_up_all(obj.get("spec") or {}, ("hard",))
    round_up_all(obj.get("status") or {}, ("hard", "used"))


#: The resources whose requests are compared with their limits (`knownResourceNames`).
COMPARED = ("cpu", "memory", "storage", "ephemeral-storage")


def quota_warnings(quota: Object) -> list[str]:
    """Warns about requests that may exceed the limits (`WarningsOnCreate`)."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    warnings: list[str] = []
    if not since(35):
        return warnings
    for name in COMPARED:
        asked, limit = f"requests.{name}", f"limits.{name}"
        if asked not in hard and name in ("cpu", "memory"):
            asked = name
        if asked in hard and limit in hard and number_of(hard[asked]) > number_of(hard[limit]):
            warnings.append(f"ResourceQuota {asked} ({hard[asked]}) should be less than {limit} ({hard[limit]})")
    return warnings


KIND = Kind(
    "resourcequotas",
    Strategy(
        returns_deleted=True,
        default=default_quota,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
        warnings=quota_warnings,
        update_warnings=no_update_warnings,
    ),
    printer=Printer(columns(NAME, "Request", "Limit", AGE), _quota),
)
