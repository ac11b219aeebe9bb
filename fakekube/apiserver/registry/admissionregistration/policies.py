"""The parts that both kinds of admission policy share: what they match, parameters, variables."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.cel.environment import Environment
from fakekube.apiserver.registry.admissionregistration.matching import (
    FAILURE_POLICIES,
    OPERATIONS,
    Compile,
    Compiler,
    default_rules,
    default_selectors,
    validate_match_conditions,
    validate_match_resources,
)
from fakekube.apiserver.registry.generic.table.columns import get
from fakekube.apiserver.registry.generic.validation.field import Field

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

_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
        "namespace", "null", "package", "return", "true", "var", "void", "while",
    }
)  # fmt: skip


def conditions_differ(new: Field, old: Field) -> bool:
    after, before = new["spec"], old["spec"]
    return any(after[field].value != before[field].value for field in ("paramKind", "matchConditions"))


def validate_scope(spec: Field) -> None:
    """How failures count, and which requests the policy matches."""
    spec["failurePolicy"].specified().one_of(FAILURE_POLICIES)
    _validate_param_kind(spec.get("paramKind"))
    constraints = spec["matchConstraints"].specified()
    validate_match_resources(constraints)
    constraints["resourceRules"].required()


def _validate_param_kind(kind: Field) -> None:
    _validate_group_version(kind["apiVersion"].required())
    name = kind["kind"].required()
    if problems := names.dns1035_label_problems(name.text.lower()):
        name.invalid("may have mixed case, but should otherwise match: " + ",".join(problems))


def _validate_group_version(field: Field) -> None:
    text = field.text
    if text.count("/") > 1:
        field.invalid(f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    if group:
        field.invalid_if(",".join(names.dns_subdomain_problems(group)), group)
    if not version:
        field.invalid("version must be specified")
    else:
        field.invalid_if(",".join(names.dns1035_label_problems(version)), version)


def validate_spec_conditions(spec: Field, compile: Compile) -> None:
    environment = Environment(params=spec["paramKind"].value is not None)
    validate_match_conditions(spec["matchConditions"], Compiler(compile, environment))


def validate_variables(spec: Field, compile: Compile) -> Compiler:
    """Returns the compiler of the expressions that can name the variables."""
    params = spec["paramKind"].value is not None
    known: list[tuple[str, str]] = []
    for variable in spec["variables"]:
        name, expression = variable["name"], variable["expression"]
        if not name.text.strip():
            name.missing("name is not specified")
        elif not _identifier.fullmatch(name.text) or name.text in _RESERVED:
            name.invalid("must be a valid CEL identifier")
        Compiler(compile, Environment("any", params, variables=tuple(known))).check_given(expression)
        known.append((name.text, expression.text))
    return Compiler(compile, Environment(params=params, variables=tuple(known)))


def validate_mutable_operations(match: Field) -> None:
    """What is deleted cannot be mutated."""
    for rule in match["resourceRules"]:
        for operation in rule["operations"]:
            match["resourceRules"].at("operations", operation.value).one_of(MUTABLE_OPERATIONS)


def _param_kind(obj: Object) -> str:
    kind = get(obj, "spec.paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"
