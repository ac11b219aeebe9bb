"""Pods: grace periods, phases, what selectors may ask for."""

from __future__ import annotations

from typing import Any

from fakekube.core.kinds.configuration import _at
from fakekube.core.strategy import Strategy

Object = dict[str, Any]


def prepare_pod(obj: Object) -> Object:
    return {**obj, "status": {"phase": "Pending", "qosClass": "BestEffort"}}


def grace_period(pod: Object, asked: int | None) -> int:
    """Seconds that a pod gets to end: what was asked, else its own; none where nothing runs (`podStrategy.CheckGracefulDelete`)."""
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
        prepare_create=prepare_pod,
        empty={"spec": {"containers": None}, "status": {}},
    ),
    "podtemplates": Strategy(returns_deleted=True, generation=("template",)),
}
