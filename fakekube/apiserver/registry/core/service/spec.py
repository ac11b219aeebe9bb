"""What the type of a service implies for its other fields."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

HEADLESS = "None"


def spec_of(service: Object) -> Object:
    spec: Object = service.get("spec") or {}
    return spec


def is_headless(service: Object) -> bool:
    return spec_of(service).get("clusterIPs") == [HEADLESS]


def is_load_balancer(service: Object) -> bool:
    return spec_of(service).get("type") == "LoadBalancer"


def externally_accessible(service: Object) -> bool:
    spec = spec_of(service)
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(service: Object) -> bool:
    return is_load_balancer(service) and spec_of(service).get("externalTrafficPolicy") == "Local"


def needs_cluster_address(service: Object) -> bool:
    return spec_of(service).get("type") != "ExternalName"


def needs_node_port(service: Object) -> bool:
    return spec_of(service).get("type") in ("NodePort", "LoadBalancer")


def allocates_node_ports(service: Object) -> bool:
    """A load balancer can do without node ports (`shouldAllocateNodePorts`)."""
    spec = spec_of(service)
    return spec.get("type") == "NodePort" or (
        is_load_balancer(service) and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def node_ports(service: Object) -> set[int]:
    return {port["nodePort"] for port in spec_of(service).get("ports") or () if port.get("nodePort")}
