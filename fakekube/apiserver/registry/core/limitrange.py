"""TODO"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import (
    allows_overcommit,
    container_name_problems,
    name_problems,
    number_of,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import Errors, add, qualified_name_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_duplicate, field_forbidden, field_invalid, field_required

Object = dict[str, Any]


def default_limit_range(obj: Object) -> None:
    """Of containers: the default limit is the highest there is, the default request the limit or else the lowest
    (`SetDefaults_LimitRangeItem`)."""
    for limit in (obj.get("spec") or {}).get("limits") or ():
        if limit.get("type") != "Container":
            continue
        limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
        for field, found in (("default", limits), ("defaultRequest", requests)):
            if found:
                limit[field] = found


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


KIND = Kind(
    "limitranges",
    Strategy(
        create_on_update=True,
        default=default_limit_range,
        repeats_metadata=False,
        validate=validate_limit_range,
        validate_update=validate_limit_range_update,
    ),
)
