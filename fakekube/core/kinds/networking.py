"""Kinds about traffic: Service, Endpoints, EndpointSlice, Ingress, NetworkPolicy."""

from __future__ import annotations

from typing import Any

from fakekube.core.kinds.services import SERVICE
from fakekube.core.strategy import Strategy

Object = dict[str, Any]


def _deprecated_endpoints(obj: Object) -> list[str]:
    return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


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
    "services": SERVICE,
    "endpoints": Strategy(default=default_endpoints, create_on_update=True, warnings=_deprecated_endpoints),
    "endpointslices.discovery.k8s.io": Strategy(default=default_endpoint_slice, generation=("endpoints", "ports")),
    "ingresses.networking.k8s.io": Strategy(generation=("spec",)),
    "ingressclasses.networking.k8s.io": Strategy(generation=("spec",)),
    "networkpolicies.networking.k8s.io": Strategy(default=default_network_policy, generation=("spec",)),
    "servicecidrs.networking.k8s.io": Strategy(),
    "ipaddresses.networking.k8s.io": Strategy(),
}
