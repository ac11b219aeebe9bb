"""Which requests admission rules match: rules, selectors, conditions (`admissionregistration/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.cel.environment import CompilationError, Environment
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_label_selector
from fakekube.struct import Struct, replace

Object = dict[str, Any]

ANY = "*"

SCOPES = ("*", "Cluster", "Namespaced")

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")

FAILURE_POLICIES = ("Fail", "Ignore")

MATCH_POLICIES = ("Equivalent", "Exact")

MOST_CONDITIONS = 64


def default_rules(rules: Sequence[Object] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_selectors(obj: Object) -> None:
    """Matches all objects of all namespaces, in equivalent versions."""
    obj.setdefault("matchPolicy", "Equivalent")
    obj.setdefault("namespaceSelector", {})
    obj.setdefault("objectSelector", {})


Compile = Callable[[str, Environment], CompilationError | None]
"""Returns the error of an expression, or None."""


class Compiler(Struct, frozen=True):
    """Compiles expressions in an environment."""

    compile: Compile
    environment: Environment

    def resulting(self, result: str, **changes: Any) -> Compiler:
        """Returns a compiler of expressions with this result."""
        return replace(self, environment=replace(self.environment, result=result, **changes))

    def check(self, expression: Field) -> None:
        problem = self.compile(expression.text, self.environment)
        if problem is not None and problem.internal:
            expression.internal(str(problem))
        elif problem is not None:
            expression.invalid(str(problem))

    def check_given(self, expression: Field) -> None:
        if expression.text.strip():
            self.check(expression)
        else:
            expression.missing("expression is not specified")

    def check_trimmed(self, expression: Field) -> None:
        """Checks the expression without the white space around it."""
        trimmed = expression.with_value(expression.text.strip()).required()
        if trimmed:
            self.check(trimmed)


def validate_rule(rule: Field) -> None:
    _validate_list(rule["operations"], "operations")
    for operation in rule["operations"]:
        operation.one_of(OPERATIONS)
    _validate_list(rule["apiGroups"], "API groups")
    _validate_list(rule["apiVersions"], "API versions")
    for version in rule["apiVersions"]:
        version.required()
    _validate_resources(rule["resources"].required())
    rule.get("scope").one_of(SCOPES)


def _validate_list(values: Field, what: str) -> None:
    values.required()
    if values and len(values.value) > 1 and ANY in values.value:
        values.invalid(f"if '*' is present, must not specify other {what}")


def _validate_resources(resources: Field) -> None:
    given: list[str] = resources.value or []
    whole: set[str] = set()  # resources with all of their subresources
    everywhere: set[str] = set()  # subresources of all resources
    plain = False
    for field in resources:
        text: str = field.required().text
        resource, slash, sub = text.partition("/")
        if not slash:
            plain = text != ANY if text else plain
            continue
        if resource in whole:
            field.invalid(f"if '{resource}/*' is present, must not specify {text}")
        if sub in everywhere:
            field.invalid(f"if '*/{sub}' is present, must not specify {text}")
        if sub == ANY:
            whole.add(resource)
        if resource == ANY:
            everywhere.add(sub)
    if len(given) > 1 and "*/*" in given:
        resources.invalid("if '*/*' is present, must not specify other resources")
    if plain and ANY in given:
        resources.invalid("if '*' is present, must not specify other resources without subresources")


def validate_match_resources(match: Field) -> None:
    if match.value is None:
        return
    match["matchPolicy"].specified().one_of(MATCH_POLICIES)
    for selector in ("namespaceSelector", "objectSelector"):
        validate_label_selector(match[selector].specified())
    for rules in ("resourceRules", "excludeResourceRules"):
        for rule in match[rules]:
            seen: set[str] = set()
            for name in rule["resourceNames"]:
                name.check(names.path_segment_problems).unique(seen)
            validate_rule(rule)


def validate_match_conditions(conditions: Field, compiler: Compiler) -> None:
    conditions.max_items(MOST_CONDITIONS)
    seen: set[str] = set()
    for condition in conditions:
        compiler.check_trimmed(condition["expression"])
        condition["name"].required().qualified_name().unique(seen)
