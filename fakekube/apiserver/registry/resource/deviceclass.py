"""DeviceClass: a kind of device that claims can name (`ValidateDeviceClass`)."""

from __future__ import annotations

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.resourcenames import is_extended
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import as_new
from fakekube.apiserver.registry.generic.validation.rules import validator
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


KIND = Kind(
    "deviceclasses.resource.k8s.io",
    Strategy(
        name_check=names.long_name_problems,
        returns_deleted=True,
        generation=("spec",),
        validate=validator(validate),
        validate_update=as_new(validate, names.any_name_problems),
    ),
    printer=NAME_AND_AGE,
)
