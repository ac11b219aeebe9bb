"""Validates the conditions in a status (apimachinery `ValidateConditions`)."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.validation.content import pattern_problems
from fakekube.apiserver.registry.generic.validation.field import Field

STATUSES = ("False", "True", "Unknown")
LONGEST_REASON, LONGEST_MESSAGE = 1024, 32 * 1024

_reason_problems = pattern_problems(
    "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    *("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),
)


def validate_conditions(conditions: Field) -> None:
    seen: set[str] = set()
    for condition in conditions:
        condition["type"].unique(seen)
        validate_condition(condition)


def validate_condition(condition: Field) -> None:
    condition["type"].qualified_name()
    condition["status"].one_of(STATUSES)
    condition["observedGeneration"].at_least(0, "must be greater than or equal to zero")
    condition["lastTransitionTime"].required()
    condition["reason"].required().check(_reason_problems).max_bytes(LONGEST_REASON)
    condition["message"].max_bytes(LONGEST_MESSAGE)
