"""Sets the default StorageClass of new claims (plugin DefaultStorageClass)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call

Object = dict[str, Any]

DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def mutate_claim(call: Call, obj: Object, old: Object | None) -> Object:
    """Set the default class of a new claim; of several, the newest, then the first by name."""
    spec = obj.get("spec") or {}
    annotations = obj["metadata"].get("annotations") or {}
    if old is not None or "storageClassName" in spec or BETA_CLASS in annotations:
        return obj
    classes = call.server.store.collection("storageclasses.storage.k8s.io").scan("", "", None)
    found = [entry.object["metadata"] for _, entry in classes if _is_default(entry.object["metadata"])]
    if not found:
        return obj
    newest = max(meta["creationTimestamp"] for meta in found)
    name = min(meta["name"] for meta in found if meta["creationTimestamp"] == newest)
    return {**obj, "spec": {**spec, "storageClassName": name}}


def _is_default(meta: Object) -> bool:
    annotations = meta.get("annotations") or {}
    return any(annotations.get(key) == "true" for key in DEFAULT)
