"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.table import SHOWN
from fakekube.apiserver.registry.discovery.endpointslice import PROTOCOLS
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
    check_ip,
    check_port_number,
    check_qualified_name,
)
from fakekube.apiserver.registry.generic.validation.ip import special_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_required

Object = dict[str, Any]


def default_endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def validate_endpoints(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_subsets(obj.get("subsets") or (), errors, ())
    return errors


def validate_endpoints_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    after, before = new.get("subsets") or [], old.get("subsets") or []
    if after != before:  # what is stored may be wrong by today's rules
        known = [one.get("ip", "") for subset in before for one in subset.get("addresses") or ()]
        known += [one.get("ip", "") for subset in before for one in subset.get("notReadyAddresses") or ()]
        _check_subsets(after, errors, known)
    return errors


def _check_subsets(subsets: Sequence[Object], errors: Errors, known: Sequence[str]) -> None:
    for i, subset in enumerate(subsets):
        path = f"subsets[{i}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(field_required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(field) or ()):
                _check_endpoint_address(address, f"{path}.{field}[{j}]", errors, known)
        ports = subset.get("ports") or ()
        for j, port in enumerate(ports):
            _check_endpoint_port(port, f"{path}.ports[{j}]", errors, named=len(ports) > 1)


def _check_endpoint_address(address: Object, path: str, errors: Errors, known: Sequence[str]) -> None:
    ip = address.get("ip") or ""
    check_ip(ip, f"{path}.ip", errors, known)
    if address.get("hostname"):
        check_dns_label(address["hostname"], f"{path}.hostname", errors)
    if address.get("nodeName") is not None:
        check_dns_subdomain(address["nodeName"], f"{path}.nodeName", errors)
    add(errors, f"{path}.ip", ip, special_problems(ip))


def _check_endpoint_port(port: Object, path: str, errors: Errors, *, named: bool) -> None:
    if port.get("name"):
        check_dns_label(port["name"], f"{path}.name", errors)
    elif named:
        errors.append(field_required(f"{path}.name"))
    check_port_number(port.get("port", 0), f"{path}.port", errors)
    check_choice(port.get("protocol"), PROTOCOLS, f"{path}.protocol", errors)
    if port.get("appProtocol") is not None:
        check_qualified_name(port["appProtocol"], f"{path}.appProtocol", errors)


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoints_text(subsets: Sequence[Object]) -> str:
    if not subsets:
        return "<none>"
    found: list[str] = []
    for subset in subsets:
        addresses = [one.get("ip") or "" for one in subset.get("addresses") or ()]
        ports = [one.get("port") or 0 for one in subset.get("ports") or ()]
        found += [_host_port(one, port) for port in ports for one in addresses] if ports else addresses
    return joined(found, SHOWN)


def _endpoints(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), _endpoints_text(obj.get("subsets") or ()), age_of(obj, ages)]


KIND = Kind(
    "endpoints",
    Strategy(
        default=default_endpoints,
        create_on_update=True,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        validate=validate_endpoints,
        validate_update=validate_endpoints_update,
    ),
    printer=Printer(columns(NAME, "Endpoints", AGE), _endpoints),
)
