"""ServiceCIDR: ranges of the addresses of services (`ValidateServiceCIDR`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, joined, name_of
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import canonical_cidr_problems, cidr_family
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def validate(service_cidr: Field) -> None:
    cidrs = service_cidr["spec"]["cidrs"].required("at least one CIDR required")
    if len(cidrs) > 2:
        cidrs.with_value({"CIDRs": cidrs.value}).invalid_go("may only hold up to 2 values")
        return
    for cidr in cidrs:
        cidr.check(canonical_cidr_problems)
    families = [cidr_family(cidr.text) for cidr in cidrs]
    if len(cidrs) == 2 and families[0] == families[1] != "":
        cidrs.invalid("may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")


def validate_update(new: Field, old: Field) -> None:
    """One range can get a second one of the other family; nothing else changes."""
    after, before = new["spec"]["cidrs"], old["spec"]["cidrs"]
    if len(after) != len(before) and (len(before), len(after)) != (1, 2):
        after.invalid(IMMUTABLE, after.value)
        return
    for one, other in zip(after, before, strict=False):
        one.immutable(other)
    if len(after) > len(before):
        validate(new)


#: The name of the ServiceCIDR with the ranges of `--service-cluster-ip-range`.
DEFAULT_NAME = "kubernetes"


def default_service_cidr(cidrs: Sequence[str], *, uid: str, now: str) -> Object:
    """The default ServiceCIDR, which is ready (`defaultservicecidr.Controller.sync`)."""
    fields: Object = {f"f:{key}": {} for key in ("lastTransitionTime", "message", "status", "type")}
    status = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, **fields}}}}
    versioned = {"apiVersion": "networking.k8s.io/v1", "time": now, "fieldsType": "FieldsV1"}
    manager = "kubernetes-service-cidr-controller"
    entries: list[Object] = [
        {"manager": manager, "operation": "Apply", **versioned, "fieldsV1": status, "subresource": "status"},
        {"manager": "kube-apiserver", "operation": "Update", **versioned, "fieldsV1": {"f:spec": {"f:cidrs": {}}}},
    ]
    message = "Kubernetes default Service CIDR is ready"
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now, "reason": "", "message": message}
    return {
        "metadata": {"name": DEFAULT_NAME, "uid": uid, "creationTimestamp": now, "managedFields": entries},
        "spec": {"cidrs": list(cidrs)},
        "status": {"conditions": [ready]},
    }


def _service_cidr(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), joined(get(obj, "spec.cidrs", ())), age_of(obj, ages)]


KIND = Kind(
    "servicecidrs.networking.k8s.io",
    Strategy(
        status_resets_metadata=True,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "CIDRs", AGE), _service_cidr),
    before={36: {"status_owns_metadata": True}},
)
