"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.table import SHOWN
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, joined, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
    check_ip,
    check_qualified_name,
    dns_label_problems,
    dns_subdomain_problems,
    ip_problems,
)
from fakekube.apiserver.registry.generic.validation.ip import family, ip_warnings, special_problems
from fakekube.apiserver.registry.generic.validation.labelselectors import check_labels, value_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_many,
)

Object = dict[str, Any]


def default_endpoint_slice(obj: Object) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)  # v1 shows it, and takes none (`dropTopologyOnV1`)
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


PROTOCOLS = ("SCTP", "TCP", "UDP")


ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")


MAX_ENDPOINTS, MAX_ADDRESSES, MAX_PORTS, MAX_TOPOLOGY, MAX_HINTS = 1000, 100, 20_000, 16, 8


def validate_endpoint_slice(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_slice(obj, errors, ())
    return errors


def validate_endpoint_slice_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    known = [address for one in old.get("endpoints") or () for address in one.get("addresses") or ()]
    check_again(new, errors)
    _check_slice(new, errors, known)
    check_immutable(new.get("addressType", ""), old.get("addressType", ""), "addressType", errors)
    return errors


def _check_slice(obj: Object, errors: Errors, known: Sequence[str]) -> None:
    kind = obj.get("addressType") or ""
    check_choice(kind, ADDRESS_TYPES, "addressType", errors)
    _check_slice_ports(obj.get("ports") or (), errors)
    endpoints = obj.get("endpoints") or ()
    if len(endpoints) > MAX_ENDPOINTS:
        errors.append(field_too_many("endpoints", len(endpoints), MAX_ENDPOINTS))
        return
    for i, endpoint in enumerate(endpoints):
        _check_endpoint(endpoint, kind, f"endpoints[{i}]", errors, known)


def _check_slice_ports(ports: Sequence[Object], errors: Errors) -> None:
    if len(ports) > MAX_PORTS:
        errors.append(field_too_many("ports", len(ports), MAX_PORTS))
        return
    seen: set[str] = set()
    for i, port in enumerate(ports):
        path, name = f"ports[{i}]", port.get("name") or ""
        if name:
            check_dns_label(name, f"{path}.name", errors)
        if name in seen:
            errors.append(field_duplicate(f"{path}.name", name))
        seen.add(name)
        protocol = port.get("protocol")
        if protocol is None:
            errors.append(field_required(f"{path}.protocol"))
        elif protocol not in PROTOCOLS:
            errors.append(field_not_supported(f"{path}.protocol", protocol, PROTOCOLS))
        if port.get("appProtocol") is not None:
            check_qualified_name(port["appProtocol"], f"{path}.appProtocol", errors)


def _check_endpoint(endpoint: Object, kind: str, path: str, errors: Errors, known: Sequence[str]) -> None:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        errors.append(field_required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > MAX_ADDRESSES:
        errors.append(field_too_many(f"{path}.addresses", len(addresses), MAX_ADDRESSES))
    for i, address in enumerate(addresses):
        _check_slice_address(address, kind, f"{path}.addresses[{i}]", errors, known)
    if endpoint.get("nodeName") is not None:
        check_dns_subdomain(endpoint["nodeName"], f"{path}.nodeName", errors)
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > MAX_TOPOLOGY:
        errors.append(field_too_many(f"{path}.deprecatedTopology", len(topology), MAX_TOPOLOGY))
    check_labels(topology, f"{path}.deprecatedTopology", errors)
    if endpoint.get("hostname") is not None:
        check_dns_label(endpoint["hostname"], f"{path}.hostname", errors)
    if endpoint.get("hints") is not None:
        _check_hints(endpoint["hints"], f"{path}.hints", errors)


def _check_slice_address(address: str, kind: str, path: str, errors: Errors, known: Sequence[str]) -> None:
    if kind == "FQDN":
        _check_full_name(address, path, errors)
    elif kind in ("IPv4", "IPv6"):
        if address not in known and ip_problems(address):
            check_ip(address, path, errors)
            return
        if family(address) != kind:
            errors.append(field_invalid(path, address, f"must be an {kind} address"))
        add(errors, path, address, special_problems(address))


def _check_full_name(name: str, path: str, errors: Errors) -> None:
    """`IsFullyQualifiedDomainName`."""
    name = name.removesuffix(".")
    problems = dns_subdomain_problems(name)
    if not name:
        errors.append(field_required(path))
    elif problems:
        errors.append(field_invalid(path, name, ",".join(problems)))
    elif "." not in name:
        why = "should be a domain with at least two segments separated by dots"
        errors.append(field_invalid(path, name, why))
    else:
        for label in name.split("."):
            if dns_label_problems(label):
                errors.append(field_invalid(path, label, ",".join(dns_label_problems(label))))
                return


def _check_hints(hints: Object, path: str, errors: Errors) -> None:
    for field, problems_of in (("forZones", value_problems), ("forNodes", dns_subdomain_problems)):
        names = [one.get("name") or "" for one in hints.get(field) or ()]
        if len(names) > MAX_HINTS:
            errors.append(field_too_many(f"{path}.{field}", len(names), MAX_HINTS))
            return
        for i, name in enumerate(names):
            here = f"{path}.{field}[{i}].name"
            if name in names[:i]:
                errors.append(field_duplicate(here, name))
            add(errors, here, name, problems_of(name))


def slice_address_warnings(new: Object, old: Object) -> list[str]:
    """Of an update."""
    if new.get("addressType") == "FQDN":
        return []
    return [
        warning
        for i, endpoint in enumerate(new.get("endpoints") or ())
        for j, address in enumerate(endpoint.get("addresses") or ())
        for warning in ip_warnings(address, f"endpoints[{i}].addresses[{j}]")
    ]


def slice_warnings(obj: Object) -> list[str]:
    """Of a create."""
    if obj.get("addressType") == "FQDN":
        return ["spec.addressType: FQDN endpoints are deprecated"]
    return slice_address_warnings(obj, obj)


def _slice_port(port: Object) -> str:
    number = port.get("port")
    return str(number) if number is not None else port.get("name") if port.get("name") is not None else "*"  # type: ignore[return-value]


def _endpoint_slice(obj: Object, ages: Ages) -> list[Any]:
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    cells = [joined(found, SHOWN) or "<unset>" for found in (ports, addresses)]
    return [name_of(obj), obj.get("addressType") or "", *cells, age_of(obj, ages)]


KIND = Kind(
    "endpointslices.discovery.k8s.io",
    Strategy(
        default=default_endpoint_slice,
        generation=("addressType", "endpoints", "ports"),
        labels_count=True,
        repeats_metadata=False,
        validate=validate_endpoint_slice,
        validate_update=validate_endpoint_slice_update,
        warnings=slice_warnings,
        update_warnings=slice_address_warnings,
    ),
    printer=Printer(columns(NAME, "AddressType", "Ports", "Endpoints", AGE), _endpoint_slice),
)
