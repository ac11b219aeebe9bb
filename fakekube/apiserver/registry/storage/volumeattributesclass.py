"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.registry.storage.storageclass import _check_parameters, _check_provisioner
from fakekube.apiserver.wire.status import FieldError, field_forbidden

Object = dict[str, Any]


def validate_attributes_class(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_provisioner(obj.get("driverName") or "", "driverName", errors)
    _check_parameters(obj.get("parameters") or {}, errors, required=True)
    return errors


def validate_attributes_class_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    for field in ("driverName", "parameters"):
        if (new.get(field) or None) != (old.get(field) or None):
            errors.append(field_forbidden(field, f"updates to {field} are forbidden."))
    check_again(new, errors)
    return errors + validate_attributes_class(new)


def _attributes_class(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("driverName") or "", age_of(obj, ages)]


KIND = Kind(
    "volumeattributesclasses.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        validate=validate_attributes_class,
        validate_update=validate_attributes_class_update,
    ),
    printer=Printer(columns(NAME, "DriverName", AGE), _attributes_class),
)
