"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.conditions import check_conditions
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct

Object = dict[str, Any]

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate(budget: Object) -> Errors:
    errors: Errors = []
    _check(budget.get("spec") or {}, errors)
    return errors


def validate_update(new: Object, old: Object) -> Errors:
    """Values that no label has stay where there were some."""
    errors: Errors = []
    lenient = labelselectors.has_invalid_values((old.get("spec") or {}).get("selector"))
    _check(new.get("spec") or {}, errors, any_values=lenient)
    return errors


def _check(spec: Object, errors: Errors, *, any_values: bool = False) -> None:
    numbers = [field for field in ("minAvailable", "maxUnavailable") if spec.get(field) is not None]
    if len(numbers) == 2:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid_struct("spec", "PodDisruptionBudgetSpec", spec, why))
    for field in numbers:
        content.check_int_or_percent(spec[field], f"spec.{field}", errors)
        content.check_at_most_all(spec[field], f"spec.{field}", errors)
    labelselectors.check_label_selector(spec.get("selector"), "spec.selector", errors, any_values=any_values)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        content.check_supported(policy, EVICTION_POLICIES, "spec.unhealthyPodEvictionPolicy", errors)


def validate_status_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    status = new.get("status") or {}
    check_conditions(status.get("conditions") or (), "status.conditions", errors)
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        check_nonnegative(status.get(field), f"status.{field}", errors)
    return errors


def _budget(obj: Object, ages: Ages) -> list[Any]:
    bounds = [str(get(obj, f"spec.{field}", "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, get(obj, "status.disruptionsAllowed", 0), age_of(obj, ages)]


KIND = Kind(
    "poddisruptionbudgets.policy",
    Strategy(
        generation=("spec",),
        unconditional_update=False,
        validate=validate,
        validate_update=validate_update,
        validate_status_update=validate_status_update,
    ),
    printer=Printer(columns(NAME, "Min Available", "Max Unavailable", integer("Allowed Disruptions"), AGE), _budget),
)
