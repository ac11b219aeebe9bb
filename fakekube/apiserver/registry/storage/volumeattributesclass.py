"""VolumeAttributesClass: changeable attributes of volumes (`ValidateVolumeAttributesClass`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.storage.storageclass import validate_parameters, validate_provisioner

Object = dict[str, Any]


def validate(attributes_class: Field) -> None:
    validate_provisioner(attributes_class["driverName"])
    validate_parameters(attributes_class["parameters"], required=True)


def validate_update(new: Field, old: Field) -> None:
    for field in ("driverName", "parameters"):
        if (new[field].value or None) != (old[field].value or None):
            new[field].forbidden(f"updates to {field} are forbidden.")
    validate_metadata(new)
    validate(new)


def _attributes_class(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("driverName") or "", age_of(obj, ages)]


KIND = Kind(
    "volumeattributesclasses.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        validate=validator(validate),
        as_new_before=35,
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "DriverName", AGE), _attributes_class),
)
