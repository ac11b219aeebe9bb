"""Assigns families, addresses and ports to Services (`registry/core/service/storage/alloc.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.allocation import Unavailable
from fakekube.apiserver.registry.core.service.families import init_families, refused
from fakekube.apiserver.registry.core.service.spec import (
    allocates_node_ports,
    is_headless,
    needs_cluster_address,
    needs_health_check,
    needs_node_port,
    node_ports,
    spec_of,
)
from fakekube.apiserver.registry.generic.allocator import Allocator
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, field_invalid, internal_error

Object = dict[str, Any]


def allocate(allocator: Allocator, new: Object, old: Object | None) -> Object:
    """Returns the service with its families, addresses and ports. Raises 422 if it cannot have those that it names, 500
    if none is left."""
    spec = dict(spec_of(new))
    service = {**new, "spec": spec}
    if spec.get("ports"):
        spec["ports"] = [dict(port) for port in spec["ports"]]
    if old is not None:
        _keep_assigned(spec, service, old)
    _normalize_addresses(spec, old)
    init_families(spec, service, old, allocator.families)
    key = f"services/{new['metadata'].get('namespace', '')}/{new['metadata'].get('name', '')}"
    try:
        _assign_addresses(allocator, spec, service, old, key)
        _assign_ports(allocator, spec, service, old, key)
    except Unavailable as problem:
        raise internal_error(str(problem)) from None
    return service


def _keep_assigned(spec: Object, new: Object, old: Object) -> None:
    """An update without addresses or ports keeps the stored ones (`patchAllocatedValues`)."""
    before = spec_of(old)
    if needs_cluster_address(old) and needs_cluster_address(new):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = before["clusterIPs"]
    if allocates_node_ports(old) and allocates_node_ports(new):
        used = node_ports(old) & node_ports(new)
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if needs_health_check(old) and needs_health_check(new) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _normalize_addresses(spec: Object, old: Object | None) -> None:
    """Makes clusterIP and clusterIPs agree, whichever the client sets (`normalizeClusterIPs`)."""
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = spec_of(old)
    one, same = spec.get("clusterIP") or "", spec.get("clusterIPs") == before.get("clusterIPs")
    if before.get("clusterIPs") and not spec.get("clusterIPs") and before.get("clusterIP") == one:
        spec["clusterIPs"] = before["clusterIPs"]
    elif one != (before.get("clusterIP") or "") and same:
        if one:
            spec["clusterIPs"] = [one]
        else:
            spec.pop("clusterIPs", None)


def _assign_addresses(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    """Assigns an address of each family that the service has none of (`allocClusterIPs`, `updateClusterIPs`)."""
    if spec.get("type") == "ExternalName" or is_headless(service):
        return
    held: list[str] = []
    if old is not None and spec_of(old).get("type") != "ExternalName":
        upgraded = len(spec_of(old).get("ipFamilies") or ()) == 1 and len(spec.get("ipFamilies") or ()) == 2
        if is_headless(old) or not upgraded:
            return
        held = (spec_of(old).get("clusterIPs") or [])[:1]
    families, asked = spec.get("ipFamilies") or (), list(spec.get("clusterIPs") or ())
    addresses = asked + [""] * (len(families) - len(asked))
    for i, family in enumerate(families):
        if i >= len(held):
            addresses[i] = _address(allocator, service, addresses, i, family, key)
    spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses


def _address(allocator: Allocator, service: Object, addresses: list[str], i: int, family: str, key: str) -> str:
    """The address that the service names for a family, or the next free one. Raises 422, or 500 if none is free."""
    asked = addresses[i]
    try:
        if not asked:
            return allocator.next_address(family, key)
        allocator.take_address(asked)
        return asked
    except Unavailable as problem:
        if not asked:
            named = go_quote(service["metadata"].get("name") or "")
            raise Unavailable(f"failed to allocate a serviceIP for Service {named}: {problem}") from None
        why = f"failed to allocate IP {asked}: {problem}"
        raise refused(service, field_invalid("spec.clusterIPs", addresses, why)) from None


def _assign_ports(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    if needs_node_port(service):
        ports = spec.get("ports") or ()
        if old is None:
            _assign_new_ports(allocator, ports, service, key)
        else:
            _assign_changed_ports(allocator, ports, service, node_ports(old), key)
            _check_distinct(ports)
    _assign_health_port(allocator, spec, service, old, key)


def _assign_new_ports(allocator: Allocator, ports: Sequence[Object], service: Object, key: str) -> None:
    """Assigns one node port to each port number of a new service, for all protocols (`initNodePorts`)."""
    assigned: dict[int, int] = {}
    requested = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    for i, port in enumerate(ports):
        number, own = port.get("port", 0), port.get("nodePort", 0)
        if not own and not allocates_node_ports(service):
            continue
        if number not in assigned:
            asked = requested.get(number, 0)
            _take(allocator, i, asked, service)
            port["nodePort"] = assigned[number] = asked or _next(allocator, f"{key}/{i}")
        elif own not in (0, assigned[number]):
            _take(allocator, i, own, service)
        else:
            port["nodePort"] = assigned[number]


def _assign_changed_ports(
    allocator: Allocator, ports: Sequence[Object], service: Object, own: set[int], key: str
) -> None:
    """Assigns a node port to each port of a changed service, which holds `own` (`updateNodePorts`)."""
    for i, port in enumerate(ports):
        number = port.get("nodePort", 0)
        if number and number not in own and number not in allocator.ports:
            _take(allocator, i, number, service)
        elif not number and allocates_node_ports(service):
            port["nodePort"] = _next(allocator, f"{key}/{i}")


def _take(allocator: Allocator, i: int, number: int, service: Object) -> None:
    """Takes a port that the service names (0: it names none)."""
    if number:
        try:
            allocator.take_port(number)
        except Unavailable as problem:
            raise refused(service, field_invalid(f"spec.ports[{i}].nodePort", number, str(problem))) from None


def _next(allocator: Allocator, key: str) -> int:
    try:
        return allocator.next_port(key)
    except Unavailable as problem:
        raise Unavailable(f"failed to allocate a nodePort: {problem}") from None


def _check_distinct(ports: Sequence[Object]) -> None:
    """Ports of one name get the same node port from the stored service. Raises 500 (`updateNodePorts`)."""
    seen: set[tuple[str, int]] = set()
    for port in ports:
        found = (port["protocol"], port.get("nodePort", 0))
        if found[1] and found in seen:
            raise StatusError(500, "", f"duplicate nodePort: {{{found[0]} {found[1]}}}")
        seen.add(found)


def _assign_health_port(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    if not needs_health_check(service) or (old is not None and needs_health_check(old)):
        return
    asked = spec.get("healthCheckNodePort", 0)
    try:
        if asked:
            allocator.take_port(asked)
        else:
            spec["healthCheckNodePort"] = allocator.next_port(f"{key}/health")
    except Unavailable as problem:
        what = f"requested HealthCheck NodePort {asked}" if asked else f"a HealthCheck NodePort {asked}"
        raise Unavailable(f"failed to allocate {what}: {problem}") from None
