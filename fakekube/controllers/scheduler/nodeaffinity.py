"""spec.nodeSelector and node affinity (plugin NodeAffinity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection
from fakekube.controllers.workload.nodefit import matches_node, matches_term

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
    return matches_node(pod.pod["spec"], node.node)


def preference(pod: PodInfo, node: NodeInfo) -> int:
    """The sum of the weights of the preferred terms that match."""
    own = pod.affinity.get("nodeAffinity") or {}
    preferred = own.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(one["weight"] for one in preferred if matches_any((one.get("preference") or {},), node))


def matches_any(terms: Sequence[Term], node: NodeInfo) -> bool:
    """Whether one of the terms matches; an empty term matches nothing."""
    return any(matches_term(term, node.node) for term in terms)
