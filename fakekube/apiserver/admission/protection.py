"""Adds protection finalizers to new storage objects (plugin StorageObjectInUseProtection)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call

Object = dict[str, Any]

FINALIZERS = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


def protect(call: Call, obj: Object, old: Object | None) -> Object:
    finalizer = FINALIZERS[call.resource.collection]
    present = obj["metadata"].get("finalizers") or []
    if old is not None or finalizer in present:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "finalizers": [*present, finalizer]}}
