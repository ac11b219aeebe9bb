"""ValidatingAdmissionPolicyBinding (`ValidateValidatingAdmissionPolicyBinding`)."""

from __future__ import annotations

from fakekube.apiserver.registry.admissionregistration.bindings import PRINTER, default_policy_binding, validate_binding
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import as_new
from fakekube.apiserver.registry.generic.validation.rules import validator

ACTIONS = ("Audit", "Deny", "Warn")


def validate(binding: Field) -> None:
    spec = binding["spec"]
    validate_binding(spec)
    actions = spec["validationActions"]
    seen: set[str] = set()
    for action in actions:
        action.one_of(ACTIONS).unique(seen)
    if seen >= {"Deny", "Warn"}:
        why = "repeating the same validation failure information in the API response and headers serves no purpose"
        actions.invalid(f"must not contain both Deny and Warn ({why})")
    actions.required("at least one validation action is required")


KIND = Kind(
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    Strategy(
        qualified_finalizers=False,
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy_binding,
        validate=validator(validate),
        validate_update=as_new(validate, qualified=False),
    ),
    printer=PRINTER,
)
