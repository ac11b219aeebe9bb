"""MutatingAdmissionPolicy (`ValidateMutatingAdmissionPolicy`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.cel.environment import problem_of
from fakekube.apiserver.registry.admissionregistration.matching import Compiler
from fakekube.apiserver.registry.admissionregistration.policies import (
    _param_kind,
    conditions_differ,
    default_policy,
    validate_mutable_operations,
    validate_scope,
    validate_spec_conditions,
    validate_variables,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")

#: Type of a patch -> the field that holds it.
_PATCHES = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}

REINVOCATION_POLICIES = ("IfNeeded", "Never")


def validate(policy: Field, *, conditions: bool = True) -> None:
    spec = policy["spec"]
    validate_scope(spec)
    validate_mutable_operations(spec["matchConstraints"])
    if conditions:
        validate_spec_conditions(spec, problem_of)
    compiler = validate_variables(spec, problem_of)
    for mutation in spec["mutations"].required("mutations must contain at least one item"):
        _validate_mutation(mutation, compiler)
    spec["reinvocationPolicy"].required().one_of(REINVOCATION_POLICIES)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, qualified=False)
    validate(new, conditions=conditions_differ(new, old))


def _validate_mutation(mutation: Field, compiler: Compiler) -> None:
    kind = mutation["patchType"].required().one_of(PATCH_TYPES).text
    if kind not in _PATCHES:
        return
    patch = mutation[_PATCHES[kind]].specified(f"must be specified when patchType is {kind}")
    compiler.resulting(kind, patches=True).check_trimmed(patch["expression"])
    for other in mutation.members(_PATCHES.values()):
        if other.key != _PATCHES[kind]:
            other.invalid(f"must not be specified when patchType is {kind}", f"{{{other.key}}}")


def _mutating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.mutations", ())), _param_kind(obj), age_of(obj, ages)]


KIND = Kind(
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    Strategy(
        qualified_finalizers=False,
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, integer("Mutations"), "ParamKind", AGE), _mutating_policy),
)
