"""Pods: grace periods, phases, what selectors may ask for."""

from __future__ import annotations

from typing import Any

from fakekube.core.kinds.configuration import _at
from fakekube.core.kinds.podspec import containers, default_pod_spec, default_template, requests_from_limits
from fakekube.core.quantity import value_of
from fakekube.core.strategy import Strategy

Object = dict[str, Any]

#: Tolerations that every new pod gets (admission plugin DefaultTolerationSeconds).
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def default_pod(obj: Object) -> None:
    """Defaults that a pod has and a pod template has not."""
    spec = obj.setdefault("spec", {})
    requests_from_limits(spec)
    spec.setdefault("enableServiceLinks", True)
    default_pod_spec(spec)


def default_pod_template(obj: Object) -> None:
    default_template(obj.get("template"))


def prepare_pod(obj: Object) -> Object:
    """Pending, with its QoS class, and with what the admission plugins Priority and DefaultTolerationSeconds add."""
    spec = dict(obj["spec"])
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    tolerations = list(spec.get("tolerations") or ())
    for key in TOLERATED:
        if not any(_tolerates(toleration, key) for toleration in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = tolerations
    return {**obj, "spec": spec, "status": {"phase": "Pending", "qosClass": qos_class(spec)}}


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort (`pkg/apis/core/v1/helper/qos`)."""
    guaranteed, any_resources = True, False
    for container in containers({key: spec.get(key) for key in ("initContainers", "containers")}):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit, request = value_of(limits.get(name, 0)), value_of(requests.get(name, 0))
            any_resources = any_resources or bool(limit or request)
            guaranteed = guaranteed and bool(limit) and limit == request
    if not any_resources:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def grace_period(pod: Object, asked: int | None) -> int:
    """Seconds that a pod gets to end: what was asked, else its own; none where nothing runs
    (`podStrategy.CheckGracefulDelete`)."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    period = asked if asked is not None else spec.get("terminationGracePeriodSeconds")
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


POD_FIELDS = {
    "spec.nodeName": _at("spec", "nodeName"),
    "spec.restartPolicy": _at("spec", "restartPolicy"),
    "spec.schedulerName": _at("spec", "schedulerName"),
    "spec.serviceAccountName": _at("spec", "serviceAccountName"),
    "spec.hostNetwork": _host_network,
    "status.phase": _at("status", "phase"),
    "status.podIP": _pod_ip,
    "status.nominatedNodeName": _at("status", "nominatedNodeName"),
}

STRATEGIES = {
    "pods": Strategy(
        generation=("spec",),
        returns_deleted=True,
        graceful=True,
        fields=POD_FIELDS,
        fields_message="label",
        default=default_pod,
        prepare_create=prepare_pod,
    ),
    "podtemplates": Strategy(returns_deleted=True, generation=("template",), default=default_pod_template),
}
