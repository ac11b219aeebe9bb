"""The strategy of pods: defaults, preparation of new pods, grace periods, selectable fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod import apparmor, warnings
from fakekube.apiserver.registry.core.pod.defaults import default_pod_spec, round_up_all, without_old_annotations
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_of_pod
from fakekube.apiserver.registry.core.pod.resources import default_resources, qos_class
from fakekube.apiserver.registry.core.pod.subresources import PARTS
from fakekube.apiserver.registry.core.pod.table import POD
from fakekube.apiserver.registry.core.pod.validation import pod as pods
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy, no_update_warnings

Object = dict[str, Any]

GATED: dict[str, str | None] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def default_pod(obj: Object) -> None:
    """Sets the defaults of a pod, some of which a template does not have."""
    without_old_annotations(obj["metadata"])
    spec = obj.setdefault("spec", {})
    default_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("hostNetwork"):
        for kind in ("initContainers", "containers"):
            for container in spec.get(kind) or ():
                for port in container.get("ports") or ():
                    port.setdefault("hostPort", port.get("containerPort", 0))
    default_pod_spec(spec)
    if obj.get("status"):
        _default_addresses(obj["status"])
        round_up_all(obj["status"], ("allocatedResources",))
        round_up_all(obj["status"].get("resources") or {}, ("limits", "requests"))


def _default_addresses(status: Object) -> None:
    """`podIP` is the first of `podIPs` and takes precedence (`Convert_v1_PodStatus_To_core_PodStatus`)."""
    own, addresses = status.get("podIP") or "", status.get("podIPs") or []
    if own and (not addresses or addresses[0].get("ip") != own):
        status["podIPs"] = [{"ip": own}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def prepare_pod(obj: Object) -> Object:
    """A new pod is Pending and has its QoS class (`podStrategy.PrepareForCreate`)."""
    spec = dict(obj["spec"])
    _merge_label_keys(spec, obj["metadata"].get("labels") or {})
    annotations = obj["metadata"].get("annotations")
    if annotations:
        apparmor.sync(spec, annotations)
    if spec.get("resources"):
        # they follow from those of the containers, which admission may have set, when the pod is read
        spec["resources"] = dict(spec["resources"])
        default_resources(spec)
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        moment = obj["metadata"].get("creationTimestamp") if since(31) else None
        status["conditions"] = [{**GATED, "lastTransitionTime": moment}]
    return {**obj, "spec": spec, "status": status}


def _merge_label_keys(spec: Object, labels: Object) -> None:
    """Merges matchLabelKeys and mismatchLabelKeys into label selectors (`mutatePodAffinity`)."""
    if spec.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = [_merged(one, labels) for one in spec["topologySpreadConstraints"]]
    affinity = spec.get("affinity")
    if not affinity:
        return
    affinity = dict(affinity)
    for kind in ("podAffinity", "podAntiAffinity"):
        if affinity.get(kind):
            affinity[kind] = _merged_affinity(affinity[kind], labels)
    spec["affinity"] = affinity


def _merged_affinity(affinity: Object, labels: Object) -> Object:
    made = dict(affinity)
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    if made.get(required):
        made[required] = [_merged(term, labels) for term in made[required]]
    if made.get(preferred):
        made[preferred] = [
            {**one, "podAffinityTerm": _merged(one.get("podAffinityTerm") or {}, labels)} for one in made[preferred]
        ]
    return made


def _merged(term: Object, labels: Object) -> Object:
    selector = term.get("labelSelector")
    if selector is None:
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}


def prepare_pod_status(new: Object, old: Object) -> Object:
    """Keeps the QoS class and the observed generations if the new status has none."""
    status, before = new.get("status") or {}, old.get("status") or {}
    kept: Object = {}
    if since(32) and before.get("qosClass") and not status.get("qosClass"):
        kept["qosClass"] = before["qosClass"]
    if since(33):
        kept |= _observed(status, before)
    return {**new, "status": {**status, **kept}} if kept else new


def _observed(status: Object, before: Object) -> Object:
    """The fields of a status with the observed generations that it leaves out (`preserveOldObservedGeneration`)."""
    kept: Object = {}
    if before.get("observedGeneration") and not status.get("observedGeneration"):
        kept["observedGeneration"] = before["observedGeneration"]
    known: dict[Any, list[int]] = {}  # types of conditions may occur several times
    for condition in before.get("conditions") or ():
        known.setdefault(condition.get("type"), []).append(condition.get("observedGeneration") or 0)
    if any(map(any, known.values())):
        conditions = []
        for condition in status.get("conditions") or ():
            earlier = known.get(condition.get("type"))
            generation = earlier.pop(0) if earlier else 0
            lacks = generation and not condition.get("observedGeneration")
            conditions.append({**condition, "observedGeneration": generation} if lacks else condition)
        if conditions:
            kept["conditions"] = conditions
    return kept


def grace_period(pod: Object, requested: int | None) -> int:
    """The termination grace period in seconds: the requested one, else the pod's; 0 if no container runs
    (`podStrategy.CheckGracefulDelete`)."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    period = requested if requested is not None else spec.get("terminationGracePeriodSeconds")
    if period is None:
        period = 30
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    return max(period, 1) if period < 0 else int(period)


def _host_network(obj: Object) -> str:
    return "true" if (obj.get("spec") or {}).get("hostNetwork") else "false"


def _pod_ip(obj: Object) -> str:
    status = obj.get("status") or {}
    ips = status.get("podIPs") or ()
    return str(ips[0].get("ip", "")) if ips else str(status.get("podIP", ""))


POD_FIELDS: dict[str, Callable[[Object], str]] = {
    "spec.nodeName": string_at("spec", "nodeName"),
    "spec.host": string_at("spec", "nodeName"),
    "spec.restartPolicy": string_at("spec", "restartPolicy"),
    "spec.schedulerName": string_at("spec", "schedulerName"),
    "spec.serviceAccountName": string_at("spec", "serviceAccountName"),
    "spec.hostNetwork": _host_network,
    "status.phase": string_at("status", "phase"),
    "status.podIP": _pod_ip,
    "status.podIPs": lambda pod: "",  # accepted, but without a value (`podutils.PodToSelectableFields`)
    "status.nominatedNodeName": string_at("status", "nominatedNodeName"),
}


KIND = Kind(
    "pods",
    Strategy(
        generation=("spec",),
        returns_deleted=True,
        graceful=True,
        fields=POD_FIELDS,
        fields_message="label",
        default=default_pod,
        drop_disabled=drop_disabled_of_pod,
        prepare_create=prepare_pod,
        prepare_status_update=prepare_pod_status,
        status_keeps=("generation", "ownerReferences"),
        validate=pods.validate,
        warnings=warnings.pod_warnings,
        update_warnings=no_update_warnings,
        validate_update=pods.validate_update,
        validate_status_update=pods.validate_status_update,
    ),
    printer=POD,
    parts=PARTS,
    before={33: {"generation": ()}},
)
