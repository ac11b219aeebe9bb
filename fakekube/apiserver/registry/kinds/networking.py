"""Kinds about traffic: Service, Endpoints, EndpointSlice, Ingress, NetworkPolicy."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.kinds.services import SERVICE
from fakekube.apiserver.registry.validation import endpoints, ingresses, networkpolicies, servicecidrs

Object = dict[str, Any]


def default_endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(obj: Object) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)  # v1 shows it, and takes none (`dropTopologyOnV1`)
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_ingress_class(obj: Object) -> None:
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def no_warnings(new: Object, old: Object) -> list[str]:
    """An update's, where only a create has any."""
    return []


def default_network_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


STRATEGIES = {
    "services": SERVICE,
    "endpoints": Strategy(
        default=default_endpoints,
        create_on_update=True,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        validate=endpoints.validate_endpoints,
        validate_update=endpoints.validate_endpoints_update,
    ),
    "endpointslices.discovery.k8s.io": Strategy(
        default=default_endpoint_slice,
        generation=("addressType", "endpoints", "ports"),
        labels_count=True,
        repeats_metadata=False,
        validate=endpoints.validate_endpoint_slice,
        validate_update=endpoints.validate_endpoint_slice_update,
        warnings=endpoints.slice_warnings,
        update_warnings=endpoints.slice_address_warnings,
    ),
    "ingresses.networking.k8s.io": Strategy(
        generation=("spec",),
        validate=ingresses.validate_ingress,
        validate_update=ingresses.validate_ingress_update,
        validate_status_update=ingresses.validate_ingress_status,
        warnings=ingresses.ingress_warnings,
        update_warnings=no_warnings,
    ),
    "ingressclasses.networking.k8s.io": Strategy(
        default=default_ingress_class,
        generation=("spec",),
        validate=ingresses.validate_ingress_class,
        validate_update=ingresses.validate_ingress_class_update,
    ),
    "networkpolicies.networking.k8s.io": Strategy(
        default=default_network_policy,
        generation=("spec",),
        validate=networkpolicies.validate_network_policy,
        validate_update=networkpolicies.validate_network_policy_update,
        warnings=networkpolicies.network_policy_warnings,
    ),
    "servicecidrs.networking.k8s.io": Strategy(
        validate=servicecidrs.validate_service_cidr,
        validate_update=servicecidrs.validate_service_cidr_update,
    ),
    "ipaddresses.networking.k8s.io": Strategy(
        name_check=servicecidrs.address_name_problems,
        validate=servicecidrs.validate_ip_address,
        validate_update=servicecidrs.validate_ip_address_update,
    ),
}
