"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.admissionregistration.defaults import default_rules, default_selectors
from fakekube.apiserver.registry.admissionregistration.matching import (
    FAILURE_POLICIES,
    OPERATIONS,
    Compile,
    Environment,
    check_expression,
    check_match_conditions,
    check_match_resources,
    check_pointed_choice,
)
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.table.columns import get
from fakekube.apiserver.registry.generic.validation.content import Errors, add
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_not_supported, field_required

Object = dict[str, Any]


def default_match_resources(match: Object | None) -> None:
    if match is not None:
        default_selectors(match)
        default_rules(match.get("resourceRules"))
        default_rules(match.get("excludeResourceRules"))


def default_policy(obj: Object) -> None:
    """Of both kinds of policy."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    default_match_resources(spec.get("matchConstraints"))


MUTABLE_OPERATIONS = tuple(one for one in OPERATIONS if one != "DELETE")


MISSING_PARAMETER_ACTIONS = ("Deny", "Allow")


_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
        "namespace", "null", "package", "return", "true", "var", "void", "while",
    }
)  # fmt: skip


def _conditions_differ(new: Object, old: Object) -> bool:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    return any(after.get(field) != before.get(field) for field in ("paramKind", "matchConditions"))


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


def _check_mutable_operations(match: Object | None, path: str, errors: Errors) -> None:
    """What goes cannot be changed."""
    for rule in (match or {}).get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in MUTABLE_OPERATIONS:
                here = f"{path}.resourceRules.operations"
                errors.append(field_not_supported(here, operation, MUTABLE_OPERATIONS))


def _param_kind(obj: Object) -> str:
    kind = get(obj, "spec.paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"
