"""Topology spread constraints (plugin PodTopologySpread)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.client import Selector, label_selector_as_selector
from fakekube.controllers.scheduler.clusterview import ClusterView, NodeInfo, PodInfo
from fakekube.controllers.scheduler.nodeaffinity import matches_required
from fakekube.controllers.scheduler.tainttoleration import taints
from fakekube.controllers.scheduler.verdict import Filter, Rejection, Score
from fakekube.struct import Struct

_NO_MATCH = "node(s) didn't match pod topology spread constraints"
_ZONE = "topology.kubernetes.io/zone"


class Constraint(Struct, frozen=True):
    """A constraint with the selector that matchLabelKeys are part of."""

    key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_affinity: bool
    honors_taints: bool


def _constraints(pod: PodInfo, when: str) -> Sequence[Constraint]:
    return [
        _constraint(raw)
        for raw in pod.pod["spec"].get("topologySpreadConstraints") or ()
        if raw["whenUnsatisfiable"] == when
    ]


def _constraint(raw: Mapping[str, Any]) -> Constraint:
    return Constraint(
        raw["topologyKey"],
        raw["maxSkew"],
        raw.get("minDomains") or 1,
        label_selector_as_selector(raw.get("labelSelector")),
        (raw.get("nodeAffinityPolicy") or "Honor") == "Honor",
        (raw.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )


def spread(pod: PodInfo, view: ClusterView) -> Filter | None:
    """With this pod, no topology may have more matching pods than maxSkew above the one with the fewest."""
    constraints = _constraints(pod, "DoNotSchedule")
    if not constraints:
        return None
    counts = [_counts(pod, one, constraints, view) for one in constraints]

    def check(node: NodeInfo) -> Rejection | None:
        for one, numbers in zip(constraints, counts, strict=True):
            value = node.labels.get(one.key)
            if value is None:
                return Rejection("PodTopologySpread", (f"{_NO_MATCH} (missing required label)",), resolvable=False)
            least = 0 if len(numbers) < one.min_domains else min(numbers.values(), default=0)
            own = 1 if one.selector.matches(pod.labels) else 0
            if numbers.get(value, 0) + own - least > one.max_skew:
                return Rejection("PodTopologySpread", (_NO_MATCH,))
        return None

    return check


def _counts(pod: PodInfo, one: Constraint, constraints: Sequence[Constraint], view: ClusterView) -> dict[str, int]:
    """The matching pods of each topology, of the nodes that take part."""
    tolerated = taints(pod)
    found: dict[str, int] = {}
    for node in view.nodes.values():
        if any(each.key not in node.labels for each in constraints):
            continue
        if one.honors_affinity and not matches_required(pod, node):
            continue
        if one.honors_taints and tolerated(node) is not None:
            continue
        value = node.labels[one.key]
        found[value] = found.get(value, 0) + _matching(one.selector, pod.namespace, node)
    return found


def _matching(selector: Selector, namespace: str, node: NodeInfo) -> int:
    pods = node.pods.values()
    return sum(one.namespace == namespace and not one.is_terminating and selector.matches(one.labels) for one in pods)


def crowding(pod: PodInfo, view: ClusterView) -> Score | None:
    """How many matching pods the topologies of a node have; the fewer the better.

    Without constraints of its own a pod is spread among nodes and zones with the pods of its controller.
    """
    constraints = _constraints(pod, "ScheduleAnyway")
    if not constraints and not pod.pod["spec"].get("topologySpreadConstraints"):
        return _crowding_of_controller(view.by_controller.get(pod.controller) or {}, view) if pod.controller else None
    if not constraints:
        return None
    counts = [_counts(pod, one, (one,), view) for one in constraints]

    def score(node: NodeInfo) -> float:
        return float(
            sum(numbers.get(node.labels.get(one.key, ""), 0) for one, numbers in zip(constraints, counts, strict=True))
        )

    return score


def _crowding_of_controller(numbers: Mapping[str, int], view: ClusterView) -> Score:
    zones: dict[str, int] = {}
    for name, number in numbers.items():
        zone = view.nodes[name].labels.get(_ZONE, "") if name in view.nodes else ""
        zones[zone] = zones.get(zone, 0) + number

    def score(node: NodeInfo) -> float:
        zone = node.labels.get(_ZONE)
        return float(numbers.get(node.name, 0) + (zones.get(zone, 0) if zone is not None else 0))

    return score
