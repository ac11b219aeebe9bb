"""Warnings about Services (`GetWarningsForService`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.service.spec import HEADLESS, spec_of
from fakekube.apiserver.registry.core.service.validation import TOPOLOGY_HINTS, TOPOLOGY_MODE
from fakekube.apiserver.registry.generic.validation.ip import cidr_warnings, ip_warnings

Object = dict[str, Any]


def service_warnings(service: Object) -> list[str]:
    """`GetWarningsForService`."""
    spec = spec_of(service)
    kind, external = spec.get("type"), spec.get("externalIPs") or ()
    warnings = []
    if TOPOLOGY_HINTS in (service["metadata"].get("annotations") or {}):
        warnings.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    if kind != "ExternalName" and spec.get("clusterIP") not in (None, "", HEADLESS):
        for i, address in enumerate(spec.get("clusterIPs") or ()):
            warnings += ip_warnings(address, f"spec.clusterIPs[{i}]", before_33=True)
    headless = kind == "ClusterIP" and spec.get("clusterIP") == HEADLESS
    if headless and since(34):
        warnings += _headless_warnings(spec)
    for i, address in enumerate(external):
        warnings += ip_warnings(address, f"spec.externalIPs[{i}]", before_33=True)
    if external and not headless and kind != "ExternalName" and since(36):
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        warnings += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP", before_33=True)
    for i, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        warnings += cidr_warnings(value, f"spec.loadBalancerSourceRanges[{i}]", before_33=True)
    if kind == "ExternalName" and external:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose" and since(35):
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings


def _headless_warnings(spec: Object) -> Iterator[str]:
    for field in ("loadBalancerIP", "externalIPs"):
        if spec.get(field):
            yield f"spec.{field} is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
