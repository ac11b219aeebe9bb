"""spec.nodeSelector and node affinity (plugin NodeAffinity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection

Term = Mapping[str, Any]


def affinity(pod: PodInfo) -> Filter | None:
    """The node must have the labels of nodeSelector, and match one of the required terms."""
    spec = pod.pod["spec"]
    own = (pod.affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if not spec.get("nodeSelector") and own is None:
        return None

    def check(node: NodeInfo) -> Rejection | None:
        if matches_required(pod, node):
            return None
        return Rejection("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), resolvable=False)

    return check


def matches_required(pod: PodInfo, node: NodeInfo) -> bool:
    """Whether the node matches nodeSelector and the required terms of the pod."""
    wanted = pod.pod["spec"].get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in wanted.items()):
        return False
    own = (pod.affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return own is None or matches_any(own.get("nodeSelectorTerms") or (), node)


def preference(pod: PodInfo, node: NodeInfo) -> int:
    """The sum of the weights of the preferred terms that match."""
    own = pod.affinity.get("nodeAffinity") or {}
    preferred = own.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(one["weight"] for one in preferred if matches_any((one.get("preference") or {},), node))


def matches_any(terms: Sequence[Term], node: NodeInfo) -> bool:
    """Whether one of the terms matches; an empty term matches nothing."""
    return any(_matches(term, node) for term in terms)


def _matches(term: Term, node: NodeInfo) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.name}
    return all(_holds(one, node.labels) for one in expressions) and all(_holds(one, names) for one in fields)


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement["key"])
    operator: str = requirement["operator"]
    values: Sequence[str] = requirement.get("values") or ()
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    try:
        number, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound
