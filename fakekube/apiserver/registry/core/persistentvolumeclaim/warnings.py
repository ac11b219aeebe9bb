"""Warnings about PersistentVolumeClaims (`GetWarningsForPersistentVolumeClaim`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.warnings import class_warnings
from fakekube.apiserver.schema.quantity import is_whole
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def claim_warnings(claim: Object) -> list[str]:
    warnings = class_warnings(claim)
    resources = (claim.get("spec") or {}).get("resources") or {}
    for field in ("requests", "limits"):
        size = (resources.get(field) or {}).get("storage")
        if size is not None and not is_whole(size):
            why = f"fractional byte value {go_quote(size)} is invalid, must be an integer"
            warnings.append(f"spec.resources.{field}[storage]: {why}")
    return warnings
