"""Which pods of lower priority have to go so that a pod fits (plugin DefaultPreemption)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client import label_selector_as_selector
from fakekube.controllers.scheduler.clusterview import ClusterView, NodeInfo, PodInfo
from fakekube.controllers.scheduler.placement import NoFit, Surroundings, filters, first_rejection, reasons_text
from fakekube.controllers.scheduler.verdict import Rejection, Unschedulable

Budget = Mapping[str, Any]

_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node and the pods to delete there, the most important first."""

    node: str
    victims: tuple[PodInfo, ...]
    violations: int


def eligibility(pod: PodInfo, view: ClusterView) -> str:
    """Why the pod may not preempt others, or ""."""
    if pod.pod["spec"].get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = (pod.pod.get("status") or {}).get("nominatedNodeName")
    node = view.nodes.get(nominated or "")
    if node is not None and any(one.is_terminating and one.priority < pod.priority for one in node.pods.values()):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def candidates(
    pod: PodInfo, view: ClusterView, around: Surroundings, fit: NoFit, budgets: Sequence[Budget]
) -> tuple[Sequence[Candidate], str]:
    """The nodes where preemption helps; if there are none, the message about it."""
    found: list[Candidate] = []
    reasons: list[Sequence[str]] = []
    for node in list(view.nodes.values()):
        rejection = fit.rejections.get(node.name)
        if rejection is None or not rejection.resolvable:
            reasons.append((_NOT_HELPFUL,))
            continue
        outcome = _on_node(pod, node, view, around, budgets)
        if isinstance(outcome, Candidate):
            found.append(outcome)
        else:
            reasons.append(outcome.reasons)
    return found, f"0/{fit.nodes} nodes are available: {reasons_text(reasons)}."


def _on_node(
    pod: PodInfo, node: NodeInfo, view: ClusterView, around: Surroundings, budgets: Sequence[Budget]
) -> Candidate | Rejection:
    """What has to go on a node (SelectVictimsOnNode). The view is as before afterwards."""
    lower = sorted((one for one in node.pods.values() if one.priority < pod.priority), key=_importance)
    if not lower:
        return Rejection("DefaultPreemption", (_NO_VICTIMS,), resolvable=False)
    for one in lower:
        view.take_away(one.uid)
    rejection = _fits(pod, node.name, view, around)
    if rejection is not None:
        for one in lower:
            view.place(one, node.name)
        return rejection
    violating, others = _by_budget(lower, budgets)
    victims: list[PodInfo] = []
    violations = 0
    for one in (*violating, *others):
        view.place(one, node.name)
        if _fits(pod, node.name, view, around) is not None:
            view.take_away(one.uid)
            victims.append(one)
            violations += one in violating
    for one in victims:
        view.place(one, node.name)
    return Candidate(node.name, tuple(sorted(victims, key=_importance)), violations)


def _fits(pod: PodInfo, node: str, view: ClusterView, around: Surroundings) -> Rejection | None:
    try:
        return first_rejection(filters(pod, view, around), view.nodes[node])
    except Unschedulable as problem:
        return Rejection(problem.plugin, (str(problem),), resolvable=False)


def _importance(pod: PodInfo) -> tuple[int, str, str]:
    """More important pods first: a higher priority, then an earlier start."""
    started = (pod.pod.get("status") or {}).get("startTime") or "9999"
    return -pod.priority, started, pod.name


def _by_budget(pods: Sequence[PodInfo], budgets: Sequence[Budget]) -> tuple[Sequence[PodInfo], Sequence[PodInfo]]:
    """The pods whose deletion violates a PodDisruptionBudget, and the others."""
    allowed = [int((one.get("status") or {}).get("disruptionsAllowed") or 0) for one in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        concerned = [index for index, one in enumerate(budgets) if pod.labels and _covers(one, pod)]
        for index in concerned:
            allowed[index] -= 1
        (violating if any(allowed[index] < 0 for index in concerned) else others).append(pod)
    return violating, others


def _covers(budget: Budget, pod: PodInfo) -> bool:
    if budget["metadata"]["namespace"] != pod.namespace:
        return False
    if pod.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
        return False
    selector = label_selector_as_selector(budget["spec"].get("selector"))
    return not selector.is_everything and selector.matches(pod.labels)


def best(found: Sequence[Candidate]) -> Candidate:
    """The candidate that does the least harm (pickOneNodeForPreemption); of equal ones the first."""

    def harm(one: Candidate) -> tuple[int, int, int, int]:
        priorities = [victim.priority for victim in one.victims]
        # the sum counts each victim, also one whose priority is negative
        total = sum(priority + 2**31 for priority in priorities)
        return one.violations, max(priorities, default=0), total, len(priorities)

    least = min(map(harm, found))
    equal = [one for one in found if harm(one) == least]
    return max(equal, key=_earliest_start)


def _earliest_start(one: Candidate) -> str:
    """When the longest running of the most important victims started: the later the better."""
    most = max((victim.priority for victim in one.victims), default=0)
    starts = [(v.pod.get("status") or {}).get("startTime") or "9999" for v in one.victims if v.priority == most]
    return min(starts, default="9999")
