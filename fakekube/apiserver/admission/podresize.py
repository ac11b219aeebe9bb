"""Rejects the resize of a pod that its node cannot run (plugin PodResizeValidator, `podresize/admission.go`; 1.36)."""

from __future__ import annotations

import math
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod import resources
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, forbidden

Object = dict[str, Any]

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
