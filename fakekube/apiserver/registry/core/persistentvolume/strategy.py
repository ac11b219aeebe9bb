"""PersistentVolume: a piece of storage."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume import validation
from fakekube.apiserver.registry.core.persistentvolume.table import PRINTER
from fakekube.apiserver.registry.core.persistentvolume.warnings import volume_warnings
from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

#: Volume source -> the defaults of its fields (`pkg/apis/core/v1/defaults.go`).
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
    round_up_all(spec, ("capacity",))
    status = obj.setdefault("status", {})
    status["phase"] = status.get("phase") or "Pending"
    spec.setdefault("volumeMode", "Filesystem")
    for source, defaults in SOURCE_DEFAULTS.items():
        if spec.get(source) is not None:
            for field, value in defaults.items():
                spec[source].setdefault(field, value)


def date_volume_status(new: Object, old: Object, now: str) -> Object:
    """Sets the time of a change of phase, unless the client sets it (`persistentvolumeStatusStrategy`)."""
    status, before = new.get("status") or {}, old.get("status") or {}
    at, stored = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        at = at or stored
    elif not at or at == stored:
        at = now
    return {**new, "status": {**status, "lastPhaseTransitionTime": at}} if at else new


def prepare_volume(obj: Object) -> Object:
    return {**obj, "status": {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}}


_GATED = GatedFields(
    ("VolumeAttributesClass", ("spec.volumeAttributesClassName",)),
)


KIND = Kind(
    "persistentvolumes",
    Strategy(
        default=default_volume,
        returns_deleted=True,
        repeats_metadata=False,
        default_status={"phase": "Pending"},
        drop_disabled=_GATED.drop_disabled,
        prepare_create=prepare_volume,
        date_status=date_volume_status,
        validate=validator(validation.validate),
        validate_update=update_validator(validation.validate_update),
        warnings=volume_warnings,
    ),
    printer=PRINTER,
)
