"""CSIStorageCapacity: how much storage a class has left in a topology (`ValidateCSIStorageCapacity`)."""

from __future__ import annotations

from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import NEGATIVE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values, validate_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator


def validate(capacity: Field, *, any_values: bool = False) -> None:
    validate_label_selector(capacity["nodeTopology"], any_values=any_values)
    capacity["storageClassName"].dns_subdomain()
    if number_of(capacity["capacity"].value or "0") < 0:
        capacity["capacity"].invalid(NEGATIVE)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new, any_values=has_invalid_values(old["nodeTopology"].value))
    new["nodeTopology"].immutable_struct(old["nodeTopology"], "LabelSelector")
    new["storageClassName"].immutable_text(old["storageClassName"])


KIND = Kind(
    "csistoragecapacities.storage.k8s.io",
    Strategy(
        unconditional_update=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
)
