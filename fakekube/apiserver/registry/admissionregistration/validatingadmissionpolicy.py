"""ValidatingAdmissionPolicy (`ValidateValidatingAdmissionPolicy`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.cel.environment import problem_of
from fakekube.apiserver.registry.admissionregistration.matching import Compile, Compiler
from fakekube.apiserver.registry.admissionregistration.policies import (
    _param_kind,
    conditions_differ,
    default_policy,
    validate_scope,
    validate_spec_conditions,
    validate_variables,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation import conditions
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire.goprint import naming

Object = dict[str, Any]

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")

MOST_ANNOTATIONS, LONGEST_ANNOTATION_VALUE = 20, 5 * 1024

_line_break = re.compile(r"[\n\r]")


def validate(policy: Field, compile: Compile = problem_of, *, conditions: bool = True) -> None:
    spec = policy["spec"]
    validate_scope(spec)
    if conditions:
        validate_spec_conditions(spec, compile)
    compiler = validate_variables(spec, compile)
    validations, annotations = spec["validations"], spec["auditAnnotations"]
    if not validations and not annotations:
        for field in (validations, annotations):
            field.missing("validations or auditAnnotations must contain at least one item")
        return
    for validation in validations:
        _validate_validation(validation, compiler)
    if len(annotations.value or ()) > MOST_ANNOTATIONS:
        annotations.invalid(f"must not have more than {MOST_ANNOTATIONS} auditAnnotations")
    keys: set[str] = set()
    for annotation in annotations:
        _validate_annotation(annotation, policy["metadata"]["name"].text, compiler)
        annotation["key"].unique(keys)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, qualified=False)
    validate(new, conditions=conditions_differ(new, old))


def _validate_validation(validation: Field, compiler: Compiler) -> None:
    compiler.check_given(validation["expression"])
    made, message = validation["messageExpression"].optional(), validation["message"].optional()
    if made and not made.text.strip():
        made.invalid("must be non-empty if specified")
    elif made:
        compiler.resulting("string", authorizer=False).check(made)
    if message and not message.text.strip():
        message.invalid(naming("message", "must be non-empty if specified"))
    elif _line_break.search(message.text.strip()):
        message.invalid(naming("message", "must not contain line breaks"))
    validation.get("reason").one_of(REASONS)


def _validate_annotation(annotation: Field, policy: str, compiler: Compiler) -> None:
    key, expression = annotation["key"], annotation["valueExpression"]
    if policy:
        key.with_value(f"{policy}/{key.text}").qualified_name()
    else:
        key.invalid("requires metadata.name be non-empty")
    value = expression.with_value(expression.text.strip())
    if not value:
        value.missing("valueExpression is not specified")
    elif len(value.text.encode()) > LONGEST_ANNOTATION_VALUE:
        value.missing(f"must not exceed {LONGEST_ANNOTATION_VALUE} bytes in length")
    else:
        compiler.resulting("string or null").check(value)


def validate_status_update(new: Field, old: Field) -> None:
    status = new["status"]
    for warning in status["typeChecking"]["expressionWarnings"]:
        warning["warning"].required()
        if not warning["fieldRef"].text.strip():
            warning["fieldRef"].missing()
    conditions.validate_conditions(status["conditions"])


def _validating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.validations", ())), _param_kind(obj), age_of(obj, ages)]


KIND = Kind(
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    Strategy(
        status_repeats_metadata=False,
        status_resets_metadata=True,
        qualified_finalizers=False,
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
    ),
    printer=Printer(columns(NAME, integer("Validations"), "ParamKind", AGE), _validating_policy),
)
