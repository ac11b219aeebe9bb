"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, columns, name_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    NEGATIVE,
    Errors,
    check_dns_subdomain,
    check_immutable,
)
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.wire.status import FieldError, field_invalid

Object = dict[str, Any]


def validate_capacity(obj: Object) -> list[FieldError]:
    errors: Errors = []
    check_label_selector(obj.get("nodeTopology"), "nodeTopology", errors)
    check_dns_subdomain(obj.get("storageClassName") or "", "storageClassName", errors)
    if obj.get("capacity") is not None and number_of(obj["capacity"]) < 0:
        errors.append(field_invalid("capacity", obj["capacity"], NEGATIVE))
    return errors


def validate_capacity_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    topology = new.get("nodeTopology")
    if topology != old.get("nodeTopology"):
        errors.append(gostructs.invalid_selector("nodeTopology", topology, IMMUTABLE))
    check_immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName", errors)
    return errors


def _storage_capacity(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("storageClassName") or "", obj.get("capacity") or "<unset>"]


KIND = Kind(
    "csistoragecapacities.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        validate=validate_capacity,
        validate_update=validate_capacity_update,
    ),
    printer=Printer(columns(NAME, "StorageClassName", "Capacity"), _storage_capacity),
)
