"""Sets the default class of new Ingresses and claims (plugins DefaultIngressClass and DefaultStorageClass)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.networking.ingress import CLASS_ANNOTATION

Object = dict[str, Any]

INGRESS_CLASSES, STORAGE_CLASSES = "ingressclasses.networking.k8s.io", "storageclasses.storage.k8s.io"

#: Annotations that make a class the default one.
DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)
DEFAULT_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def mutate_ingress(call: Call, obj: Object, old: Object | None) -> Object:
    spec = obj.get("spec") or {}
    named = CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}) or spec.get("ingressClassName") is not None
    if old is not None or named:
        return obj
    name = _default(call, INGRESS_CLASSES, DEFAULT_INGRESS)
    return {**obj, "spec": {**spec, "ingressClassName": name}} if name else obj


def mutate_claim(call: Call, obj: Object, old: Object | None) -> Object:
    spec = obj.get("spec") or {}
    annotations = obj["metadata"].get("annotations") or {}
    if old is not None or "storageClassName" in spec or BETA_CLASS in annotations:
        return obj
    name = _default(call, STORAGE_CLASSES, DEFAULT_STORAGE)
    return {**obj, "spec": {**spec, "storageClassName": name}} if name else obj


def _default(call: Call, collection: str, annotations: Sequence[str]) -> str:
    """The name of the default class ("": none); of several, the newest, then the first by name."""
    classes = [entry.object["metadata"] for _, entry in call.server.store.collection(collection).scan("", "", None)]
    marked = [
        meta for meta in classes if any((meta.get("annotations") or {}).get(key) == "true" for key in annotations)
    ]
    if not marked:
        return ""
    newest = max(str(meta.get("creationTimestamp") or "") for meta in marked)
    return min(str(meta["name"]) for meta in marked if str(meta.get("creationTimestamp") or "") == newest)
