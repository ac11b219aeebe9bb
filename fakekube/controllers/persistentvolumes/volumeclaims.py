"""What claims and volumes say about each other (`component-helpers/storage/volume`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from controllerlib.client import Selector, label_selector_as_selector
from fakekube.apiserver.schema.quantity import value_of
from fakekube.controllers.workload.podstate import phase

Object = Mapping[str, Any]

#: A claim was bound: its volume is not chosen again.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
#: The binding of a claim or volume was made by the controller, not by a user.
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
#: The node that the scheduler chose for the first pod of a claim.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: What made a volume.
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
#: What is to make the volume of a claim, under its present and its former name.
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
#: The CSI driver that has taken over the volumes of a plugin.
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
#: The capacity of a claim before its file system is grown on the node.
PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"

_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

#: Access modes in the order in which sets of them are compared.
_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def annotations_of(obj: Object) -> Mapping[str, str]:
    """The annotations of an object."""
    found: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return found


def with_annotations(obj: Object, changes: Mapping[str, str | None]) -> dict[str, Any]:
    """The object with annotations that are set, or removed if None."""
    merged = {**annotations_of(obj), **changes}
    kept = {name: value for name, value in merged.items() if value is not None}
    meta = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
    return {**obj, "metadata": {**meta, "annotations": kept} if kept else meta}


def status(obj: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = obj.get("status") or {}
    return found


def claim_class(claim: Object) -> str:
    """The name of a claim's StorageClass, "" without one (GetPersistentVolumeClaimClass)."""
    return _class(claim)


def has_class(claim: Object) -> bool:
    """Whether a claim names a class, be it "" (PersistentVolumeClaimHasClass)."""
    return _CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def volume_class(volume: Object) -> str:
    """The name of a volume's StorageClass, "" without one (GetPersistentVolumeClass)."""
    return _class(volume)


def _class(obj: Object) -> str:
    return annotations_of(obj).get(_CLASS, obj["spec"].get("storageClassName") or "")


def waits_for_consumer(storage_class: Object | None) -> bool:
    """Whether the claims of a class are bound when a pod uses them (IsDelayBindingMode)."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def default_class(classes: Iterable[Object]) -> Object | None:
    """The newest default class, of several the first by name (GetDefaultClass)."""
    found = [one for one in classes if any(annotations_of(one).get(name) == "true" for name in _DEFAULT_CLASS)]
    found.sort(key=lambda one: one["metadata"]["name"])
    return max(found, key=lambda one: one["metadata"].get("creationTimestamp") or "", default=None)


def capacity(volume: Object) -> Decimal:
    """The size of a volume."""
    return value_of((volume["spec"].get("capacity") or {}).get("storage") or "0")


def requested(claim: Object) -> Decimal:
    """The size that a claim requests."""
    return value_of(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0")


def claim_capacity(claim: Object) -> Decimal:
    """The size that a claim has, 0 before it is bound."""
    return value_of((status(claim).get("capacity") or {}).get("storage") or "0")


def is_bound_to(volume: Object, claim: Object) -> bool:
    """Whether a volume is bound to a claim, or reserved for it (IsVolumeBoundToClaim)."""
    reference, meta = volume["spec"].get("claimRef"), claim["metadata"]
    if not reference or (reference.get("namespace"), reference.get("name")) != (meta["namespace"], meta["name"]):
        return False
    return not reference.get("uid") or reference["uid"] == meta["uid"]


def modes_differ(claim: Object, volume: Object) -> bool:
    """Whether one is a file system and the other a block device (CheckVolumeModeMismatches)."""
    return (claim["spec"].get("volumeMode") or "Filesystem") != (volume["spec"].get("volumeMode") or "Filesystem")


def reference_to_claim(claim: Object) -> dict[str, Any]:
    """The claimRef of a volume that is bound to the claim."""
    meta = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": "v1",
        "resourceVersion": meta["resourceVersion"],
    }


def mismatch(volume: Object, claim: Object) -> str:
    """Why the volume that a claim names cannot be bound to it, "" if it can (checkVolumeSatisfyClaim)."""
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if capacity(volume) < requested(claim):
        return "requested PV is too small"
    if volume_class(volume) != claim_class(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if modes_differ(claim, volume):
        return "incompatible volumeMode"
    if not set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def best_volume(claim: Object, volumes: Iterable[Object], *, only_reserved: bool) -> Object | None:
    """The volume that is reserved for a claim, or else the smallest that suits it; fewer access modes come first.

    `only_reserved`: the scheduler chooses among the others. Source: persistentVolumeOrderedIndex.findByClaim.
    """
    wanted = set(claim["spec"].get("accessModes") or ())
    groups: dict[tuple[str, ...], list[Object]] = {}
    for volume in volumes:
        modes = volume["spec"].get("accessModes") or ()
        if wanted <= set(modes):
            groups.setdefault(tuple(mode for mode in _MODES if mode in modes), []).append(volume)
    selector = label_selector_as_selector(claim["spec"]["selector"]) if claim["spec"].get("selector") else None
    for modes in sorted(groups, key=lambda modes: (len(modes), modes)):
        found = _best(claim, groups[modes], selector, only_reserved)
        if found is not None:
            return found
    return None


def _best(claim: Object, volumes: Sequence[Object], selector: Selector | None, only_reserved: bool) -> Object | None:
    """The best of volumes with the same access modes (FindMatchingVolume)."""
    smallest: Object | None = None
    for volume in volumes:
        reserved = is_bound_to(volume, claim)
        if (
            (volume["spec"].get("claimRef") and not reserved)
            or capacity(volume) < requested(claim)
            or modes_differ(claim, volume)
            or _attributes_class(claim) != _attributes_class(volume)
            or volume["metadata"].get("deletionTimestamp")
        ):
            continue
        if reserved:
            return volume
        if (
            only_reserved
            or phase(volume) != "Available"
            or (selector is not None and not selector.matches(volume["metadata"].get("labels")))
            or volume_class(volume) != claim_class(claim)
        ):
            continue
        if smallest is None or capacity(volume) < capacity(smallest):
            smallest = volume
    return smallest


def _attributes_class(obj: Object) -> str:
    return obj["spec"].get("volumeAttributesClassName") or ""
