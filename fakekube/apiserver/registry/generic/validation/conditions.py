"""Conditions in a status, as most kinds have them (apimachinery `ValidateConditions`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_name
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]

STATUSES = ("False", "True", "Unknown")
LONGEST_REASON, LONGEST_MESSAGE = 1024, 32 * 1024

REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
REASON_MESSAGE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")

_reason = re.compile(REASON)


def check_conditions(conditions: Sequence[Object], path: str, errors: Errors) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        type = condition.get("type") or ""
        if type in seen:
            errors.append(field_duplicate(f"{path}[{i}].type", type))
        seen.add(type)
        check_condition(condition, f"{path}[{i}]", errors)


def check_condition(condition: Object, path: str, errors: Errors) -> None:
    check_label_name(condition.get("type") or "", f"{path}.type", errors)
    status, reason = condition.get("status") or "", condition.get("reason") or ""
    if status not in STATUSES:
        errors.append(field_not_supported(f"{path}.status", status, STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        why = "must be greater than or equal to zero"
        errors.append(field_invalid(f"{path}.observedGeneration", generation, why))
    if not condition.get("lastTransitionTime"):
        errors.append(field_required(f"{path}.lastTransitionTime", "must be set"))
    if not reason:
        errors.append(field_required(f"{path}.reason", "must be set"))
    elif not _reason.fullmatch(reason):
        why = names.regex_message(REASON_MESSAGE, REASON, *EXAMPLES)
        errors.append(field_invalid(f"{path}.reason", reason, why))
    if len(reason.encode()) > LONGEST_REASON:
        errors.append(field_too_long(f"{path}.reason", LONGEST_REASON))
    if len((condition.get("message") or "").encode()) > LONGEST_MESSAGE:
        errors.append(field_too_long(f"{path}.message", LONGEST_MESSAGE))


def validate_conditions(conditions: Field) -> None:
    seen: set[str] = set()
    for condition in conditions:
        condition["type"].unique(seen)
        validate_condition(condition)


def validate_condition(condition: Field) -> None:
    condition["type"].qualified_name()
    condition["status"].one_of(STATUSES)
    generation = condition["observedGeneration"]
    if generation.number < 0:
        generation.invalid("must be greater than or equal to zero")
    condition["lastTransitionTime"].required("must be set")
    condition["reason"].required("must be set").check(_reason_problems).max_bytes(LONGEST_REASON)
    condition["message"].max_bytes(LONGEST_MESSAGE)


def _reason_problems(reason: str) -> list[str]:
    return [] if _reason.fullmatch(reason) else [names.regex_message(REASON_MESSAGE, REASON, *EXAMPLES)]
