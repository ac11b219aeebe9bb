"""Which pods of lower priority have to go so that a pod fits (plugin DefaultPreemption)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib.client import label_selector_as_selector
from fakekube.controllers.scheduler.clusterview import ClusterView, NodeInfo, PodInfo
from fakekube.controllers.scheduler.placement import NoFit, Surroundings, filters, first_rejection, reasons_text
from fakekube.controllers.scheduler.verdict import Rejection, Unschedulable
from fakekube.controllers.workload.podstate import condition
from fakekube.struct import Struct

Budget = Mapping[str, Any]

#: The reason of the condition DisruptionTarget of a victim.
PREEMPTION = "PreemptionByScheduler"

_PRIORITY_OFFSET = 2**31
_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


class Candidate(Struct, frozen=True):
    """A node and the pods to delete there, the most important first."""

    node: str
    victims: tuple[PodInfo, ...]
    violations: int


Nominated = Sequence[tuple[str, PodInfo]]
"""Pods of the same or a higher priority that are going to be bound, each after the name of its node."""


def eligibility(pod: PodInfo, view: ClusterView, fit: NoFit) -> str:
    """Why the pod may not preempt others, or "" (PodEligibleToPreemptOthers)."""
    if pod.pod["spec"].get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = (pod.pod.get("status") or {}).get("nominatedNodeName")
    node = view.nodes.get(nominated or "")
    if node is None:
        return ""
    rejection = fit.rejections.get(node.name)
    if rejection is not None and not rejection.resolvable:
        return ""
    if any(one.priority < pod.priority and _terminates_for_another(one) for one in node.pods.values()):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def _terminates_for_another(pod: PodInfo) -> bool:
    """Whether a pod is being deleted to make room for another (podTerminatingByPreemption)."""
    found = condition(pod.pod, "DisruptionTarget") if pod.is_terminating else None
    return found is not None and found["status"] == "True" and found.get("reason") == PREEMPTION


def candidates(
    pod: PodInfo,
    view: ClusterView,
    around: Surroundings,
    fit: NoFit,
    budgets: Sequence[Budget],
    nominated: Nominated = (),
) -> tuple[Sequence[Candidate], str]:
    """The nodes where preemption helps; if there are none, the message about it."""
    found: list[Candidate] = []
    reasons: list[Sequence[str]] = []
    for node in list(view.nodes.values()):
        rejection = fit.rejections.get(node.name)
        if rejection is None or not rejection.resolvable:
            reasons.append((_NOT_HELPFUL,))
            continue
        others = [one for where, one in nominated if where == node.name]
        outcome = _on_node(pod, node, view, around, budgets, others)
        if isinstance(outcome, Candidate):
            found.append(outcome)
        else:
            reasons.append(outcome.reasons)
    return found, f"0/{fit.nodes} nodes are available: {reasons_text(reasons)}."


def _on_node(
    pod: PodInfo,
    node: NodeInfo,
    view: ClusterView,
    around: Surroundings,
    budgets: Sequence[Budget],
    nominated: Sequence[PodInfo],
) -> Candidate | Rejection:
    """What has to go on a node (SelectVictimsOnNode). The view is as before afterwards."""
    lower = sorted((one for one in node.pods.values() if one.priority < pod.priority), key=_importance)
    if not lower:
        return Rejection("DefaultPreemption", (_NO_VICTIMS,))
    for one in lower:
        view.take_away(one.uid)
    rejection = _rejection(pod, node.name, view, around, nominated)
    if rejection is not None:
        for one in lower:
            view.place(one, node.name)
        return rejection
    violating, others = _by_budget(lower, budgets)
    victims: list[PodInfo] = []
    violations = 0
    for one in (*violating, *others):
        view.place(one, node.name)
        if _rejection(pod, node.name, view, around, nominated) is not None:
            view.take_away(one.uid)
            victims.append(one)
            violations += one in violating
    for one in victims:
        view.place(one, node.name)
    if not victims:
        text = f'expected at least one victim pod on node "{node.name}"'
        return Rejection("DefaultPreemption", (text,))
    return Candidate(node.name, tuple(sorted(victims, key=_importance)), violations)


def _rejection(
    pod: PodInfo, node: str, view: ClusterView, around: Surroundings, nominated: Sequence[PodInfo]
) -> Rejection | None:
    """Why a pod does not fit, with the nominated pods of the node and without (RunFilterPluginsWithNominatedPods)."""
    for one in nominated:
        view.place(one, node)
    try:
        found = _rejection_now(pod, node, view, around)
    finally:
        for one in nominated:
            view.take_away(one.uid)
    return found if found is not None or not nominated else _rejection_now(pod, node, view, around)


def _rejection_now(pod: PodInfo, node: str, view: ClusterView, around: Surroundings) -> Rejection | None:
    try:
        return first_rejection(filters(pod, view, around), view.nodes[node])
    except Unschedulable as problem:
        return Rejection(problem.plugin, (str(problem),), resolvable=False)


def _importance(pod: PodInfo) -> tuple[int, str, str]:
    """More important pods first: a higher priority, then an earlier start (MoreImportantPod)."""
    return -pod.priority, _started(pod), pod.name


def _started(pod: PodInfo) -> str:
    """When a pod was started; one that has not been is later than all that have (GetPodStartTime)."""
    return str((pod.pod.get("status") or {}).get("startTime") or "9999")


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
        # as if no priority were negative, so that each further pod makes the sum higher
        total = sum(priority + _PRIORITY_OFFSET for priority in priorities)
        return one.violations, max(priorities, default=0), total, len(priorities)

    least = min(map(harm, found))
    equal = [one for one in found if harm(one) == least]
    return max(equal, key=_earliest_start)


def _earliest_start(one: Candidate) -> str:
    """When the longest running of the most important victims started: the later the better."""
    most = max(victim.priority for victim in one.victims)
    return min(_started(victim) for victim in one.victims if victim.priority == most)
