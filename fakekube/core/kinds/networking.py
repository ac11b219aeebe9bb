"""Kinds about traffic: Service, Endpoints, EndpointSlice, Ingress, NetworkPolicy."""

from __future__ import annotations

from typing import Any

from fakekube.core import names
from fakekube.core.kinds.configuration import _at
from fakekube.core.strategy import Strategy

Object = dict[str, Any]


def _deprecated_endpoints(obj: Object) -> list[str]:
    return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


STRATEGIES = {
    "services": Strategy(
        name_check=names.dns_label_problems,
        create_on_update=True,
        returns_deleted=True,
        fields={"spec.clusterIP": _at("spec", "clusterIP"), "spec.type": _at("spec", "type")},
        fields_message="label",
        default_status={"loadBalancer": {}},
        empty={"spec": {}, "status": {"loadBalancer": {}}},
    ),
    "endpoints": Strategy(create_on_update=True, warnings=_deprecated_endpoints),
    "endpointslices.discovery.k8s.io": Strategy(generation=("endpoints", "ports")),
    "ingresses.networking.k8s.io": Strategy(generation=("spec",), default_status={"loadBalancer": {}}),
    "ingressclasses.networking.k8s.io": Strategy(generation=("spec",)),
    "networkpolicies.networking.k8s.io": Strategy(generation=("spec",)),
    "servicecidrs.networking.k8s.io": Strategy(),
    "ipaddresses.networking.k8s.io": Strategy(),
}
