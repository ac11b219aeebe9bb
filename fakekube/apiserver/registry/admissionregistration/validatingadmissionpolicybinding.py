"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.admissionregistration.bindings import PRINTER, default_policy_binding
from fakekube.apiserver.registry.admissionregistration.policies import _check_binding
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

ACTIONS = ("Audit", "Deny", "Warn")


def validate_binding(binding: Object) -> list[FieldError]:
    """Of a ValidatingAdmissionPolicy."""
    spec = binding.get("spec") or {}
    errors: Errors = []
    _check_binding(spec, errors)
    _check_actions(spec.get("validationActions") or [], "spec.validationActions", errors)
    return errors


def validate_binding_update(new: Object, old: Object) -> list[FieldError]:
    return validate_binding(new)


def _check_actions(actions: list[str], path: str, errors: Errors) -> None:
    for i, action in enumerate(actions):
        if action not in ACTIONS:
            errors.append(field_not_supported(f"{path}[{i}]", action, ACTIONS))
        if action in actions[:i]:
            errors.append(field_duplicate(f"{path}[{i}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(field_invalid(path, actions, why))
    if not actions:
        errors.append(field_required(path, "at least one validation action is required"))


KIND = Kind(
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    Strategy(
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy_binding,
        validate=validate_binding,
        validate_update=validate_binding_update,
    ),
    printer=PRINTER,
)
