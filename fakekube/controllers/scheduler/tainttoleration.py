"""Taints of nodes and tolerations of pods (plugin TaintToleration)."""

from __future__ import annotations

from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection
from fakekube.controllers.workload.nodefit import untolerated_taint


def taints(pod: PodInfo) -> Filter:
    """A node with a taint NoSchedule or NoExecute takes only pods that tolerate it."""
    tolerations = pod.pod["spec"].get("tolerations") or ()

    def check(node: NodeInfo) -> Rejection | None:
        if untolerated_taint(node.taints, tolerations, ("NoSchedule", "NoExecute")) is None:
            return None
        return Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), resolvable=False)

    return check


def untolerated_preferences(pod: PodInfo, node: NodeInfo) -> int:
    """How many taints PreferNoSchedule the pod does not tolerate; the fewer the better."""
    tolerations = pod.pod["spec"].get("tolerations") or ()
    soft = [one for one in node.taints if one["effect"] == "PreferNoSchedule"]
    return sum(untolerated_taint([one], tolerations, ("PreferNoSchedule",)) is not None for one in soft)
