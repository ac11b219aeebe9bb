"""Affinity and anti-affinity between pods (plugin InterPodAffinity)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from controllerlib.client import Selector, label_selector_as_selector
from fakekube.controllers.scheduler.clusterview import ClusterView, NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection, Score
from fakekube.struct import Struct

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""The labels of a namespace."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITY = Rejection("InterPodAffinity", ("node(s) didn't match pod affinity rules",), resolvable=False)
_ANTI_AFFINITY = Rejection("InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",))
_EXISTING = Rejection("InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",))


class Term(Struct, frozen=True):
    """A term of a pod: which other pods it concerns, and within which topology."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector | None
    key: str

    def matches(self, pod: PodInfo, labels_of: NamespaceLabels) -> bool:
        inside = pod.namespace in self.namespaces
        if not inside and self.namespace_selector is not None:
            inside = self.namespace_selector.matches(labels_of(pod.namespace))
        return inside and self.selector.matches(pod.labels)


def _term(pod: PodInfo, raw: Mapping[str, Any]) -> Term:
    selector = raw.get("namespaceSelector")
    names = frozenset(raw.get("namespaces") or (() if selector is not None else (pod.namespace,)))
    inside = label_selector_as_selector(selector) if selector is not None else None
    return Term(label_selector_as_selector(raw.get("labelSelector")), names, inside, raw["topologyKey"])


def _terms(pod: PodInfo, kind: str, field: str) -> Sequence[Any]:
    return (pod.affinity.get(kind) or {}).get(field) or ()


def affinity(pod: PodInfo, view: ClusterView, labels_of: NamespaceLabels) -> Filter | None:
    """The required terms of the pod, and the anti-affinity of the pods that run."""
    wanted = [_term(pod, raw) for raw in _terms(pod, "podAffinity", _REQUIRED)]
    unwanted = [_term(pod, raw) for raw in _terms(pod, "podAntiAffinity", _REQUIRED)]
    existing = _repelled(pod, view, labels_of)
    if not (wanted or unwanted or existing):
        return None
    present = [_values(term, view, labels_of) for term in unwanted]
    matched = _values_of_all(wanted, view, labels_of)
    alone = not any(matched) and all(term.matches(pod, labels_of) for term in wanted)

    def check(node: NodeInfo) -> Rejection | None:
        if wanted and not _satisfied(node, wanted, matched, alone):
            return _AFFINITY
        for term, values in zip(unwanted, present, strict=True):
            if node.labels.get(term.key) in values:
                return _ANTI_AFFINITY
        if any(node.labels.get(key) == value for key, value in existing):
            return _EXISTING
        return None

    return check


def _satisfied(node: NodeInfo, wanted: Sequence[Term], matched: Sequence[set[str]], alone: bool) -> bool:
    """`alone`: no pod matches, but this one matches its own terms: the first of a group may go anywhere."""
    if any(term.key not in node.labels for term in wanted):
        return False
    if all(node.labels[term.key] in values for term, values in zip(wanted, matched, strict=True)):
        return True
    return alone


def _repelled(pod: PodInfo, view: ClusterView, labels_of: NamespaceLabels) -> set[tuple[str, str]]:
    """The topologies in which a pod runs whose anti-affinity concerns this pod."""
    found = set()
    for other in view.repelling.values():
        node = view.nodes.get(view.node_of(other.uid))
        if node is None or other.uid == pod.uid:
            continue
        for raw in other.anti_affinity_terms():
            term = _term(other, raw)
            if term.key in node.labels and term.matches(pod, labels_of):
                found.add((term.key, node.labels[term.key]))
    return found


def _matching_pods(view: ClusterView) -> Iterator[tuple[NodeInfo, PodInfo]]:
    for node in view.nodes.values():
        for other in node.pods.values():
            yield node, other


def _values(term: Term, view: ClusterView, labels_of: NamespaceLabels) -> set[str]:
    """The values of the term's topology in which a matching pod runs."""
    return {
        node.labels[term.key]
        for node, other in _matching_pods(view)
        if term.key in node.labels and term.matches(other, labels_of)
    }


def _values_of_all(terms: Sequence[Term], view: ClusterView, labels_of: NamespaceLabels) -> Sequence[set[str]]:
    """For each term the topologies with a pod that matches all terms."""
    found: list[set[str]] = [set() for _ in terms]
    for node, other in _matching_pods(view) if terms else ():
        if all(term.matches(other, labels_of) for term in terms):
            for term, values in zip(terms, found, strict=True):
                if term.key in node.labels:
                    values.add(node.labels[term.key])
    return found


def preference(pod: PodInfo, view: ClusterView, labels_of: NamespaceLabels) -> Score | None:
    """The weights of the preferred terms whose pods are in the node's topology."""
    weighted = [
        (_term(pod, raw["podAffinityTerm"]), sign * raw["weight"])
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1))
        for raw in _terms(pod, kind, _PREFERRED)
    ]
    if not weighted:
        return None
    sums: dict[tuple[str, str], int] = {}
    for node, other in _matching_pods(view):
        for term, weight in weighted:
            if term.key in node.labels and term.matches(other, labels_of):
                place = (term.key, node.labels[term.key])
                sums[place] = sums.get(place, 0) + weight
    keys = {term.key for term, _ in weighted}
    return lambda node: float(sum(sums.get((key, node.labels.get(key, "")), 0) for key in keys))
