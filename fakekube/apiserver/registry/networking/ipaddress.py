"""IPAddress: an address of a service, and its holder (`ValidateIPAddress`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    ip_problems,
    parse_ip,
)
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import canonical
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.resource import qualify

Object = dict[str, Any]


def address_name_problems(name: str, prefix: bool = False) -> list[str]:
    """The name of an IPAddress is the address (`ValidateIPAddressName`)."""
    problems = ip_problems(name)
    address = parse_ip(name)
    if not problems and address is not None and canonical(address) != name:
        problems = [f'must be in canonical form ("{canonical(address)}")']
    return problems


def validate(address: Field) -> None:
    parent = address["spec"]["parentRef"].specified()
    parent["group"].optional().dns_subdomain()
    parent["resource"].required().check(names.path_segment_problems)
    parent["name"].required().check(names.path_segment_problems)
    parent["namespace"].optional().check(names.path_segment_problems)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, address_name_problems)
    validate(new)
    parent = new["spec"]["parentRef"]
    if parent.value == old["spec"]["parentRef"].value:
        return
    shown = {field.title(): parent[field].text for field in ("group", "resource", "namespace", "name")}
    parent.with_value(None if parent.value is None else shown).invalid_go(IMMUTABLE)


def _ip_address(obj: Object, ages: Ages) -> list[Any]:
    """Returns one cell more than there are columns, as the API server does."""
    parent, shown = get(obj, "spec.parentRef"), "<none>"
    if parent is not None:
        group, plural = parent.get("group") or "", parent.get("resource") or ""
        qualified = qualify(plural, group)
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        shown = f"{qualified.lower()}{namespace}/{parent.get('name') or ''}"
    return [name_of(obj), shown, age_of(obj, ages)]


KIND = Kind(
    "ipaddresses.networking.k8s.io",
    Strategy(
        name_check=address_name_problems,
        random_suffix=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "ParentRef"), _ip_address),
)
