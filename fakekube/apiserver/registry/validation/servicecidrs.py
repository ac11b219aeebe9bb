"""ServiceCIDRs and IPAddresses: the ranges of cluster addresses, and who holds which (kubernetes
`pkg/apis/networking/validation`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    Errors,
    add,
    check_dns_subdomain,
    ip_problems,
    parse_ip,
)
from fakekube.apiserver.registry.generic.validation.ip import canonical, check_canonical_cidr, cidr_family
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]

PATH = "spec.cidrs"


def address_name_problems(name: str, prefix: bool = False) -> list[str]:
    """The name of an IPAddress is the address (`ValidateIPAddressName`)."""
    problems = ip_problems(name)
    address = parse_ip(name)
    if not problems and address is not None and canonical(address) != name:
        problems = [f'must be in canonical form ("{canonical(address)}")']
    return problems


def validate_service_cidr(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_ranges((obj.get("spec") or {}).get("cidrs") or [], errors)
    return errors


def _check_ranges(cidrs: list[str], errors: Errors) -> None:
    if not cidrs:
        errors.append(field_required(PATH, "at least one CIDR required"))
        return
    if len(cidrs) > 2:
        shown = gostructs.marshal({"CIDRs": cidrs})
        errors.append(FieldError(PATH, "FieldValueInvalid", f"Invalid value: {shown}: may only hold up to 2 values"))
        return
    for i, cidr in enumerate(cidrs):
        check_canonical_cidr(cidr, f"{PATH}[{i}]", errors)
    families = [cidr_family(cidr) for cidr in cidrs]
    if len(cidrs) == 2 and families[0] == families[1] != "":
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(field_invalid(PATH, cidrs, why))


def validate_service_cidr_update(new: Object, old: Object) -> list[FieldError]:
    """One range may get a second one of the other family; nothing else changes."""
    errors: Errors = []
    after, before = (new.get("spec") or {}).get("cidrs") or [], (old.get("spec") or {}).get("cidrs") or []
    if len(after) == len(before) or (len(before), len(after)) == (1, 2):
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            if one != other:
                errors.append(field_invalid(f"{PATH}[{i}]", other, IMMUTABLE))
        if len(after) > len(before):
            _check_ranges(after, errors)
    else:
        errors.append(field_invalid(PATH, after or None, IMMUTABLE))
    return errors


def validate_ip_address(obj: Object) -> list[FieldError]:
    errors: Errors = []
    path, parent = "spec.parentRef", (obj.get("spec") or {}).get("parentRef")
    if parent is None:
        return [field_required(path)]
    if parent.get("group"):
        check_dns_subdomain(parent["group"], f"{path}.group", errors)
    for field in ("resource", "name", "namespace"):
        value = parent.get(field) or ""
        if value:
            add(errors, f"{path}.{field}", value, names.path_segment_problems(value))
        elif field != "namespace":
            errors.append(field_required(f"{path}.{field}"))
    return errors


def validate_ip_address_update(new: Object, old: Object) -> list[FieldError]:
    after, before = (new.get("spec") or {}).get("parentRef"), (old.get("spec") or {}).get("parentRef")
    if after == before:
        return []
    parent = after or {}
    shown = {field.title(): parent.get(field, "") for field in ("group", "resource", "namespace", "name")}
    value = gostructs.marshal(shown) if after is not None else "null"
    return [FieldError("spec.parentRef", "FieldValueInvalid", f"Invalid value: {value}: {IMMUTABLE}")]
