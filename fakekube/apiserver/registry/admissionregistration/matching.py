"""Which requests admission rules are for: groups, versions, resources, selectors, conditions
(`admissionregistration/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_qualified_name
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_many,
)

Object = dict[str, Any]

ANY = "*"
SCOPES = ("*", "Cluster", "Namespaced")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
MOST_CONDITIONS = 64


@dataclass(frozen=True, slots=True)
class Environment:
    """What an expression of admission may name beside the request and its objects, and what it may answer with."""

    result: str = "bool"
    params: bool = False
    authorizer: bool = True
    variables: Sequence[tuple[str, str]] = ()
    """Name and expression of those before it."""
    patches: bool = False
    """The types of patches: Object, JSONPatch."""


Compile = Callable[[str, Environment], "str | None"]
"""What is wrong with an expression, in the compiler's words; None: nothing."""


def not_compiled(expression: str, environment: Environment) -> str | None:
    """Where no compiler is at hand every expression passes."""
    return None


def check_optional_choice(value: str | None, supported: Sequence[str], path: str, errors: Errors) -> None:
    """A pointer: it may be missing, but not be empty."""
    if value is not None and value not in supported:
        errors.append(field_not_supported(path, value, supported))


def check_pointed_choice(value: str | None, supported: Sequence[str], path: str, errors: Errors) -> None:
    """A pointer that must be there."""
    if value is None:
        errors.append(field_required(path))
    else:
        check_optional_choice(value, supported, path, errors)


def check_rule(rule: Object, path: str, errors: Errors) -> None:
    operations = rule.get("operations") or []
    _check_list(operations, "operations", f"{path}.operations", errors)
    for i, operation in enumerate(operations):
        if operation not in OPERATIONS:
            errors.append(field_not_supported(f"{path}.operations[{i}]", operation, OPERATIONS))
    _check_list(rule.get("apiGroups") or [], "API groups", f"{path}.apiGroups", errors)
    versions = rule.get("apiVersions") or []
    _check_list(versions, "API versions", f"{path}.apiVersions", errors)
    for i, version in enumerate(versions):
        if not version:
            errors.append(field_required(f"{path}.apiVersions[{i}]"))
    _check_resources(rule.get("resources") or [], f"{path}.resources", errors)
    check_optional_choice(rule.get("scope"), SCOPES, f"{path}.scope", errors)


def _check_list(values: list[str], what: str, path: str, errors: Errors) -> None:
    if not values:
        errors.append(field_required(path))
    elif len(values) > 1 and ANY in values:
        errors.append(field_invalid(path, values, f"if '*' is present, must not specify other {what}"))


def _check_resources(resources: list[str], path: str, errors: Errors) -> None:
    if not resources:
        errors.append(field_required(path))
    whole: set[str] = set()  # resources with all of their subresources
    everywhere: set[str] = set()  # subresources of all resources
    plain = False
    for i, text in enumerate(resources):
        if not text:
            errors.append(field_required(f"{path}[{i}]"))
            continue
        resource, slash, sub = text.partition("/")
        if not slash:
            plain = text != ANY
            continue
        if resource in whole:
            why = f"if '{resource}/*' is present, must not specify {text}"
            errors.append(field_invalid(f"{path}[{i}]", text, why))
        if sub in everywhere:
            errors.append(field_invalid(f"{path}[{i}]", text, f"if '*/{sub}' is present, must not specify {text}"))
        if sub == ANY:
            whole.add(resource)
        if resource == ANY:
            everywhere.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(field_invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if plain and ANY in resources:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(field_invalid(path, resources, why))


def check_match_resources(match: Object | None, path: str, errors: Errors) -> None:
    if match is None:
        return
    check_pointed_choice(match.get("matchPolicy"), MATCH_POLICIES, f"{path}.matchPolicy", errors)
    for selector in ("namespaceSelector", "objectSelector"):
        if match.get(selector) is None:
            errors.append(field_required(f"{path}.{selector}"))
        else:
            check_label_selector(match[selector], f"{path}.{selector}", errors)
    for rules in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(rules) or ()):
            _check_named_rule(rule, f"{path}.{rules}[{i}]", errors)


def _check_named_rule(rule: Object, path: str, errors: Errors) -> None:
    seen: set[str] = set()
    for i, name in enumerate(rule.get("resourceNames") or ()):
        here = f"{path}.resourceNames[{i}]"
        add(errors, here, name, names.path_segment_problems(name))
        if name in seen:
            errors.append(field_duplicate(here, name))
        seen.add(name)
    check_rule(rule, path, errors)


def check_match_conditions(
    conditions: Sequence[Object], path: str, errors: Errors, *, params: bool, compile: Compile
) -> None:
    if len(conditions) > MOST_CONDITIONS:
        errors.append(field_too_many(path, len(conditions), MOST_CONDITIONS))
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        here, name = f"{path}[{i}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if expression:
            check_expression(expression, f"{here}.expression", errors, compile, Environment(params=params))
        else:
            errors.append(field_required(f"{here}.expression"))
        if not name:
            errors.append(field_required(f"{here}.name"))
            continue
        check_qualified_name(name, f"{here}.name", errors)
        if name in seen:
            errors.append(field_duplicate(f"{here}.name", name))
        seen.add(name)


def check_expression(text: str, path: str, errors: Errors, compile: Compile, environment: Environment) -> None:
    problem = compile(text, environment)
    if problem is not None:
        errors.append(field_invalid(path, text, problem))
