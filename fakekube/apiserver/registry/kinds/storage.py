"""Kinds of storage: volumes, the claims to them, their classes, and what CSI drivers say of themselves."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.validation import persistentvolumes, storageclasses

Object = dict[str, Any]

#: Volume source -> what its fields are where nobody says (`pkg/apis/core/v1/defaults.go`).
SOURCE_DEFAULTS: dict[str, Object] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    for source, defaults in SOURCE_DEFAULTS.items():
        if spec.get(source) is not None:
            for field, value in defaults.items():
                spec[source].setdefault(field, value)


def date_volume_status(new: Object, old: Object, now: str) -> Object:
    """When its phase changed, unless the client says so itself (`persistentvolumeStatusStrategy`)."""
    status, before = new.get("status") or {}, old.get("status") or {}
    at, stored = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        at = at or stored
    elif not at or at == stored:
        at = now
    return {**new, "status": {**status, "lastPhaseTransitionTime": at}} if at else new


def prepare_volume(obj: Object) -> Object:
    return {**obj, "status": {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}}


def default_claim(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


#: What may be named in the older of the two fields for a source: (group, kind).
OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _one_source(spec: Object, *, keeps: bool) -> Object:
    """dataSource and dataSourceRef say the same; what only the newer one can name is not taken in the older one
    (`NormalizeDataSources`, `EnforceDataSourceBackwardsCompatibility`). A reference into another namespace is an alpha
    feature, and dropped."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is None:
        return spec
    kept = {key: value for key, value in spec.items() if key not in ("dataSource", "dataSourceRef")}
    if reference is not None and reference.get("namespace"):
        reference = None
    if source is not None and not keeps:
        named = (source.get("apiGroup") or "", source.get("kind") or "")
        source = source if named in OLD_SOURCES else None
    one = source if source is not None else reference
    if one is None:
        return kept
    return {**kept, "dataSource": source or dict(one), "dataSourceRef": reference or dict(one)}


def prepare_claim(obj: Object) -> Object:
    return {**obj, "spec": _one_source(obj.get("spec") or {}, keeps=False)}


def prepare_claim_update(new: Object, old: Object) -> Object:
    before = old.get("spec") or {}
    if before.get("volumeName"):
        return new
    keeps = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
    return {**new, "spec": _one_source(new.get("spec") or {}, keeps=keeps)}


def default_storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


DRIVER_DEFAULTS: Object = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def default_driver(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for field, value in DRIVER_DEFAULTS.items():
        spec.setdefault(field, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


STRATEGIES = {
    "persistentvolumes": Strategy(
        default=default_volume,
        returns_deleted=True,
        repeats_metadata=False,
        default_status={"phase": "Pending"},
        prepare_create=prepare_volume,
        date_status=date_volume_status,
        validate=persistentvolumes.validate_volume,
        validate_update=persistentvolumes.validate_volume_update,
        warnings=persistentvolumes.volume_warnings,
    ),
    "persistentvolumeclaims": Strategy(
        default=default_claim,
        returns_deleted=True,
        default_status={"phase": "Pending"},
        prepare_create=prepare_claim,
        prepare_update=prepare_claim_update,
        validate=persistentvolumes.validate_claim,
        validate_update=persistentvolumes.validate_claim_update,
        validate_status_update=persistentvolumes.validate_claim_status,
        warnings=persistentvolumes.claim_warnings,
    ),
    "storageclasses.storage.k8s.io": Strategy(
        default=default_storage_class,
        returns_deleted=True,
        validate=storageclasses.validate_storage_class,
        validate_update=storageclasses.validate_storage_class_update,
    ),
    "volumeattributesclasses.storage.k8s.io": Strategy(
        returns_deleted=True,
        validate=storageclasses.validate_attributes_class,
        validate_update=storageclasses.validate_attributes_class_update,
    ),
    "volumeattachments.storage.k8s.io": Strategy(
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=storageclasses.validate_attachment,
        validate_update=storageclasses.validate_attachment_update,
        validate_status_update=storageclasses.validate_attachment_update,
    ),
    "csidrivers.storage.k8s.io": Strategy(
        default=default_driver,
        returns_deleted=True,
        unconditional_update=False,
        generation=("spec",),
        first_generation=None,
        validate=storageclasses.validate_csi_driver,
        validate_update=storageclasses.validate_csi_driver_update,
    ),
    "csinodes.storage.k8s.io": Strategy(
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=storageclasses.validate_csi_node,
        validate_update=storageclasses.validate_csi_node_update,
    ),
    "csistoragecapacities.storage.k8s.io": Strategy(
        returns_deleted=True,
        validate=storageclasses.validate_capacity,
        validate_update=storageclasses.validate_capacity_update,
    ),
}
