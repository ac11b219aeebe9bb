"""Taints new nodes as not ready (plugin TaintNodesByCondition)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call

Object = dict[str, Any]

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def mutate_node(call: Call, obj: Object, old: Object | None) -> Object:
    """Add the not-ready taint to a new node that does not have it."""
    if old is not None:
        return obj
    spec = obj.get("spec") or {}
    taints = spec.get("taints") or []
    if any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == NOT_READY["effect"] for taint in taints):
        return obj
    return {**obj, "spec": {**spec, "taints": [*taints, dict(NOT_READY)]}}
