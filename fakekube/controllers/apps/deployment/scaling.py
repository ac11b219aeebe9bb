"""How many pods the ReplicaSets of a Deployment may have (`deployment_util.go`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.apps.deployment.revision import MAX_REPLICAS, annotation, created, number_in
from fakekube.controllers.workload.intorpercent import scaled_value

Object = Mapping[str, Any]


def replicas(obj: Object | None) -> int:
    """spec.replicas of a Deployment or a ReplicaSet."""
    return int(obj["spec"].get("replicas") or 0) if obj is not None else 0


def is_rolling_update(deployment: Object) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"


def fenceposts(deployment: Object) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers of pods; one of them is at least 1."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    desired = replicas(deployment)
    surge = scaled_value(rolling.get("maxSurge", 0), desired, round_up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", 0), desired, round_up=False)
    return surge, unavailable or (0 if surge else 1)


def max_surge(deployment: Object) -> int:
    return fenceposts(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    if not is_rolling_update(deployment) or replicas(deployment) == 0:
        return 0
    return min(fenceposts(deployment)[1], replicas(deployment))


def total(replica_sets: Sequence[Object]) -> int:
    """The pods that the ReplicaSets ask for."""
    return sum(map(replicas, replica_sets))


def counted(replica_sets: Sequence[Object], name: str) -> int:
    """The sum of a count in the status of ReplicaSets."""
    return sum(int((one.get("status") or {}).get(name) or 0) for one in replica_sets)


def size_of_new(deployment: Object, replica_sets: Sequence[Object], new: Object) -> int:
    """The replicas of the new ReplicaSet: as many more as the surge allows, or at once all of a Recreate."""
    if not is_rolling_update(deployment):
        return replicas(deployment)
    surge = scaled_value(deployment["spec"]["strategy"]["rollingUpdate"].get("maxSurge", 0), replicas(deployment))
    most, present = replicas(deployment) + surge, total(replica_sets)
    if present >= most:
        return replicas(new)
    return replicas(new) + min(most - present, replicas(deployment) - replicas(new))


def is_saturated(deployment: Object, new: Object | None) -> bool:
    """Whether the new ReplicaSet has all pods of the Deployment, and all are available."""
    if new is None:
        return False
    desired = replicas(deployment)
    available = (new.get("status") or {}).get("availableReplicas") or 0
    return replicas(new) == desired == available and annotation(new, "desired-replicas") == str(desired)


def proportional(deployment: Object, replica_sets: Sequence[Object]) -> Sequence[tuple[Object, int]]:
    """The active ReplicaSets of a Deployment that is scaled during a rollout, each with its new size.

    Each gets its share of the pods to add or to remove; the largest one gets what rounding leaves.
    """
    desired = replicas(deployment)
    add = (desired + max_surge(deployment) if desired > 0 else 0) - total(replica_sets)
    ordered = list(replica_sets)
    if add > 0:  # larger ones first, of equal ones the newer
        ordered = sorted(ordered, key=created, reverse=True)
    elif add < 0:  # larger ones first, of equal ones the older
        ordered = sorted(ordered, key=created)
    if add:
        ordered.sort(key=replicas, reverse=True)
    sizes, added = [], 0
    for one in ordered:
        share = _share(one, deployment, add, added) if add else 0
        sizes.append(replicas(one) + share)
        added += share
    if ordered and add:
        sizes[0] = max(0, sizes[0] + add - added)
    return list(zip(ordered, sizes, strict=True))


def _share(one: Object, deployment: Object, add: int, added: int) -> int:
    """The pods to add to a ReplicaSet (GetReplicaSetProportion)."""
    if replicas(one) == 0 or add == added:
        return 0
    if replicas(deployment) == 0:
        fraction = -replicas(one)
    else:
        before = number_in(one, MAX_REPLICAS) or int((deployment.get("status") or {}).get("replicas") or 0)
        if before == 0:
            return 0
        most = replicas(deployment) + max_surge(deployment)
        fraction = _rounded(replicas(one) * most / before) - replicas(one)
    return min(fraction, add - added) if add > 0 else max(fraction, add - added)


def _rounded(value: float) -> int:
    """Rounds half away from zero (integer.RoundToInt32)."""
    return int(value + math.copysign(0.5, value))
