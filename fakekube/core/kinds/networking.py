"""Kinds about traffic: Service, Endpoints, EndpointSlice, Ingress, NetworkPolicy."""

from __future__ import annotations

from typing import Any

from fakekube.core import names
from fakekube.core.kinds.configuration import _at
from fakekube.core.strategy import Strategy

Object = dict[str, Any]


def _deprecated_endpoints(obj: Object) -> list[str]:
    return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


def default_service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10_800)
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def default_endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(obj: Object) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_network_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


STRATEGIES = {
    "services": Strategy(
        default=default_service,
        name_check=names.dns_label_problems,
        create_on_update=True,
        returns_deleted=True,
        fields={"spec.clusterIP": _at("spec", "clusterIP"), "spec.type": _at("spec", "type")},
        fields_message="label",
    ),
    "endpoints": Strategy(default=default_endpoints, create_on_update=True, warnings=_deprecated_endpoints),
    "endpointslices.discovery.k8s.io": Strategy(default=default_endpoint_slice, generation=("endpoints", "ports")),
    "ingresses.networking.k8s.io": Strategy(generation=("spec",)),
    "ingressclasses.networking.k8s.io": Strategy(generation=("spec",)),
    "networkpolicies.networking.k8s.io": Strategy(default=default_network_policy, generation=("spec",)),
    "servicecidrs.networking.k8s.io": Strategy(),
    "ipaddresses.networking.k8s.io": Strategy(),
}
