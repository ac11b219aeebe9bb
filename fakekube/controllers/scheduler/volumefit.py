"""Whether the volumes of a pod can be used on a node (plugin VolumeBinding; its basics)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from controllerlib.controller import controller_of
from fakekube.controllers.scheduler.clusterview import NodeInfo, PodInfo
from fakekube.controllers.scheduler.nodeaffinity import matches_any
from fakekube.controllers.scheduler.verdict import Filter, Rejection, Unschedulable
from fakekube.controllers.workload.podrequests import amount
from fakekube.struct import Struct

Object = Mapping[str, Any]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_CONFLICT = Rejection("VolumeBinding", ("node(s) didn't match PersistentVolume's node affinity",), resolvable=False)
_GONE = Rejection(
    "VolumeBinding", ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",), resolvable=False
)
_NO_VOLUME = Rejection("VolumeBinding", ("node(s) didn't find available persistent volumes to bind",), resolvable=False)


class Volumes(Protocol):
    """Reads of volumes, claims and classes."""

    def claim(self, namespace: str, name: str) -> Object | None: ...
    def volume(self, name: str) -> Object | None: ...
    def volumes(self) -> Sequence[Object]: ...
    def storage_class(self, name: str) -> Object | None: ...


class Claims(Struct, frozen=True):
    """The claims of a pod: the volumes of those that are bound, and those that wait for their first consumer.

    A volume that does not exist is None.
    """

    bound: tuple[Object | None, ...]
    waiting: tuple[Object, ...]


def claims_of(pod: PodInfo, volumes: Volumes) -> Claims | None:
    """The claims of a pod, None if it has none. Raises Unschedulable."""
    claims = [_claim(pod, name, is_ephemeral, volumes) for name, is_ephemeral in _claim_names(pod)]
    if not claims:
        return None
    bound, waiting, unbound = [], [], False
    for claim in claims:
        volume_name = claim["spec"].get("volumeName") or ""
        if volume_name and BIND_COMPLETED in (claim["metadata"].get("annotations") or {}):
            bound.append(volumes.volume(volume_name))
        elif not volume_name and _waits(claim, volumes):
            waiting.append(claim)
        else:
            unbound = True
    if unbound:
        raise Unschedulable("VolumeBinding", "pod has unbound immediate PersistentVolumeClaims")
    return Claims(tuple(bound), tuple(waiting))


def _claim(pod: PodInfo, name: str, is_ephemeral: bool, volumes: Volumes) -> Object:
    """A claim that the pod can use. Raises Unschedulable. Source: `podHasPVCs`."""
    claim = volumes.claim(pod.namespace, name)
    if claim is None:
        missing = f'persistentvolumeclaim "{name}" not found'
        awaited = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        raise Unschedulable("VolumeBinding", awaited if is_ephemeral else missing)
    if (claim.get("status") or {}).get("phase") == "Lost":
        volume = claim["spec"].get("volumeName") or ""
        text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        raise Unschedulable("VolumeBinding", text)
    if claim["metadata"].get("deletionTimestamp"):
        raise Unschedulable("VolumeBinding", f'persistentvolumeclaim "{name}" is being deleted')
    if is_ephemeral and (controller_of(claim) or {}).get("uid") != pod.uid:
        where, whose = f"{pod.namespace}/{name}", f"{pod.namespace}/{pod.name}"
        text = f"PVC {where} was not created for pod {whose} (pod is not owner)"
        raise Unschedulable("VolumeBinding", text)
    return claim


def _claim_names(pod: PodInfo) -> Iterator[tuple[str, bool]]:
    """The names of the claims of a pod, and whether a claim is one of an ephemeral volume."""
    for volume in pod.pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"], False
        elif volume.get("ephemeral"):
            yield f"{pod.name}-{volume['name']}", True


def _waits(claim: Object, volumes: Volumes) -> bool:
    found = volumes.storage_class(claim["spec"].get("storageClassName") or "")
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def binding(claims: Claims | None, volumes: Volumes) -> Filter | None:
    """The volumes must be usable on the node, and there must be volumes for the claims that wait."""
    if claims is None:
        return None

    def check(node: NodeInfo) -> Rejection | None:
        for volume in claims.bound:
            if volume is None:
                return _GONE
            if not _usable_on(volume, node):
                return _CONFLICT
        if not all(_can_be_bound(claim, node, volumes) for claim in claims.waiting):
            return _NO_VOLUME
        return None

    return check


def _usable_on(volume: Object, node: NodeInfo) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or matches_any(required.get("nodeSelectorTerms") or (), node)


def _can_be_bound(claim: Object, node: NodeInfo, volumes: Volumes) -> bool:
    selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
    if selected:
        return bool(selected == node.name)
    if volume_for(claim, node, volumes) is not None:
        return True
    found = volumes.storage_class(claim["spec"].get("storageClassName") or "")
    if found is None or found.get("provisioner") == _NO_PROVISIONER:
        return False
    topologies = found.get("allowedTopologies") or ()
    return not topologies or any(_in_topology(one, node) for one in topologies)


def _in_topology(term: Object, node: NodeInfo) -> bool:
    wanted = term.get("matchLabelExpressions") or ()
    return all(node.labels.get(one["key"]) in one["values"] for one in wanted)


def volume_for(claim: Object, node: NodeInfo, volumes: Volumes) -> Object | None:
    """The smallest available volume for a claim on a node."""
    spec = claim["spec"]
    size = amount("storage", ((spec.get("resources") or {}).get("requests") or {}).get("storage", 0))
    found = []
    for volume in volumes.volumes():
        its = volume["spec"]
        capacity = amount("storage", (its.get("capacity") or {}).get("storage", 0))
        if (
            not its.get("claimRef")
            and (its.get("storageClassName") or "") == (spec.get("storageClassName") or "")
            and capacity >= size
            and set(spec.get("accessModes") or ()) <= set(its.get("accessModes") or ())
            and _usable_on(volume, node)
        ):
            found.append((capacity, volume["metadata"]["name"], volume))
    return min(found, key=lambda one: one[:2])[2] if found else None
