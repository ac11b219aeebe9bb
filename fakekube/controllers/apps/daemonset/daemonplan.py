"""Which pods of a DaemonSet to create and to delete (`podsShouldBeOnNode`, `rollingUpdate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fakekube.controllers.apps.daemonset.daemonpods import (
    HASH_LABEL,
    by_age,
    generation,
    is_updated,
    should_run,
    surge,
    unavailable,
)
from fakekube.controllers.workload.podstate import Pod, is_available, is_ready, phase
from fakekube.struct import Struct, field

Object = Mapping[str, Any]
PodsByNode = Mapping[str, Sequence[Pod]]


class Plan(Struct):
    """The nodes that get a pod and the pods to delete; `ended`: those of them that have ended by themselves."""

    nodes: list[str] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    ended: list[Pod] = field(default_factory=list)


def min_ready_seconds(daemon_set: Object) -> int:
    return int(daemon_set["spec"].get("minReadySeconds") or 0)


def plan_node(
    plan: Plan, daemon_set: Object, node: Object, pods: Sequence[Pod] | None, hash: str, now: datetime
) -> None:
    """Add what one node needs; `pods`: those on the node, None without any."""
    run, keep = should_run(daemon_set, node)
    name = node["metadata"]["name"]
    if run and pods is None:
        plan.nodes.append(name)
    elif keep:
        present = [pod for pod in pods or () if not pod["metadata"].get("deletionTimestamp")]
        ended = [pod for pod in present if phase(pod) in ("Failed", "Succeeded")]
        plan.ended += ended
        running = by_age([pod for pod in present if pod not in ended])
        if not surge(daemon_set, 1):
            plan.pods += running[1:]
        elif not running and run:
            plan.nodes.append(name)
        else:
            plan.pods += _surplus(daemon_set, running, hash, now)
    else:
        plan.pods += [pod for pod in pods or () if not pod["metadata"].get("deletionTimestamp")]


def _surplus(daemon_set: Object, running: Sequence[Pod], hash: str, now: datetime) -> Sequence[Pod]:
    """The pods of a node to delete while the new pod runs beside the old one: all but the oldest of each."""
    new = [pod for pod in running if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == hash]
    old = [pod for pod in running if pod not in new]
    surplus = [*new[1:], *old[1:]]
    replaced = new and old and (not is_ready(old[0]) or is_available(new[0], min_ready_seconds(daemon_set), now))
    return [*surplus, old[0]] if replaced else surplus


def plan_update(daemon_set: Object, nodes: Sequence[Object], pods: PodsByNode, hash: str, now: datetime) -> Plan:
    """What a rolling update does next, within maxSurge and maxUnavailable."""
    wanted = [node["metadata"]["name"] for node in nodes if should_run(daemon_set, node)[0]]
    most_surge, most_unavailable = surge(daemon_set, len(wanted)), unavailable(daemon_set, len(wanted))
    if wanted and not most_surge and not most_unavailable:
        most_unavailable = 1
    every = {**dict.fromkeys(wanted, ()), **pods}
    update = _Update(daemon_set, hash, now, dict(sorted(every.items())))
    return update.by_surge(most_surge, wanted) if most_surge else update.by_unavailability(most_unavailable)


class _Update(Struct):
    daemon_set: Object
    hash: str
    now: datetime
    pods: PodsByNode

    def by_unavailability(self, most: int) -> Plan:
        """Delete old pods: those that are not available, and others as long as few enough are unavailable."""
        missing, broken, candidates = 0, [], []
        for pods in self.pods.values():
            pair = self._new_and_old(pods)
            if pair is None or (pair[0] is None) == (pair[1] is None):
                missing += 1
                continue
            new, old = pair
            if new is not None:
                missing += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                broken.append(old)
                missing += 1
            elif old is not None:
                candidates.append(old)
        return Plan(pods=[*broken, *candidates[: max(0, most - missing)]])

    def by_surge(self, most: int, wanted: Sequence[str]) -> Plan:
        """Create new pods beside old ones, and delete the old ones whose new pods are available."""
        surging, available = 0, 0
        plan, candidates, unwanted = Plan(), [], []
        for node, pods in self.pods.items():
            pair = self._new_and_old(pods)
            if pair is None:
                surging += 1
                continue
            new, old = pair
            present = old if old is not None else new
            available += present is not None and self._is_available(present)
            if old is None:
                continue
            if new is not None:
                if self._is_available(new):
                    plan.pods.append(old)
                else:
                    surging += 1
            elif not self._is_available(old):
                if node in wanted:
                    plan.nodes.append(node)
                else:
                    plan.pods.append(old)
            elif node not in wanted:
                unwanted.append(old)
            else:
                candidates.append(node)
        plan.pods += unwanted[: max(0, available - len(wanted))]
        plan.nodes += candidates[: max(0, most - surging)]
        return plan

    def _is_available(self, pod: Pod) -> bool:
        return is_available(pod, min_ready_seconds(self.daemon_set), self.now)

    def _new_and_old(self, pods: Sequence[Pod]) -> tuple[Pod | None, Pod | None] | None:
        """The pod of the present template and the other one; None if there are several of either."""
        present = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
        number = generation(self.daemon_set)
        new = [pod for pod in present if is_updated(pod, self.hash, number)]
        old = [pod for pod in present if pod not in new]
        if len(new) > 1 or len(old) > 1:
            return None
        return (new[0] if new else None), (old[0] if old else None)
