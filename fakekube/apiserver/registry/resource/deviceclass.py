"""DeviceClass: a kind of device that claims can name (`ValidateDeviceClass`)."""

from __future__ import annotations

from fakekube.apiserver import names
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.resourcenames import is_extended
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.resource.devices import (
    MOST_CONFIGS,
    MOST_SELECTORS,
    each,
    validate_config,
    validate_selector,
)


def validate(device_class: Field) -> None:
    spec = device_class["spec"]
    each(spec["selectors"], MOST_SELECTORS, validate_selector)
    each(spec["config"], MOST_CONFIGS, validate_config)
    name = spec["extendedResourceName"]
    if name.value is not None and not is_extended(name.value):
        name.invalid("must be a valid extended resource name")


def validate_update(new: Field, old: Field) -> None:
    if since(35):
        validate_metadata(new, names.any_name_problems)
    validate(new)


_GATED = GatedFields(
    ("DRAExtendedResource", ("spec.extendedResourceName",)),
)


KIND = Kind(
    "deviceclasses.resource.k8s.io",
    Strategy(
        name_check=names.long_name_problems,
        returns_deleted=True,
        drop_disabled=_GATED.drop_disabled,
        generation=("spec",),
        validate=validator(validate),
        as_new_before=35,
        validate_update=update_validator(validate_update),
    ),
    printer=NAME_AND_AGE,
)
