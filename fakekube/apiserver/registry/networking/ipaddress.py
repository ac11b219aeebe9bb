"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    Errors,
    add,
    check_dns_subdomain,
    ip_problems,
    parse_ip,
)
from fakekube.apiserver.registry.generic.validation.ip import canonical
from fakekube.apiserver.resource import qualify
from fakekube.apiserver.wire.status import FieldError, field_required

Object = dict[str, Any]


def address_name_problems(name: str, prefix: bool = False) -> list[str]:
    """The name of an IPAddress is the address (`ValidateIPAddressName`)."""
    problems = ip_problems(name)
    address = parse_ip(name)
    if not problems and address is not None and canonical(address) != name:
        problems = [f'must be in canonical form ("{canonical(address)}")']
    return problems


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


def _ip_address(obj: Object, ages: Ages) -> list[Any]:
    """One cell more than there are columns, as the real server has it."""
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
        validate=validate_ip_address,
        validate_update=validate_ip_address_update,
    ),
    printer=Printer(columns(NAME, "ParentRef"), _ip_address),
)
