"""Which pods are lost, and when: the atoms of nodes for the pods of operators and of their workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.podstate import is_ready
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Drain, Evict, Lose, NodeFault, Preempt
from fakekube.simulation.observation import TEST, Commit, Observation

Object = Mapping[str, Any]

#: At most so many pods, and so many moments of each.
_PODS, _MOMENTS = 3, 5

#: Seconds after which a node that does not answer is not ready, but its pods are not deleted yet; and after which they
#: are: 50 s (--node-monitor-grace-period) and the 300 s that pods tolerate it by default (DefaultTolerationSeconds).
_SHORT, _LONG = 120, 600

#: For how many seconds a node is drained.
_DRAINED = 60


def node_faults(reference: Observation, writes: Sequence[Commit]) -> Iterator[NodeFault]:
    """The atoms, one of each kind in turn. `writes`: those of operators at which they are anchored.

    Pods that run to an end are left out: what their loss means is up to their owner.
    """
    bound = [one for one in reference.commits if _is_bound(one)]
    moments = {
        target: _moments(reference, writes, target)
        for target in [one for one in dict.fromkeys(one.anchor.target for one in bound) if _lasts(bound, one)]
        if _is_owned(reference, next(one for one in bound if one.anchor.target == target))
    }
    whole_nodes = all(_runs_on(one) for one in bound)
    for target in list(moments)[:_PODS]:
        for at in moments[target]:
            yield Evict(target, at)
            if whole_nodes:
                yield Lose(target, _LONG, at)
        for at in moments[target]:
            yield Preempt(target, at)
            if whole_nodes:
                yield Drain(target, _DRAINED, at)
                yield Lose(target, _SHORT, at)


def _is_bound(commit: Commit) -> bool:
    """Whether a pod has been bound to a node."""
    before, after = ((one or {}).get("spec") or {} for one in (commit.before, commit.after))
    return commit.kind == "pod" and bool(after.get("nodeName")) and not before.get("nodeName") and not commit.rest


def _runs_on(commit: Commit) -> bool:
    return ((commit.after or {}).get("spec") or {}).get("restartPolicy") == "Always"


def _lasts(bound: Sequence[Commit], target: str) -> bool:
    return all(_runs_on(one) for one in bound if one.anchor.target == target)


def _is_owned(reference: Observation, pod: Commit) -> bool:
    """Whether an operator has created a pod, or an owner of it."""
    created = {one.uid: one for one in reference.commits if one.anchor.verb == "create"}
    seen: set[str] = set()
    waiting = [pod.uid]
    while waiting:
        uid = waiting.pop()
        one = created.get(uid)
        if one is None or uid in seen:
            continue
        if one.by_operator:
            return True
        seen.add(uid)
        waiting += [
            str(owner.get("uid")) for owner in ((one.after or {}).get("metadata") or {}).get("ownerReferences", ())
        ]
    return False


def _moments(reference: Observation, writes: Sequence[Commit], target: str) -> Sequence[Anchor]:
    """When a pod is ready, what operators write next and last, and what the test changes then."""
    of_pod = [one for one in reference.commits if one.anchor.target == target and not one.rest]
    ready = next((one for one in of_pod if is_ready(one.after or {})), None)
    if ready is None:
        return ()
    end = next((one.revision for one in reversed(of_pod) if one.anchor.verb == "delete"), None)
    later = [
        one
        for one in reference.commits
        if one.revision > ready.revision and not one.rest and (not end or one.revision < end)
    ]
    ids = {id(one) for one in writes}
    by_operator = [one for one in later if id(one) in ids and not one.is_external]
    by_test = [one for one in later if one.actor == TEST and not one.is_external]
    chosen = [ready, *by_operator[:1], *by_test[:1], *by_operator[-1:], *by_test[-1:]]
    return list(dict.fromkeys(one.anchor for one in chosen))[:_MOMENTS]
