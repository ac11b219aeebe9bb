"""Sets the overhead and the scheduling constraints of pods from their RuntimeClass (plugin RuntimeClass)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, forbidden

Object = dict[str, Any]

COLLECTION = "runtimeclasses.node.k8s.io"

OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def mutate_pod(call: Call, obj: Object, old: Object | None) -> Object:
    """Apply the RuntimeClass of a new pod. Raises 403 if it does not exist or conflicts with the pod."""
    spec = obj.get("spec") or {}
    if old is not None and "overhead" in spec and not spec["overhead"]:
        return {**obj, "spec": {key: value for key, value in spec.items() if key != "overhead"}}
    if old is not None or spec.get("runtimeClassName") is None:
        return obj
    found = _class(call, obj, spec["runtimeClassName"])
    made = dict(spec)
    overhead = (found.get("overhead") or {}).get("podFixed")
    if found.get("overhead") is not None:
        if spec.get("overhead") and spec["overhead"] != overhead:
            raise _refused(call, obj, OTHER_OVERHEAD)
        if overhead:
            made["overhead"] = overhead
        else:
            made.pop("overhead", None)
    scheduling = found.get("scheduling")
    if scheduling is not None:
        _place(call, obj, made, scheduling)
    return {**obj, "spec": made}


def _class(call: Call, obj: Object, name: str) -> Object:
    if not name:  # the plugin's client does not ask for it
        raise StatusError(500, "", "resource name may not be empty")
    entry = call.server.store.get(COLLECTION, name)
    if entry is None:
        raise _refused(call, obj, f"pod rejected: RuntimeClass {go_quote(name)} not found")
    return entry.object


def _place(call: Call, obj: Object, spec: Object, scheduling: Object) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        own = selector.setdefault(key, value)
        if own != value:
            values = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            raise _refused(call, obj, f"conflict: {values}")
    if selector:
        spec["nodeSelector"] = selector
    own_tolerations = list(spec.get("tolerations") or ())
    added = [one for one in scheduling.get("tolerations") or () if one not in own_tolerations]
    if own_tolerations or added:
        spec["tolerations"] = own_tolerations + added


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Check that the overhead of a new pod is that of its RuntimeClass. Raises 403."""
    spec = obj.get("spec") or {}
    if old is not None:
        return
    name, own = spec.get("runtimeClassName"), spec.get("overhead")
    found = _class(call, obj, name) if name is not None else {}
    if found.get("overhead") is not None:
        if (own or None) != (found["overhead"].get("podFixed") or None):
            raise _refused(call, obj, OTHER_OVERHEAD)
    elif "overhead" in spec:  # also an empty one
        raise _refused(call, obj, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")


def _refused(call: Call, obj: Object, why: str) -> StatusError:
    return forbidden("pods", obj["metadata"].get("name") or "", why)
