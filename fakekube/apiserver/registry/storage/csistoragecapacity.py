"""CSIStorageCapacity: how much storage a class has left in a topology (`ValidateCSIStorageCapacity`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import NEGATIVE
from fakekube.apiserver.registry.generic.validation.field import Field, update_validator, validator
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_label_selector

Object = dict[str, Any]


def validate(capacity: Field) -> None:
    validate_label_selector(capacity["nodeTopology"])
    capacity["storageClassName"].dns_subdomain()
    if number_of(capacity["capacity"].value or "0") < 0:
        capacity["capacity"].invalid(NEGATIVE)


def validate_update(new: Field, old: Field) -> None:
    new["nodeTopology"].immutable_struct(old["nodeTopology"], "LabelSelector")
    new["storageClassName"].immutable_text(old["storageClassName"])


def _storage_capacity(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("storageClassName") or "", obj.get("capacity") or "<unset>"]


KIND = Kind(
    "csistoragecapacities.storage.k8s.io",
    Strategy(
        unconditional_update=False,
        returns_deleted=True,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "StorageClassName", "Capacity"), _storage_capacity),
)
