"""Table of PersistentVolumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    is_terminating,
    joined,
    name_of,
    wide,
)

Object = dict[str, Any]

#: Access mode -> its short form, in the order of the cell.
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def access_modes(modes: Sequence[str]) -> str:
    return joined([short for mode, short in _MODES.items() if mode in modes])


def class_name(obj: Object) -> str:
    annotations = get(obj, "metadata.annotations", {})
    found = annotations.get(CLASS_ANNOTATION)
    return str(get(obj, "spec.storageClassName", "") if found is None else found)


def phase(obj: Object) -> str:
    return "Terminating" if is_terminating(obj) else str(get(obj, "status.phase", ""))


def _volume(obj: Object, ages: Ages) -> list[Any]:
    claim = get(obj, "spec.claimRef")
    return [
        name_of(obj),
        get(obj, "spec.capacity.storage", "0"),
        access_modes(get(obj, "spec.accessModes", ())),
        get(obj, "spec.persistentVolumeReclaimPolicy", ""),
        phase(obj),
        "" if claim is None else f"{claim.get('namespace') or ''}/{claim.get('name') or ''}",
        class_name(obj),
        get(obj, "spec.volumeAttributesClassName", "<unset>"),
        get(obj, "status.reason", ""),
        age_of(obj, ages),
        get(obj, "spec.volumeMode", "<unset>"),
    ]


PRINTER = Printer(
    columns(
        NAME,
        "Capacity",
        "Access Modes",
        "Reclaim Policy",
        "Status",
        "Claim",
        "StorageClass",
        "VolumeAttributesClass",
        "Reason",
        AGE,
        wide("VolumeMode"),
    ),
    _volume,
)
