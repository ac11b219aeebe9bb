"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, joined, name_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, Errors
from fakekube.apiserver.registry.generic.validation.ip import check_canonical_cidr, cidr_family
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required

Object = dict[str, Any]

PATH = "spec.cidrs"


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


def _service_cidr(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), joined(get(obj, "spec.cidrs", ())), age_of(obj, ages)]


KIND = Kind(
    "servicecidrs.networking.k8s.io",
    Strategy(
        validate=validate_service_cidr,
        validate_update=validate_service_cidr_update,
    ),
    printer=Printer(columns(NAME, "CIDRs", AGE), _service_cidr),
)
