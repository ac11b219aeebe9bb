"""PodDisruptionBudget (`ValidatePodDisruptionBudget`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation.conditions import validate_conditions
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values, validate_label_selector
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate(budget: Field, *, any_values: bool = False) -> None:
    spec = budget["spec"]
    numbers = spec.members(("minAvailable", "maxUnavailable"))
    if len(numbers) == 2:
        spec.invalid_struct("PodDisruptionBudgetSpec", "minAvailable and maxUnavailable cannot be both set")
    for number in numbers:
        number.int_or_percent().at_most_all()
    validate_label_selector(spec["selector"], any_values=any_values)
    spec.get("unhealthyPodEvictionPolicy").one_of(EVICTION_POLICIES)


def validate_update(new: Field, old: Field) -> None:
    """Values that no label has stay valid if the stored selector has some."""
    validate(new, any_values=has_invalid_values(old["spec"]["selector"].value))


def validate_status_update(new: Field, old: Field) -> None:
    status = new["status"]
    validate_conditions(status["conditions"])
    status.non_negative_members("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _budget(obj: Object, ages: Ages) -> list[Any]:
    bounds = [str(get(obj, f"spec.{field}", "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, get(obj, "status.disruptionsAllowed", 0), age_of(obj, ages)]


KIND = Kind(
    "poddisruptionbudgets.policy",
    Strategy(
        status_repeats_metadata=False,
        name_check=names.path_segment_problems,
        qualified_finalizers=False,
        metadata_last=True,
        repeats_metadata=False,
        generation=("spec",),
        unconditional_update=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
    ),
    printer=Printer(columns(NAME, "Min Available", "Max Unavailable", integer("Allowed Disruptions"), AGE), _budget),
)
