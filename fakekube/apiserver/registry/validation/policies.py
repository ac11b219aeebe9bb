"""Admission policies in CEL, those that change objects and those that judge them, and their bindings
(`admissionregistration/validation`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.cel.environment import Environment
from fakekube.apiserver.registry.generic.validation.conditions import check_conditions
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_qualified_name
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.registry.validation.matching import (
    FAILURE_POLICIES,
    OPERATIONS,
    Compile,
    check_expression,
    check_match_conditions,
    check_match_resources,
    check_pointed_choice,
    not_compiled,
)
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
MUTABLE_OPERATIONS = tuple(one for one in OPERATIONS if one != "DELETE")
PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
MISSING_PARAMETER_ACTIONS = ("Deny", "Allow")
MOST_ANNOTATIONS, LONGEST_ANNOTATION_VALUE = 20, 5 * 1024

_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_line_break = re.compile(r"[\n\r]")
_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
        "namespace", "null", "package", "return", "true", "var", "void", "while",
    }
)  # fmt: skip


def validate_policy(policy: Object, compile: Compile = not_compiled) -> list[FieldError]:
    """A ValidatingAdmissionPolicy."""
    return _policy_errors(policy, compile, conditions=True)


def validate_policy_update(new: Object, old: Object, compile: Compile = not_compiled) -> list[FieldError]:
    return _policy_errors(new, compile, conditions=_conditions_differ(new, old))


def _conditions_differ(new: Object, old: Object) -> bool:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    return any(after.get(field) != before.get(field) for field in ("paramKind", "matchConditions"))


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


def _check_scope(spec: Object, errors: Errors) -> None:
    """What fails how, and which requests are meant."""
    check_pointed_choice(spec.get("failurePolicy"), FAILURE_POLICIES, "spec.failurePolicy", errors)
    if spec.get("paramKind") is not None:
        _check_param_kind(spec["paramKind"], "spec.paramKind", errors)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(field_required("spec.matchConstraints"))
        return
    check_match_resources(constraints, "spec.matchConstraints", errors)
    if not constraints.get("resourceRules"):
        errors.append(field_required("spec.matchConstraints.resourceRules"))


def _check_conditions(spec: Object, errors: Errors, compile: Compile, *, checked: bool) -> None:
    if checked:
        params, conditions = spec.get("paramKind") is not None, spec.get("matchConditions") or ()
        check_match_conditions(conditions, "spec.matchConditions", errors, params=params, compile=compile)


def _check_param_kind(kind: Object, path: str, errors: Errors) -> None:
    _check_param_version(kind.get("apiVersion") or "", f"{path}.apiVersion", errors)
    name = kind.get("kind") or ""
    problems = names.dns1035_label_problems(name.lower()) if name else []
    if not name:
        errors.append(field_required(f"{path}.kind"))
    elif problems:
        why = "may have mixed case, but should otherwise match: " + ",".join(problems)
        errors.append(field_invalid(f"{path}.kind", name, why))


def _check_param_version(text: str, path: str, errors: Errors) -> None:
    if not text:
        errors.append(field_required(path))
        return
    if text.count("/") > 1:
        errors.append(field_invalid(path, text, f"unexpected GroupVersion string: {text}"))
        return
    group, _, version = text.rpartition("/")
    problems = names.dns_subdomain_problems(group) if group else []
    if problems:
        errors.append(field_invalid(path, group, ",".join(problems)))
    if not version:
        errors.append(field_invalid(path, text, "version must be specified"))
    elif problems := names.dns1035_label_problems(version):
        errors.append(field_invalid(path, version, ",".join(problems)))


def _check_variables(spec: Object, errors: Errors, compile: Compile) -> Environment:
    """What the expressions after the variables may name."""
    params = spec.get("paramKind") is not None
    known: list[tuple[str, str]] = []
    for i, variable in enumerate(spec.get("variables") or ()):
        path, name, expression = f"spec.variables[{i}]", variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            errors.append(field_required(f"{path}.name", "name is not specified"))
        elif not _identifier.fullmatch(name) or name in _RESERVED:
            errors.append(field_invalid(f"{path}.name", name, "name is not a valid CEL identifier"))
        if not expression.strip():
            errors.append(field_required(f"{path}.expression", "expression is not specified"))
        else:
            environment = Environment("any", params, variables=tuple(known))
            check_expression(expression, f"{path}.expression", errors, compile, environment)
        known.append((name, expression))
    return Environment(params=params, variables=tuple(known))


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


# --- bindings --------------------------------------------------------------------------------------------------------


def validate_binding(binding: Object) -> list[FieldError]:
    """Of a ValidatingAdmissionPolicy."""
    spec = binding.get("spec") or {}
    errors: Errors = []
    _check_binding(spec, errors)
    _check_actions(spec.get("validationActions") or [], "spec.validationActions", errors)
    return errors


def validate_binding_update(new: Object, old: Object) -> list[FieldError]:
    return validate_binding(new)


def _check_binding(spec: Object, errors: Errors) -> None:
    name = spec.get("policyName") or ""
    if name:
        add(errors, "spec.policyName", name, names.dns_subdomain_problems(name))
    else:
        errors.append(field_required("spec.policyName"))
    _check_param_ref(spec.get("paramRef"), "spec.paramRef", errors)
    check_match_resources(spec.get("matchResources"), "spec.matchResources", errors)


def _check_param_ref(ref: Object | None, path: str, errors: Errors) -> None:
    if ref is None:
        return
    name, selector, exclusive = ref.get("name") or "", ref.get("selector"), "name and selector are mutually exclusive"
    if name:
        add(errors, f"{path}.name", name, names.path_segment_problems(name))
        if selector is not None:
            errors.append(field_forbidden(f"{path}.name", exclusive))
    if selector is not None:
        check_label_selector(selector, f"{path}.selector", errors)
        if name:
            errors.append(field_forbidden(f"{path}.selector", exclusive))
    if not name and selector is None:
        errors.append(field_required(path, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    if not action:
        errors.append(field_required(f"{path}.parameterNotFoundAction"))
    elif action not in MISSING_PARAMETER_ACTIONS:
        errors.append(field_not_supported(f"{path}.parameterNotFoundAction", action, MISSING_PARAMETER_ACTIONS))


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


# --- policies that change objects ------------------------------------------------------------------------------------


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


def _check_mutable_operations(match: Object | None, path: str, errors: Errors) -> None:
    """What goes cannot be changed."""
    for rule in (match or {}).get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in MUTABLE_OPERATIONS:
                here = f"{path}.resourceRules.operations"
                errors.append(field_not_supported(here, operation, MUTABLE_OPERATIONS))


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


def validate_mutating_binding(binding: Object) -> list[FieldError]:
    spec = binding.get("spec") or {}
    errors: Errors = []
    _check_binding(spec, errors)
    _check_mutable_operations(spec.get("matchResources"), "spec.matchResources", errors)
    return errors


def validate_mutating_binding_update(new: Object, old: Object) -> list[FieldError]:
    return validate_mutating_binding(new)
