"""Endpoints (`ValidateEndpoints`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.table import SHOWN
from fakekube.apiserver.registry.core.service.validation import PROTOCOLS
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, joined, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import ip_warnings, special_problems
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire.hostport import join_host_port

Object = dict[str, Any]


def default_endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


ADDRESSES = ("addresses", "notReadyAddresses")


def validate(endpoints: Field, known: Sequence[str] = ()) -> None:
    """`known` are the addresses of the stored object, which stay valid."""
    for subset in endpoints["subsets"]:
        if not subset["addresses"] and not subset["notReadyAddresses"]:
            subset.missing("must specify `addresses` or `notReadyAddresses`")
        for field in ADDRESSES:
            for address in subset[field]:
                _validate_address(address, known)
        for port in subset["ports"]:
            _validate_port(port, named=len(subset["ports"]) > 1)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    if (new["subsets"].value or []) != (old["subsets"].value or []):
        stored = (subset[field] for field in ADDRESSES for subset in old["subsets"])
        validate(new, [address["ip"].text for addresses in stored for address in addresses])


def _validate_address(address: Field, known: Sequence[str]) -> None:
    address["ip"].ip(known)
    address["hostname"].optional().dns_label()
    address.get("nodeName").dns_subdomain()
    address["ip"].check(special_problems)


def _validate_port(port: Field, *, named: bool) -> None:
    if named:
        port["name"].required()
    port["name"].optional().dns_label()
    port["port"].port_number()
    port["protocol"].required().one_of(PROTOCOLS)
    port.get("appProtocol").qualified_name()


def _endpoints_text(subsets: Sequence[Object]) -> str:
    if not subsets:
        return "<none>"
    found: list[str] = []
    for subset in subsets:
        addresses = [one.get("ip") or "" for one in subset.get("addresses") or ()]
        ports = [one.get("port") or 0 for one in subset.get("ports") or ()]
        found += [join_host_port(one, port) for port in ports for one in addresses] if ports else addresses
    return joined(found, SHOWN)


def _endpoints(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), _endpoints_text(obj.get("subsets") or ()), age_of(obj, ages)]


#: The label, and its value, of Endpoints of the cluster's own controller, whose addresses are canonical.
MANAGED_BY = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")


def endpoints_warnings(endpoints: Object) -> list[str]:
    """Warns about addresses in an unusual form."""
    label, controller = MANAGED_BY
    if (endpoints["metadata"].get("labels") or {}).get(label) == controller:
        return []
    return [
        warning
        for i, subset in enumerate(endpoints.get("subsets") or ())
        for kind in ("addresses", "notReadyAddresses")
        for j, address in enumerate(subset.get(kind) or ())
        for warning in ip_warnings(address.get("ip") or "", f"subsets[{i}].{kind}[{j}].ip")
    ]


KIND = Kind(
    "endpoints",
    before={33: {"deprecation": ""}},
    strategy=Strategy(
        default=default_endpoints,
        create_on_update=True,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        validate=validator(validate),
        warnings=endpoints_warnings,
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "Endpoints", AGE), _endpoints),
)
