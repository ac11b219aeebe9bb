"""Conditions in a status, as most kinds have them (apimachinery `ValidateConditions`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation.field import Field

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
