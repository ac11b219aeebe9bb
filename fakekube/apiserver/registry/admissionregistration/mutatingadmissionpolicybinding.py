"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.admissionregistration.bindings import PRINTER, default_policy_binding
from fakekube.apiserver.registry.admissionregistration.policies import _check_binding, _check_mutable_operations
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def validate_mutating_binding(binding: Object) -> list[FieldError]:
    spec = binding.get("spec") or {}
    errors: Errors = []
    _check_binding(spec, errors)
    _check_mutable_operations(spec.get("matchResources"), "spec.matchResources", errors)
    return errors


def validate_mutating_binding_update(new: Object, old: Object) -> list[FieldError]:
    return validate_mutating_binding(new)


KIND = Kind(
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    Strategy(
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy_binding,
        validate=validate_mutating_binding,
        validate_update=validate_mutating_binding_update,
    ),
    printer=PRINTER,
)
