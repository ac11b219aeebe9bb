"""TODO"""

from __future__ import annotations

import re
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
from fakekube.apiserver.registry.generic.validation.conditions import check_conditions
from fakekube.apiserver.registry.generic.validation.content import Errors, check_qualified_name
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")


MOST_ANNOTATIONS, LONGEST_ANNOTATION_VALUE = 20, 5 * 1024


_line_break = re.compile(r"[\n\r]")


def validate_policy(policy: Object, compile: Compile = not_compiled) -> list[FieldError]:
    """A ValidatingAdmissionPolicy."""
    return _policy_errors(policy, compile, conditions=True)


def validate_policy_update(new: Object, old: Object, compile: Compile = not_compiled) -> list[FieldError]:
    return _policy_errors(new, compile, conditions=_conditions_differ(new, old))


def _policy_errors(policy: Object, compile: Compile, *, conditions: bool) -> list[FieldError]:
    spec = policy.get("spec") or {}
    errors: Errors = []
    _check_scope(spec, errors)
    _check_conditions(spec, errors, compile, checked=conditions)
    environment = _check_variables(spec, errors, compile)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        errors += [field_required("spec.validations", why), field_required("spec.auditAnnotations", why)]
        return errors
    for i, validation in enumerate(validations):
        _check_validation(validation, f"spec.validations[{i}]", errors, compile, environment)
    if len(annotations) > MOST_ANNOTATIONS:
        why = f"must not have more than {MOST_ANNOTATIONS} auditAnnotations"
        errors.append(field_invalid("spec.auditAnnotations", annotations, why))
    seen: set[str] = set()
    for i, annotation in enumerate(annotations):
        here, key = f"spec.auditAnnotations[{i}]", annotation.get("key") or ""
        _check_annotation(annotation, policy["metadata"].get("name") or "", here, errors, compile, environment)
        if key in seen:
            errors.append(field_duplicate(f"{here}.key", key))
        seen.add(key)
    return errors


def _check_validation(
    validation: Object, path: str, errors: Errors, compile: Compile, environment: Environment
) -> None:
    expression = validation.get("expression") or ""
    if expression.strip():
        check_expression(expression, f"{path}.expression", errors, compile, environment)
    else:
        errors.append(field_required(f"{path}.expression", "expression is not specified"))
    made = validation.get("messageExpression") or ""
    if made and not made.strip():
        errors.append(field_invalid(f"{path}.messageExpression", made, "must be non-empty if specified"))
    elif made:
        of_message = Environment("string", environment.params, authorizer=False, variables=environment.variables)
        check_expression(made, f"{path}.messageExpression", errors, compile, of_message)
    message = validation.get("message") or ""
    if message and not message.strip():
        errors.append(field_invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif _line_break.search(message.strip()):
        errors.append(field_invalid(f"{path}.message", message, "message must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in REASONS:
        errors.append(field_not_supported(f"{path}.reason", reason, REASONS))


def _check_annotation(
    annotation: Object, policy: str, path: str, errors: Errors, compile: Compile, environment: Environment
) -> None:
    key, value = annotation.get("key") or "", (annotation.get("valueExpression") or "").strip()
    if policy:
        check_qualified_name(f"{policy}/{key}", f"{path}.key", errors)
    else:
        errors.append(field_invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
    here = f"{path}.valueExpression"
    if not value:
        errors.append(field_required(here, "valueExpression is not specified"))
    elif len(value.encode()) > LONGEST_ANNOTATION_VALUE:
        errors.append(field_required(here, f"must not exceed {LONGEST_ANNOTATION_VALUE} bytes in length"))
    else:
        of_value = Environment("string or null", environment.params, variables=environment.variables)
        check_expression(value, here, errors, compile, of_value)


def validate_policy_status(new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors: Errors = []
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    for i, warning in enumerate(warnings):
        path = f"status.typeChecking.expressionWarnings[{i}]"
        if not warning.get("warning"):
            errors.append(field_required(f"{path}.warning"))
        if not (warning.get("fieldRef") or "").strip():
            errors.append(field_required(f"{path}.fieldRef"))
    check_conditions(status.get("conditions") or (), "status.conditions", errors)
    return errors


def _validating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.validations", ())), _param_kind(obj), age_of(obj, ages)]


KIND = Kind(
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    Strategy(
        unconditional_update=False,
        repeats_metadata=False,
        generation=("spec",),
        default=default_policy,
        validate=compiling(validate_policy),
        validate_update=compiling(validate_policy_update),
        validate_status_update=validate_policy_status,
    ),
    printer=Printer(columns(NAME, integer("Validations"), "ParamKind", AGE), _validating_policy),
)
