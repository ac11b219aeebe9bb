"""MutatingAdmissionPolicyBinding (`ValidateMutatingAdmissionPolicyBinding`)."""

from __future__ import annotations

from fakekube.apiserver.registry.admissionregistration.bindings import PRINTER, default_policy_binding, validate_binding
from fakekube.apiserver.registry.admissionregistration.policies import validate_mutable_operations
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import as_new
from fakekube.apiserver.registry.generic.validation.rules import validator


def validate(binding: Field) -> None:
    validate_binding(binding["spec"])
    validate_mutable_operations(binding["spec"]["matchResources"])


KIND = Kind(
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
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
