"""Defaults of Services (`SetDefaults_Service`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.service.spec import externally_accessible

Object = dict[str, Any]

AFFINITY_SECONDS = 10_800


def default_service(obj: Object) -> None:
    """`SetDefaults_Service`."""
    spec = obj.setdefault("spec", {})
    affinity = spec.setdefault("sessionAffinity", "None")
    config = spec.get("sessionAffinityConfig") or {}
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP" and (config.get("clientIP") or {}).get("timeoutSeconds") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if externally_accessible(obj):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for point in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")
