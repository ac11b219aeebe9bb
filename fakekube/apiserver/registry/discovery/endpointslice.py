"""EndpointSlice (`ValidateEndpointSlice`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.names import label_value_problems
from fakekube.apiserver.registry.core.service.table import SHOWN
from fakekube.apiserver.registry.core.service.validation import PROTOCOLS
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, joined, name_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import (
    dns_label_problems,
    dns_subdomain_problems,
)
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import canonical_text, family, ip_warnings, special_problems
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_labels
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def default_endpoint_slice(obj: Object) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)  # v1 does not accept it (`dropTopologyOnV1`)
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")

MAX_ENDPOINTS, MAX_ADDRESSES, MAX_PORTS, MAX_TOPOLOGY, MAX_HINTS = 1000, 100, 20_000, 16, 8


def validate(endpoint_slice: Field, old: Field | None = None) -> None:
    """Endpoints that are those of the stored object stay valid."""
    kind = endpoint_slice["addressType"].required().one_of(ADDRESS_TYPES)
    endpoints = endpoint_slice["endpoints"]
    if since(33):
        _validate_ports(endpoint_slice["ports"])
    if old is None or not since(33) or (endpoints.value or []) != (old["endpoints"].value or []):
        for endpoint in endpoints.limited(MAX_ENDPOINTS):
            _validate_endpoint(endpoint, kind.text)
    if not since(33):
        _validate_ports(endpoint_slice["ports"])


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new, old)
    new["addressType"].immutable_text(old["addressType"])


def _validate_ports(ports: Field) -> None:
    names: set[str] = set()
    for port in ports.limited(MAX_PORTS):
        port["name"].optional().dns_label()
        port["name"].unique(names)
        port["protocol"].specified().one_of(PROTOCOLS)
        port.get("appProtocol").qualified_name()


def _validate_endpoint(endpoint: Field, kind: str) -> None:
    endpoint["addresses"].required("must contain at least 1 address").max_items(MAX_ADDRESSES)
    for address in endpoint["addresses"]:
        _validate_address(address, kind, endpoint["addresses"])
    endpoint.get("nodeName").dns_subdomain()
    validate_labels(endpoint["deprecatedTopology"].max_items(MAX_TOPOLOGY))
    endpoint.get("hostname").dns_label()
    hints = endpoint["hints"]
    _validate_hints(hints["forZones"].limited(MAX_HINTS), label_value_problems)
    if len(hints["forZones"]) <= MAX_HINTS:
        _validate_hints(hints["forNodes"].limited(MAX_HINTS), dns_subdomain_problems)


def _validate_address(address: Field, kind: str, addresses: Field) -> None:
    """The error of an address of another family names the list."""
    if kind == "FQDN":
        _validate_full_name(address)
    elif kind in ("IPv4", "IPv6") and not since(33):
        if family(address.text) != kind:
            address.invalid(f"must be a valid {kind} address")
        if content.ip_problems(address.text):
            address.invalid("must be a valid IP address")
        else:
            address.check(special_problems)
    elif kind in ("IPv4", "IPv6"):
        parsable = address.ip()
        if kind == "IPv6" and (shown := canonical_text(address.text)) not in ("", address.text):
            address.invalid(f"must be in canonical form ({go_quote(shown)})")
            return
        if family(address.text) != kind and not content.ip_problems(address.text):
            addresses.invalid(f"must be an {kind} address", address.text)
        parsable.check(special_problems)


def _validate_full_name(field: Field) -> None:
    """`IsFullyQualifiedDomainName`."""
    name = field.with_value(field.text.removesuffix(".")).required()
    problems = dns_subdomain_problems(name.text)
    if problems:
        name.invalid(",".join(problems))
    elif "." not in name.text:
        name.invalid("should be a domain with at least two segments separated by dots")
    else:
        wrong = next((label for label in name.text.split(".") if dns_label_problems(label)), None)
        if wrong is not None:
            name.invalid(",".join(dns_label_problems(wrong)), wrong)


def _validate_hints(hints: Field, problems_of: Callable[[str], Sequence[str]]) -> None:
    seen: set[str] = set()
    for hint in hints:
        hint["name"].unique(seen).check(problems_of)


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


_GATED = GatedFields(
    ("TopologyAwareHints", ("endpoints[].hints",)),
    ("PreferSameTrafficDistribution", ("endpoints[].hints.forNodes",)),
)


KIND = Kind(
    "endpointslices.discovery.k8s.io",
    Strategy(
        drop_disabled=_GATED.drop_disabled,
        default=default_endpoint_slice,
        generation=("addressType", "endpoints", "ports"),
        labels_count=True,
        repeats_metadata=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        warnings=slice_warnings,
        update_warnings=slice_address_warnings,
    ),
    printer=Printer(columns(NAME, "AddressType", "Ports", "Endpoints", AGE), _endpoint_slice),
)
