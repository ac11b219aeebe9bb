"""LimitRange (`ValidateLimitRange`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.core.resourcenames import (
    allows_overcommit,
    container_name_problems,
    name_problems,
    number_of,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import qualified_name_problems
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def prepare_limit_range(obj: Object) -> Object:
    """A LimitRange without a name is named after its uid. (The real server generates another UUID.)"""
    meta = obj["metadata"]
    return obj if meta.get("name") else {**obj, "metadata": {**meta, "name": meta["uid"]}}


def default_limit_range(obj: Object) -> None:
    """Sets the default limit of containers to the maximum, and the default request to the limit or else to the minimum
    (`SetDefaults_LimitRangeItem`)."""
    for limit in (obj.get("spec") or {}).get("limits") or ():
        round_up_all(limit, FIELDS)
        if limit.get("type") != "Container":
            continue
        limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
        for field, found in (("default", limits), ("defaultRequest", requests)):
            if found:
                limit[field] = found


LIMIT_TYPES = frozenset(("Pod", "Container", "PersistentVolumeClaim"))

FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


#: Lower bound, upper bound, the field of the error, which of the two it shows, and its text.
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


def validate(limit_range: Field) -> None:
    kinds: set[str] = set()
    for limit in limit_range["spec"]["limits"]:
        kind = limit["type"].qualified_name()
        if "/" not in kind.text and kind.text not in LIMIT_TYPES and not qualified_name_problems(kind.text):
            kind.invalid("must be a standard limit type or fully qualified")
        kind.unique(kinds)
        _validate_limit(limit, kind.text)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new)


def _validate_limit(limit: Field, kind: str) -> None:
    problems_of = container_name_problems if kind in ("Pod", "Container") else name_problems
    fields = ("max", "min", "maxLimitRequestRatio") if kind == "Pod" else FIELDS
    for field in FIELDS:
        if field == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            _validate_claim_bounds(limit)
        if field not in fields:
            limit[field].optional().forbidden("may not be specified when `type` is 'Pod'")
            continue
        for quantity in limit[field].entries():
            quantity.with_value(quantity.key).check(problems_of)
    for name in dict.fromkeys(name for field in fields for name in limit[field].struct):
        values = {field: limit[field].struct[name] for field in fields if name in limit[field].struct}
        _validate_bounds(limit, values, name)


def _validate_claim_bounds(limit: Field) -> None:
    if "storage" not in limit["min"].struct and "storage" not in limit["max"].struct:
        limit["limits"].missing("either minimum or maximum storage value is required, but neither was provided")


def _validate_bounds(limit: Field, values: Mapping[str, str], name: str) -> None:
    numbers = {field: number_of(value) for field, value in values.items()}
    for lower, upper, field, shown, text in BOUNDS:
        if lower in values and upper in values and numbers[lower] > numbers[upper]:
            limit[field].entry(name).invalid(text.format(values[lower], values[upper]), values[shown])
    if "maxLimitRequestRatio" in numbers:
        _validate_ratio(limit["maxLimitRequestRatio"].entry(name), numbers)
    given = numbers.keys() >= {"default", "defaultRequest"}
    if given and not allows_overcommit(name) and numbers["default"] != numbers["defaultRequest"]:
        limits, requests = values["default"], values["defaultRequest"]
        why = f"default value {limits} must equal to defaultRequest value {requests} in {name}"
        limit["defaultRequest"].entry(name).invalid(why)


def _validate_ratio(ratio: Field, numbers: Mapping[str, Decimal]) -> None:
    number = numbers["maxLimitRequestRatio"]
    if number < 1:
        ratio.invalid(f"ratio {ratio.text} is less than 1")
    if "min" in numbers and "max" in numbers and numbers["min"]:
        most = numbers["max"] / numbers["min"]
        if number > most:
            ratio.invalid(f"ratio {ratio.text} is greater than max/min = {float(most):f}")


KIND = Kind(
    "limitranges",
    Strategy(
        create_on_update=True,
        default=default_limit_range,
        prepare_create=prepare_limit_range,
        repeats_metadata=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
)
