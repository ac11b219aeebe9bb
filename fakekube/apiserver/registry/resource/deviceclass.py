"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.resourcenames import is_extended
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.columns import NAME_AND_AGE
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.resource.devices import (
    MOST_CONFIGS,
    MOST_SELECTORS,
    _check_config,
    _check_list,
    _check_selector,
)
from fakekube.apiserver.wire.status import FieldError, field_invalid

Object = dict[str, Any]


def validate_class(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors: Errors = []
    _check_list(spec.get("selectors") or [], MOST_SELECTORS, _check_selector, "spec.selectors", errors)
    _check_list(spec.get("config") or [], MOST_CONFIGS, _check_config, "spec.config", errors)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        why = "must be a valid extended resource name"
        errors.append(field_invalid("spec.extendedResourceName", name, why))
    return errors


def validate_class_update(new: Object, old: Object) -> list[FieldError]:
    return validate_class(new)


KIND = Kind(
    "deviceclasses.resource.k8s.io",
    Strategy(
        returns_deleted=True,
        generation=("spec",),
        validate=validate_class,
        validate_update=validate_class_update,
    ),
    printer=NAME_AND_AGE,
)
