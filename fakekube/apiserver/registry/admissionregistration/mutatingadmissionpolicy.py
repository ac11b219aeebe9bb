"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.admissionregistration.defaults import compiling
from fakekube.apiserver.registry.admissionregistration.matching import (
    Compile,
    Environment,
    check_expression,
    not_compiled,
)
from fakekube.apiserver.registry.admissionregistration.policies import (
    _check_conditions,
    _check_mutable_operations,
    _check_scope,
    _check_variables,
    _conditions_differ,
    _param_kind,
    default_policy,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")


def validate_mutating_policy(policy: Object, compile: Compile = not_compiled) -> list[FieldError]:
    """A MutatingAdmissionPolicy."""
    return _mutating_errors(policy, compile, conditions=True)


def validate_mutating_policy_update(new: Object, old: Object, compile: Compile = not_compiled) -> list[FieldError]:
    return _mutating_errors(new, compile, conditions=_conditions_differ(new, old))


def _mutating_errors(policy: Object, compile: Compile, *, conditions: bool) -> list[FieldError]:
    spec = policy.get("spec") or {}
    errors: Errors = []
    _check_scope(spec, errors)
    _check_mutable_operations(spec.get("matchConstraints"), "spec.matchConstraints", errors)
    _check_conditions(spec, errors, compile, checked=conditions)
    environment = _check_variables(spec, errors, compile)
    mutations = spec.get("mutations") or []
    if not mutations:
        errors.append(field_required("spec.mutations", "mutations must contain at least one item"))
    for i, mutation in enumerate(mutations):
        _check_mutation(mutation, f"spec.mutations[{i}]", errors, compile, environment)
    policy_name = spec.get("reinvocationPolicy")
    if not policy_name:
        errors.append(field_required("spec.reinvocationPolicy"))
    elif policy_name not in ("Never", "IfNeeded"):
        errors.append(field_not_supported("spec.reinvocationPolicy", policy_name, ("Never", "IfNeeded")))
    return errors


#: Type of a patch -> the field that holds it.
_PATCHES = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}


def _check_mutation(mutation: Object, path: str, errors: Errors, compile: Compile, environment: Environment) -> None:
    type = mutation.get("patchType") or ""
    if not type:
        errors.append(field_required(f"{path}.patchType"))
        return
    if type not in _PATCHES:
        errors.append(field_not_supported(f"{path}.patchType", type, PATCH_TYPES))
        return
    field = _PATCHES[type]
    patch = mutation.get(field)
    if patch is None:
        errors.append(field_required(f"{path}.{field}", f"must be specified when patchType is {type}"))
    else:
        expression, here = (patch.get("expression") or "").strip(), f"{path}.{field}.expression"
        if expression:
            of_patch = Environment(type, environment.params, variables=environment.variables, patches=True)
            check_expression(expression, here, errors, compile, of_patch)
        else:
            errors.append(field_required(here))
    for other in _PATCHES.values():
        if other != field and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {type}"
            errors.append(field_invalid(f"{path}.{other}", f"{{{other}}}", why))


def _mutating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.mutations", ())), _param_kind(obj), age_of(obj, ages)]


KIND = Kind(
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    Strategy(
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy,
        validate=compiling(validate_mutating_policy),
        validate_update=compiling(validate_mutating_policy_update),
    ),
    printer=Printer(columns(NAME, integer("Mutations"), "ParamKind", AGE), _mutating_policy),
)
