"""Whether a node suits a pod: its taints and its labels (`component-helpers/scheduling/corev1`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.intorpercent import integer

Object = Mapping[str, Any]


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether a toleration tolerates a taint (v1.Toleration.ToleratesTaint)."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator, value, other = toleration.get("operator"), toleration.get("value") or "", taint.get("value") or ""
    if operator in (None, "", "Equal"):
        return bool(value == other)
    if operator == "Exists":
        return True
    left, right = integer(value), integer(other)
    if left is None or right is None:
        return False
    return right < left if operator == "Lt" else right > left if operator == "Gt" else False


def untolerated_taint(
    taints: Iterable[Object], tolerations: Sequence[Object], effects: Collection[str]
) -> Object | None:
    """The first taint of one of these effects that no toleration tolerates (FindMatchingUntoleratedTaint)."""
    for taint in taints:
        if taint["effect"] in effects and not any(tolerates(one, taint) for one in tolerations):
            return taint
    return None


def matches_node(spec: Object, node: Object) -> bool:
    """Whether a node has the labels that a pod requires: nodeSelector and required node affinity."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def matches_term(term: Object, node: Object) -> bool:
    """Whether a node satisfies a term of a node selector; an empty term matches nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
    by_label = all(_satisfied(one, labels.get(one["key"])) for one in expressions)
    return by_label and all(one["key"] == "metadata.name" and _satisfied(one, name) for one in fields)


def _satisfied(requirement: Object, value: str | None) -> bool:
    values = requirement.get("values") or ()
    return _OPERATORS[requirement["operator"]](value, values)


def _compared(value: str | None, values: Sequence[str], larger: bool) -> bool:
    left, right = integer(value or ""), integer(values[0])
    if value is None or left is None or right is None:
        return False
    return left > right if larger else left < right


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": lambda value, values: _compared(value, values, True),
    "Lt": lambda value, values: _compared(value, values, False),
}
