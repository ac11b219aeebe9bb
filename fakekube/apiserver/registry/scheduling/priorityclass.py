"""PriorityClass (`ValidatePriorityClass`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podspec import PREEMPTION_POLICIES
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    boolean,
    columns,
    integer,
    name_of,
)
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def default_priority_class(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


HIGHEST = 1_000_000_000
"""The highest priority that is not the system's own."""


SYSTEM_PREFIX = "system-"

SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def validate(priority_class: Field) -> None:
    name, value = priority_class["metadata"]["name"], priority_class["value"]
    if name.text.startswith(SYSTEM_PREFIX):
        problem = _system_problem(priority_class.value, name.text, value.number)
        if problem:
            reserved = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            name.forbidden(f"{reserved}. error: {problem}")
    elif value.number > HIGHEST:
        value.forbidden(f"maximum allowed value of a user defined priority is {HIGHEST}")
    priority_class.get("preemptionPolicy").required().one_of(PREEMPTION_POLICIES)


def _system_problem(obj: Object, name: str, value: int) -> str:
    known = SYSTEM_PRIORITIES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""


def validate_update(new: Field, old: Field) -> None:
    if new["value"].number != old["value"].number:
        new["value"].forbidden("may not be changed in an update.")
    new["preemptionPolicy"].immutable(old["preemptionPolicy"])


def _priority_class(obj: Object, ages: Ages) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    return [name_of(obj), obj.get("value") or 0, default, age_of(obj, ages), obj.get("preemptionPolicy") or ""]


def _without_policy(obj: Object, ages: Ages) -> list[Any]:
    return _priority_class(obj, ages)[:-1]


KIND = Kind(
    "priorityclasses.scheduling.k8s.io",
    Strategy(
        default=default_priority_class,
        constant_generation=True,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(
        columns(NAME, integer("Value"), boolean("Global-Default"), AGE, "PreemptionPolicy"), _priority_class
    ),
    printers_before={32: Printer(columns(NAME, integer("Value"), boolean("Global-Default"), AGE), _without_policy)},
)
