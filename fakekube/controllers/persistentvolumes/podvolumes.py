"""The claims that the volumes of pods name (`pkg/controller/volume/common`, `component-helpers/storage/ephemeral`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controllerlib.controller import controller_of
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.workload.podstate import Pod, is_terminal

Object = Mapping[str, Any]

#: The name of the index of pods by the claims that they use.
CLAIM_INDEX = "pod-pvc-index"


def pods_by_claim(context: ControllerContext) -> CachedKind:
    """The pods, indexed by `namespace/name` of each claim."""
    context.index("v1", "Pod", CLAIM_INDEX, _claim_keys)
    return context.kind("v1", "Pod")


def using(pods: CachedKind, namespace: str, claim: str) -> Sequence[Pod]:
    """The pods with a volume of a claim."""
    return pods.by_index(CLAIM_INDEX, f"{namespace}/{claim}")


def _claim_keys(pod: Any) -> Sequence[str]:
    namespace = pod["metadata"].get("namespace")
    return [f"{namespace}/{name}" for volume in _volumes(pod) if (name := claim_name(pod, volume))]


def _volumes(pod: Pod) -> Sequence[Object]:
    return pod["spec"].get("volumes") or ()


def claim_name(pod: Pod, volume: Object) -> str:
    """The name of the claim of a volume, "" if it has none; that of an ephemeral volume is made from the pod's."""
    source = volume.get("persistentVolumeClaim")
    if source is not None:
        return source.get("claimName") or ""
    return f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") is not None else ""


def claim_names(pod: Pod) -> Iterator[str]:
    """The names of the claims of a pod."""
    return (name for volume in _volumes(pod) if (name := claim_name(pod, volume)))


def not_owner_problem(pod: Pod, claim: Object) -> str:
    """Why a claim is not that of an ephemeral volume of the pod, "" if it is (ephemeral.VolumeIsForPod)."""
    meta, mine = claim["metadata"], pod["metadata"]
    reference = controller_of(claim)
    if meta["namespace"] == mine["namespace"] and reference is not None and reference.get("uid") == mine["uid"]:
        return ""
    names = f"PVC {meta['namespace']}/{meta['name']} was not created for pod {mine['namespace']}/{mine['name']}"
    return f"{names} (pod is not owner)"


def is_terminated(pod: Pod) -> bool:
    """Whether the pod has ended, or is being deleted and no container runs (volumeutil.IsPodTerminated)."""
    if is_terminal(pod):
        return True
    status = pod.get("status") or {}
    kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    states = [one.get("state") or {} for kind in kinds for one in status.get(kind) or ()]
    running = any("terminated" not in state and "waiting" not in state for state in states)
    return bool(pod["metadata"].get("deletionTimestamp")) and not running
