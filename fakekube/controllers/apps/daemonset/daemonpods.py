"""The pods of a DaemonSet: their template, the node that each is for, and which nodes get one (`daemonset_util.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.workload.intorpercent import integer, scaled_value
from fakekube.controllers.workload.nodefit import matches_node, untolerated_taint
from fakekube.controllers.workload.podstate import Pod

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"

#: The annotation with the generation of the template, which extensions/v1beta1 had as a field.
GENERATION = "deprecated.daemonset.template.generation"

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")

Object = Mapping[str, Any]


def generation(daemon_set: Object) -> str | None:
    """The generation of the template, None without one."""
    found = integer((daemon_set["metadata"].get("annotations") or {}).get(GENERATION))
    return None if found is None else str(found)


def is_updated(pod: Pod, hash: str, template_generation: str | None) -> bool:
    """Whether a pod has the present template."""
    labels = pod["metadata"].get("labels") or {}
    by_generation = template_generation is not None and labels.get(GENERATION_LABEL) == template_generation
    return by_generation or (bool(hash) and labels.get(HASH_LABEL) == hash)


def with_tolerations(spec: Object) -> dict[str, Any]:
    """A pod spec that tolerates the taints of nodes with problems (AddOrUpdateDaemonPodTolerations)."""
    found = [dict(one) for one in spec.get("tolerations") or ()]
    for key, effect in (*_TOLERATED, *([_NETWORK] if spec.get("hostNetwork") else [])):
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        for index, present in enumerate(found):
            if all(
                (present.get(name) or "") == (wanted.get(name) or "") for name in ("key", "effect", "operator", "value")
            ):
                found[index] = wanted
                break
        else:
            found.append(wanted)
    return {**spec, "tolerations": found}


def pod_template(daemon_set: Object, hash: str) -> dict[str, Any]:
    """The template of the pods, with the labels of its revision (CreatePodTemplate)."""
    template = daemon_set["spec"]["template"]
    meta = template.get("metadata") or {}
    labels = dict(meta.get("labels") or {})
    number = generation(daemon_set)
    if number is not None:
        labels[GENERATION_LABEL] = number
    if hash:
        labels[HASH_LABEL] = hash
    return {**template, "metadata": {**meta, "labels": labels}, "spec": with_tolerations(template["spec"])}


def for_node(template: Object, node: str) -> dict[str, Any]:
    """The template with a node affinity for one node (ReplaceDaemonSetPodNodeNameNodeAffinity)."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = template["spec"].get("affinity") or {}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    by_node = {**(affinity.get("nodeAffinity") or {}), **required}
    return {**template, "spec": {**template["spec"], "affinity": {**affinity, "nodeAffinity": by_node}}}


def target_node(pod: Pod) -> str | None:
    """The node that a pod runs on or is for; None if it names none (GetTargetNodeName)."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    by_node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = by_node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In":
                return str(field["values"][0]) if len(field["values"]) == 1 else None
    return None


def should_run(daemon_set: Object, node: Object) -> tuple[bool, bool]:
    """Whether a node gets a pod, and whether it keeps the one that it has (NodeShouldRunDaemonPod)."""
    spec = daemon_set["spec"]["template"]["spec"]
    if spec.get("nodeName") not in (None, "", node["metadata"]["name"]):
        return False, False
    if not matches_node(spec, node):
        return False, False
    taints, tolerations = node["spec"].get("taints") or (), with_tolerations(spec)["tolerations"]
    if untolerated_taint(taints, tolerations, ("NoExecute", "NoSchedule")) is not None:
        return False, untolerated_taint(taints, tolerations, ("NoExecute",)) is None
    return True, True


def surge(daemon_set: Object, nodes: int) -> int:
    """maxSurge as a number of pods."""
    return _rolling_value(daemon_set, "maxSurge", nodes)


def unavailable(daemon_set: Object, nodes: int) -> int:
    """maxUnavailable as a number of pods."""
    return _rolling_value(daemon_set, "maxUnavailable", nodes)


def _rolling_value(daemon_set: Object, name: str, nodes: int) -> int:
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return 0
    return scaled_value((strategy.get("rollingUpdate") or {}).get(name, 0), nodes)


def by_age(pods: Sequence[Pod]) -> list[Pod]:
    """The pods, assigned ones before others and older before newer ones (podByCreationTimestampAndPhase)."""

    def order(pod: Pod) -> tuple[bool, str, str]:
        meta = pod["metadata"]
        return not pod["spec"].get("nodeName"), meta.get("creationTimestamp") or "", meta["name"]

    return sorted(pods, key=order)
