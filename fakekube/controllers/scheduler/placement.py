"""Which node a pod is placed on: all filters, then all scores (pkg/scheduler/schedule_one.go)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fakekube.controllers.scheduler import (
    interpodaffinity,
    nodeaffinity,
    noderoom,
    tainttoleration,
    topologyspread,
    volumefit,
)
from fakekube.controllers.scheduler.clusterview import ClusterView, NodeInfo, PodInfo
from fakekube.controllers.scheduler.interpodaffinity import NamespaceLabels
from fakekube.controllers.scheduler.verdict import Filter, Rejection, Unschedulable
from fakekube.controllers.scheduler.volumefit import Volumes
from fakekube.struct import Struct

TieBreak = Callable[[Sequence[str]], str]
"""Chooses one of several nodes that are equally good."""


class Surroundings(Struct, frozen=True):
    """What a decision depends on, but for the nodes and their pods."""

    volumes: Volumes
    namespace_labels: NamespaceLabels


@dataclass(eq=False)  # not frozen: tracebacks are set and dropped
class NoFit(Exception):
    """No node fits. `rejections`: by node; `general`: why none can, whatever they are like."""

    nodes: int
    rejections: Mapping[str, Rejection]
    general: str = ""
    plugin: str = ""

    def __str__(self) -> str:
        return self.text("")

    def text(self, after: str) -> str:
        """The message of the condition and the Event (`FitError.Error`); `after`: of the plugins that run then."""
        if not self.nodes:
            return "no nodes available to schedule pods"
        why = self.general or reasons_text(one.reasons for one in self.rejections.values())
        text = f"0/{self.nodes} nodes are available: {why}." if why else f"0/{self.nodes} nodes are available:"
        return f"{text} {after}" if after else text

    def plugins(self) -> frozenset[str]:
        """The plugins that rejected the pod: only events that concern them can help."""
        return frozenset([self.plugin] if self.plugin else (one.plugin for one in self.rejections.values()))


def reasons_text(reasons: Iterable[Sequence[str]]) -> str:
    """How many nodes have each reason: `1 Insufficient cpu, 2 Too many pods`."""
    numbers = Counter(reason for of_node in reasons for reason in of_node)
    return ", ".join(sorted(f"{number} {reason}" for reason, number in numbers.items()))


def place(
    pod: PodInfo, view: ClusterView, around: Surroundings, nominated: Sequence[tuple[str, PodInfo]], choose: TieBreak
) -> str:
    """The node with the highest score of those that fit. Raises NoFit.

    `nominated`: pods that are going to be bound to a node, of the same or a higher priority.
    """
    if not view.nodes:
        raise NoFit(0, {})
    for node, other in nominated:
        view.place(other, node)
    try:
        fitting, rejections = _sorted_out(pod, view, around)
    except Unschedulable as problem:
        raise NoFit(len(view.nodes), {}, str(problem), problem.plugin) from None
    finally:
        for _, other in nominated:
            view.take_away(other.uid)
    if not fitting:
        raise NoFit(len(view.nodes), rejections)
    if len(fitting) == 1:
        return fitting[0].name
    scores = total_scores(pod, fitting, view, around)
    best = max(scores.values())
    return choose([name for name, score in scores.items() if score == best])


def _sorted_out(
    pod: PodInfo, view: ClusterView, around: Surroundings
) -> tuple[Sequence[NodeInfo], Mapping[str, Rejection]]:
    fitting: list[NodeInfo] = []
    rejections: dict[str, Rejection] = {}
    checks = filters(pod, view, around)
    for node in view.nodes.values():
        rejection = first_rejection(checks, node)
        if rejection is None:
            fitting.append(node)
        else:
            rejections[node.name] = rejection
    return fitting, rejections


def filters(pod: PodInfo, view: ClusterView, around: Surroundings) -> Sequence[Filter]:
    """The filters that concern a pod, in the order of kube-scheduler's plugins. Raises Unschedulable."""
    claims = volumefit.claims_of(pod, around.volumes)
    found = (
        noderoom.unschedulable(pod),
        tainttoleration.taints(pod),
        nodeaffinity.affinity(pod),
        noderoom.ports(pod),
        noderoom.resources(pod),
        volumefit.binding(claims, around.volumes),
        topologyspread.spread(pod, view),
        interpodaffinity.affinity(pod, view, around.namespace_labels),
    )
    return [one for one in found if one is not None]


def first_rejection(checks: Sequence[Filter], node: NodeInfo) -> Rejection | None:
    for check in checks:
        rejection = check(node)
        if rejection is not None:
            return rejection
    return None


def total_scores(pod: PodInfo, nodes: Sequence[NodeInfo], view: ClusterView, around: Surroundings) -> Mapping[str, int]:
    """The weighted sum of the scores of each node, with kube-scheduler's weights."""
    total = {node.name: 0 for node in nodes}

    def add(scores: Sequence[float], weight: int) -> None:
        for node, score in zip(nodes, scores, strict=True):
            total[node.name] += int(score) * weight

    used = [noderoom.used_parts(pod, node) for node in nodes]
    add([noderoom.least_allocated(*parts) for parts in used], 1)
    add([noderoom.balanced_allocation(*parts) for parts in used], 1)
    if any(node.taints for node in nodes):
        add(_scaled([tainttoleration.untolerated_preferences(pod, node) for node in nodes], reverse=True), 3)
    if pod.affinity.get("nodeAffinity"):
        add(_scaled([nodeaffinity.preference(pod, node) for node in nodes]), 2)
    crowding = topologyspread.crowding(pod, view)
    if crowding is not None:
        add(_between([-crowding(node) for node in nodes]), 2)
    preference = interpodaffinity.preference(pod, view, around.namespace_labels)
    if preference is not None:
        add(_between([preference(node) for node in nodes]), 2)
    return total


def _scaled(values: Sequence[float], *, reverse: bool = False) -> Sequence[float]:
    """Values scaled so that the highest is 100 (helper.DefaultNormalizeScore)."""
    most = max(values)
    if not most:
        return [100.0 if reverse else 0.0] * len(values)
    return [100 - value * 100 / most if reverse else value * 100 / most for value in values]


def _between(values: Sequence[float]) -> Sequence[float]:
    """Values scaled so that the lowest is 0 and the highest 100; equal ones are 100."""
    least, most = min(values), max(values)
    if least == most:
        return [100.0] * len(values)
    return [(value - least) * 100 / (most - least) for value in values]
