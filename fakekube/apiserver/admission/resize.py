"""Allows the expansion of a claim only if its StorageClass does (plugin PersistentVolumeClaimResize)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.wire.status import forbidden

Object = dict[str, Any]

UNBOUND = "Only bound persistent volume claims can be expanded"
FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def validate_claim(call: Call, obj: Object, old: Object | None) -> None:
    """Check an expansion. Raises 403."""
    if old is None or _size(obj) <= _size(old):
        return
    name = obj["metadata"].get("name") or ""
    if (old.get("status") or {}).get("phase") != "Bound":
        raise forbidden(call.resource.qualified, name, UNBOUND)
    if not _may_grow(call, obj, old):
        raise forbidden(call.resource.qualified, name, FIXED)


def _size(claim: Object) -> Any:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return number_of(requests.get("storage") or "0")


def _class_of(claim: Object) -> str:
    annotated = (claim["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name: str = annotated if annotated is not None else (claim.get("spec") or {}).get("storageClassName") or ""
    return name


def _may_grow(call: Call, obj: Object, old: Object) -> bool:
    name = _class_of(obj)
    if not name or name != _class_of(old):
        return False
    entry = call.server.store.get("storageclasses.storage.k8s.io", name)
    return entry is not None and bool(entry.object.get("allowVolumeExpansion"))
