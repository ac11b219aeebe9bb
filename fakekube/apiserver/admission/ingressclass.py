"""Sets the default IngressClass of new Ingresses (plugin DefaultIngressClass)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.networking.ingress import CLASS_ANNOTATION

Object = dict[str, Any]

DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"
COLLECTION = "ingressclasses.networking.k8s.io"


def mutate_ingress(call: Call, obj: Object, old: Object | None) -> Object:
    spec = obj.get("spec") or {}
    named = CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}) or spec.get("ingressClassName") is not None
    if old is not None or named:
        return obj
    name = _default(call)
    return {**obj, "spec": {**spec, "ingressClassName": name}} if name else obj


def _default(call: Call) -> str:
    """The name of the default class ("": none); of several, the newest, then the first by name."""
    classes = [entry.object["metadata"] for _, entry in call.server.store.collection(COLLECTION).scan("", "", None)]
    marked = [meta for meta in classes if (meta.get("annotations") or {}).get(DEFAULT_ANNOTATION) == "true"]
    if not marked:
        return ""
    newest = max(str(meta.get("creationTimestamp") or "") for meta in marked)
    return min(str(meta["name"]) for meta in marked if str(meta.get("creationTimestamp") or "") == newest)
