"""Table of PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.table import access_modes, class_name, phase
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of, wide

Object = dict[str, Any]


def _claim(obj: Object, ages: Ages) -> list[Any]:
    volume = get(obj, "spec.volumeName", "")
    return [
        name_of(obj),
        phase(obj),
        volume,
        get(obj, "status.capacity.storage", "0") if volume else "",
        access_modes(get(obj, "status.accessModes", ())) if volume else "",
        class_name(obj),
        get(obj, "spec.volumeAttributesClassName", "<unset>"),
        age_of(obj, ages),
        get(obj, "spec.volumeMode", "<unset>"),
    ]


PRINTER = Printer(
    columns(
        NAME,
        "Status",
        "Volume",
        "Capacity",
        "Access Modes",
        "StorageClass",
        "VolumeAttributesClass",
        AGE,
        wide("VolumeMode"),
    ),
    _claim,
)
