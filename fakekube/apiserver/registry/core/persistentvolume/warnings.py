"""Warnings about PersistentVolumes (`GetWarningsForPersistentVolume`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION

Object = dict[str, Any]

MOUNT_ANNOTATION = "volume.beta.kubernetes.io/mount-options"


#: Volume sources that have no effect any more.
GONE = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
}


def volume_warnings(volume: Object) -> list[str]:
    spec = volume.get("spec") or {}
    warnings = class_warnings(volume)
    if MOUNT_ANNOTATION in (volume["metadata"].get("annotations") or {}):
        why = 'deprecated since v1.31; use "mountOptions" attribute instead'
        warnings.append(f"metadata.annotations[{MOUNT_ANNOTATION}]: {why}")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "The Recycle reclaim policy is deprecated."
        why += " Instead, the recommended approach is to use dynamic provisioning."
        warnings.append(f"spec.persistentVolumeReclaimPolicy: {why}")
    warnings += [f"spec.{name}: {why}" for field, (name, why) in GONE.items() if spec.get(field) is not None]
    return warnings


def class_warnings(obj: Object) -> list[str]:
    """Warns about the annotation for a storage class, on a volume or a claim."""
    if CLASS_ANNOTATION not in (obj["metadata"].get("annotations") or {}):
        return []
    why = 'deprecated since v1.8; use "storageClassName" attribute instead'
    return [f"metadata.annotations[{CLASS_ANNOTATION}]: {why}"]
