"""The conditions of a namespace that is being deleted (`namespace/deletion/status_condition_utils.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fakekube.struct import Struct, field

Condition = Mapping[str, Any]

#: The types in their order, with the reason and the message if there is nothing to say.
SUCCESSES: Mapping[str, tuple[str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Findings(Struct):
    """What was found: why resources are not known ("": they are), why they could not be deleted, and what is left.

    `remaining`: the number of objects by resource ("pods."). `finalizers`: the number of objects that have each.
    """

    discovery: str = ""
    failures: list[str] = field(default_factory=list)
    remaining: dict[str, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)


class Problem(NamedTuple):
    """A condition that is true."""

    type: str
    reason: str
    message: str


def new_conditions(findings: Findings) -> Sequence[Problem]:
    """The conditions that are true."""
    found: list[Problem] = []
    if findings.discovery:
        failing = findings.discovery.count("stale GroupVersion discovery")
        message = f"Discovery failed for some groups, {failing} failing: {findings.discovery}"
        found.append(Problem("NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", message))
    if findings.failures:
        reasons = ", ".join(sorted(findings.failures))
        message = f"Failed to delete all resource types, {len(findings.failures)} remaining: {reasons}"
        found.append(Problem("NamespaceDeletionContentFailure", "ContentDeletionFailed", message))
    if findings.remaining:
        counts = ", ".join(
            sorted(f"{name} has {number} resource instances" for name, number in findings.remaining.items())
        )
        message = f"Some resources are remaining: {counts}"
        found.append(Problem("NamespaceContentRemaining", "SomeResourcesRemain", message))
    if findings.finalizers:
        counts = ", ".join(
            sorted(f"{name} in {number} resource instances" for name, number in findings.finalizers.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {counts}"
        found.append(Problem("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message))
    return found


def updated_conditions(before: Sequence[Condition], problems: Sequence[Problem], now: str) -> Sequence[Condition]:
    """The conditions with those of each type that have changed; a type without a problem is false."""
    after = list(before)
    for kind, (reason, message) in SUCCESSES.items():
        problem = next((one for one in problems if one.type == kind), None)
        status = "False" if problem is None else "True"
        if problem is not None:
            reason, message = problem.reason, problem.message
        condition: Condition = {
            "type": kind,
            "status": status,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        index = next((index for index, one in enumerate(after) if one["type"] == kind), None)
        if index is None:
            after.append(condition)
            continue
        known = after[index]
        if known["status"] == status:
            condition = {**condition, "lastTransitionTime": known.get("lastTransitionTime")}
        if any(known.get(name) != condition[name] for name in ("status", "reason", "message")):
            after[index] = condition
    return after
