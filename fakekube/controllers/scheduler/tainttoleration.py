"""Taints of nodes and tolerations of pods (plugin TaintToleration)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.verdict import Filter, Rejection

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]


def taints(pod: PodInfo) -> Filter:
    """A node with a taint NoSchedule or NoExecute takes only pods that tolerate it."""
    tolerations = pod.pod["spec"].get("tolerations") or ()

    def check(node: NodeInfo) -> Rejection | None:
        for taint in node.taints:
            if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint):
                return Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), resolvable=False)
        return None

    return check


def untolerated_preferences(pod: PodInfo, node: NodeInfo) -> int:
    """How many taints PreferNoSchedule the pod does not tolerate; the fewer the better."""
    tolerations = pod.pod["spec"].get("tolerations") or ()
    soft = [one for one in node.taints if one.get("effect") == "PreferNoSchedule"]
    return sum(not tolerates(tolerations, one) for one in soft)


def tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations matches the taint."""
    return any(_matches(one, taint) for one in tolerations)


def _matches(toleration: Toleration, taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    value, wanted = taint.get("value") or "", toleration.get("value") or ""
    if operator in ("Lt", "Gt"):
        try:
            return int(value) < int(wanted) if operator == "Lt" else int(value) > int(wanted)
        except ValueError:
            return False
    return bool(toleration.get("key")) and value == wanted
