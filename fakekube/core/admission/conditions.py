"""matchConditions: expressions that leave requests out (`webhook/matchconditions`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fakekube.core.admission.matching import Attributes


class Failed(Exception):
    """A condition that cannot be told."""


def all_hold(conditions: Iterable[Mapping[str, Any]], attributes: Attributes) -> bool:
    """Whether every condition is true; one that is false decides, whatever is wrong with others. Raises Failed."""
    problems: list[str] = []
    for condition in conditions:
        raise Failed(f"expression of match condition {condition.get('name')!r} cannot be evaluated here yet")
    if problems:
        raise Failed(", ".join(problems))
    return True
