"""When a node counts as unreachable: it has renewed neither its lease nor its status (`tryUpdateNodeHealth`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from fakekube.controllers.workload.podstate import condition, moment, timestamp
from fakekube.struct import Struct, replace

#: The conditions that become Unknown.
_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

Object = Mapping[str, Any]

ZoneState = Literal["Initial", "Normal", "FullDisruption", "PartialDisruption"]


class NodeHealth(Struct, frozen=True):
    """What was seen of a node: its condition Ready, the renewal of its lease, and when either has changed last."""

    probed: datetime
    ready: Mapping[str, Any] | None
    renewed: str | None = None


def observed(health: NodeHealth | None, node: Object, lease: Object | None, now: datetime) -> NodeHealth:
    """What is known of a node now, given what was known before."""
    ready = condition(node, "Ready")
    if health is None:
        created = moment(node["metadata"].get("creationTimestamp")) or now
        health = NodeHealth(created if ready is None else now, ready)
    elif _has_moved(health.ready, ready):
        health = NodeHealth(now, ready, health.renewed)
    else:
        health = replace(health, ready=ready)
    renewed = ((lease or {}).get("spec") or {}).get("renewTime")
    if lease is not None and (health.renewed is None or (renewed is not None and health.renewed < renewed)):
        health = replace(health, probed=now, renewed=renewed)
    return health


def _has_moved(before: Object | None, after: Object | None) -> bool:
    if before is None or after is None:
        return before is not after
    return before.get("lastHeartbeatTime") != after.get("lastHeartbeatTime")


def expires(health: NodeHealth, grace: float, startup_grace: float) -> datetime:
    """The time after which the node counts as unreachable unless it is heard of."""
    return health.probed + timedelta(seconds=startup_grace if health.ready is None else grace)


def unreachable_conditions(node: Object, now: datetime) -> Sequence[Mapping[str, Any]]:
    """The conditions of a node that was not heard of: Unknown."""
    found = [dict(one) for one in (node.get("status") or {}).get("conditions") or ()]
    for kind in _CONDITIONS:
        present = next((one for one in found if one["type"] == kind), None)
        if present is None:
            created = node["metadata"].get("creationTimestamp")
            found.append({
                "type": kind, "status": "Unknown", "lastHeartbeatTime": created, "lastTransitionTime": timestamp(now),
                "reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status.",
            })  # fmt: skip
        elif present["status"] != "Unknown":
            present |= {
                "status": "Unknown", "lastTransitionTime": timestamp(now),
                "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
            }  # fmt: skip
    return found


def zone_state(ready: Sequence[Object | None], threshold: float) -> ZoneState:
    """The state of a zone by the conditions Ready of its nodes (ComputeZoneState)."""
    good = sum(one is not None and one["status"] == "True" for one in ready)
    bad = len(ready) - good
    if good == 0 and bad > 0:
        return "FullDisruption"
    return "PartialDisruption" if bad > 2 and bad / len(ready) >= threshold else "Normal"


def zone_of(node: Object) -> str:
    """The key of a node's zone: region and zone of its labels (GetZoneKey)."""
    labels = node["metadata"].get("labels") or {}
    region = labels.get("topology.kubernetes.io/region") or labels.get("failure-domain.beta.kubernetes.io/region") or ""
    zone = labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone") or ""
    return f"{region}:\0:{zone}" if region or zone else ""
