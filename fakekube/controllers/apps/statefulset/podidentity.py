"""The names, labels and volumes of a StatefulSet's pods (`stateful_set_utils.go`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podcontrol import pod_from_template
from fakekube.controllers.workload.podstate import Pod

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"

_NAME = re.compile(r"(.*)-([0-9]+)", re.DOTALL)

Object = Mapping[str, Any]


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """The name of the StatefulSet of a pod and the pod's ordinal; -1 if the name has none."""
    found = _NAME.fullmatch(name)
    if found is None or int(found[2]) >= 2**31:
        return (found[1] if found else ""), -1
    return found[1], int(found[2])


def ordinal(pod: Pod) -> int:
    return parent_and_ordinal(pod["metadata"]["name"])[1]


def is_member(set: Object, pod: Pod) -> bool:
    """Whether a pod has a name of the StatefulSet."""
    return parent_and_ordinal(pod["metadata"]["name"])[0] == str(set["metadata"]["name"])


def ordinals(set: Object) -> range:
    """The ordinals that the StatefulSet asks for."""
    start = int((set["spec"].get("ordinals") or {}).get("start") or 0)
    return range(start, start + int(set["spec"].get("replicas") or 0))


def revision_of(pod: Pod) -> str:
    return (pod["metadata"].get("labels") or {}).get(REVISION_LABEL) or ""


def claim_name(set: Object, template: Object, number: int) -> str:
    return f"{template['metadata']['name']}-{set['metadata']['name']}-{number}"


def claims(set: Object, pod: Pod) -> Mapping[str, dict[str, Any]]:
    """The claims of a pod, by the names of its volumes."""
    labels = (set["spec"].get("selector") or {}).get("matchLabels") or {}
    found: dict[str, dict[str, Any]] = {}
    for template in set["spec"].get("volumeClaimTemplates") or ():
        meta = template["metadata"]
        named = {
            **{name: meta[name] for name in ("annotations", "finalizers") if meta.get(name)},
            "name": claim_name(set, template, ordinal(pod)),
            "namespace": set["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **labels},
        }
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": named, "spec": template["spec"]}
        found[meta["name"]] = claim
    return found


def has_identity(set: Object, pod: Pod) -> bool:
    """Whether the pod has its name in its labels (identityMatches)."""
    name, meta = pod["metadata"]["name"], pod["metadata"]
    return ordinal(pod) >= 0 and is_member(set, pod) and (meta.get("labels") or {}).get(POD_NAME_LABEL) == name


def has_storage(set: Object, pod: Pod) -> bool:
    """Whether the pod has a volume for each of its claims (storageMatches)."""
    volumes = {one["name"]: one for one in pod["spec"].get("volumes") or ()}
    for name, claim in claims(set, pod).items():
        source = volumes.get(name, {}).get("persistentVolumeClaim") or {}
        if source.get("claimName") != claim["metadata"]["name"]:
            return False
    return True


def identified(set: Object, pod: Pod) -> dict[str, Any]:
    """The pod with the labels that name it."""
    meta = pod["metadata"]
    name = f"{set['metadata']['name']}-{ordinal(pod)}"
    labels = {**(meta.get("labels") or {}), POD_NAME_LABEL: name, INDEX_LABEL: str(ordinal(pod))}
    return {**pod, "metadata": {**meta, "name": name, "labels": labels}}


def with_storage(set: Object, pod: Pod) -> dict[str, Any]:
    """The pod with the volumes of its claims before its other ones."""
    own = claims(set, pod)
    mounted: Sequence[Object] = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} for name, claim in own.items()
    ]
    others = [one for one in pod["spec"].get("volumes") or () if one["name"] not in own]
    volumes = [*mounted, *others]
    return {**pod, "spec": {**pod["spec"], **({"volumes": volumes} if volumes else {})}}


def new_pod(set: Object, revision: str, number: int) -> dict[str, Any]:
    """The pod of an ordinal, which is not created yet."""
    reference = controller_reference(set, "apps/v1", "StatefulSet")
    pod = pod_from_template(set, reference, set["spec"]["template"])
    pod["metadata"]["name"] = f"{set['metadata']['name']}-{number}"
    pod = identified(set, pod)
    pod["metadata"]["labels"][REVISION_LABEL] = revision
    pod["spec"]["hostname"] = pod["metadata"]["name"]
    if set["spec"].get("serviceName"):
        pod["spec"]["subdomain"] = set["spec"]["serviceName"]
    return with_storage(set, pod)
