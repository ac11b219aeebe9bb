"""StorageVersion."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, joined, name_of

Object = dict[str, Any]


def _storage_version(obj: Object, ages: Ages) -> list[Any]:
    found = [
        f"{one.get('apiServerID') or ''}={one.get('encodingVersion') or ''}"
        for one in get(obj, "status.storageVersions", ())
    ]
    return [
        name_of(obj),
        get(obj, "status.commonEncodingVersion", "<unset>"),
        joined(found, 3) or "<unset>",
        age_of(obj, ages),
    ]


KIND = Kind(
    "storageversions.internal.apiserver.k8s.io",
    Strategy(unconditional_update=False),
    printer=Printer(columns(NAME, "CommonEncodingVersion", "StorageVersions", AGE), _storage_version),
)
