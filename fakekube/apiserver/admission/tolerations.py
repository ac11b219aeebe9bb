"""Adds tolerations of unready and unreachable nodes to pods (plugin DefaultTolerationSeconds)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call

Object = dict[str, Any]

#: The tolerated taints, and the duration in seconds (`--default-not-ready-toleration-seconds`).
TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS = 300


def mutate_pod(call: Call, obj: Object, old: Object | None) -> Object:
    """Add a toleration for each of the taints that the pod does not tolerate."""
    spec = obj.get("spec") or {}
    tolerations = spec.get("tolerations") or ()
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
        for key in TAINTS
        if not any(_tolerates(toleration, key) for toleration in tolerations)
    ]
    return {**obj, "spec": {**spec, "tolerations": [*tolerations, *added]}} if added else obj


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
