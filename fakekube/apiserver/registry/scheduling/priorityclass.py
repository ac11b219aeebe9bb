"""TODO"""

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
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import field_forbidden

Object = dict[str, Any]


def default_priority_class(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


HIGHEST = 1_000_000_000
"""The highest priority that is not the system's own."""


SYSTEM_PREFIX = "system-"


SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def validate_priority_class(obj: Object) -> Errors:
    errors: Errors = []
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith(SYSTEM_PREFIX):
        problem = _system_problem(obj, name, value)
        if problem:
            reserved = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            errors.append(field_forbidden("metadata.name", f"{reserved}. error: {problem}"))
    elif value > HIGHEST:
        why = f"maximum allowed value of a user defined priority is {HIGHEST}"
        errors.append(field_forbidden("value", why))
    policy = obj.get("preemptionPolicy")
    if policy is not None:
        content.check_choice(policy, PREEMPTION_POLICIES, "preemptionPolicy", errors)
    return errors


def _system_problem(obj: Object, name: str, value: int) -> str:
    known = SYSTEM_PRIORITIES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""


def validate_priority_class_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.append(field_forbidden("value", "may not be changed in an update."))
    content.check_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy", errors)
    return errors


def _priority_class(obj: Object, ages: Ages) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    return [name_of(obj), obj.get("value") or 0, default, age_of(obj, ages), obj.get("preemptionPolicy") or ""]


KIND = Kind(
    "priorityclasses.scheduling.k8s.io",
    Strategy(
        default=default_priority_class,
        constant_generation=True,
        validate=validate_priority_class,
        validate_update=validate_priority_class_update,
    ),
    printer=Printer(
        columns(NAME, integer("Value"), boolean("Global-Default"), AGE, "PreemptionPolicy"), _priority_class
    ),
)
