"""Allows the expansion of a claim only if its StorageClass does (plugin PersistentVolumeClaimResize), and the resize of
a pod only if its node can run it (PodResizeValidator, `podresize/admission.go`; from 1.36 on)."""

from __future__ import annotations

import math
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION
from fakekube.apiserver.registry.core.pod import resources
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, forbidden

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


# --- pods -------------------------------------------------------------------------------------------------------------

OS_LABEL = "kubernetes.io/os"


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Check the resources of a pod that has a node. Raises 403, with a cause that autoscalers look at."""
    name, meta, node_name = call.info.name, obj["metadata"], obj["spec"].get("nodeName")
    if not since(36) or not node_name or old is None or meta.get("generation") == old["metadata"].get("generation"):
        return
    entry = call.server.store.get("nodes", node_name)
    if entry is None:
        raise forbidden(call.resource.qualified, name, f"node {go_quote(node_name)} not found")
    os = (entry.object["metadata"].get("labels") or {}).get(OS_LABEL, "linux")
    if os != "linux":
        why = f"pod resize is only supported on linux nodes, node {go_quote(node_name)} is {go_quote(os)}"
        raise _refused(call, why, "UnsupportedPlatform")
    lacking = _lacking(obj["spec"], (entry.object.get("status") or {}).get("allocatable") or {})
    if lacking:
        why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise _refused(call, why, "NodeCapacity")


def _lacking(spec: Object, allocatable: Object) -> list[str]:
    """The resources of which the pod requests more than the node has; cpu in thousandths."""
    requests = resources.of_pod(spec, "requests", overhead=True)
    found = []
    for name, scale in (("cpu", 1000), ("memory", 1)):
        wanted, there = number_of(requests.get(name, "0")), number_of(allocatable.get(name, "0"))
        if wanted > there:
            found.append(f"{name}, requested: {math.ceil(wanted * scale)}, allocatable: {math.ceil(there * scale)}")
    return found


def _refused(call: Call, why: str, cause: str) -> StatusError:
    error = forbidden(call.resource.qualified, call.info.name, why)
    return StatusError(
        error.code, error.reason, error.message, {**(error.details or {}), "causes": [{"reason": cause}]}
    )
