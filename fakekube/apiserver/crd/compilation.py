"""Compiles validation rules (`apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.cost import estimate
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.tree import BadExpression
from fakekube.apiserver.cel.types import DeclType, optional_of
from fakekube.apiserver.cel.values import CHECKED_CONVERTERS, CONVERTERS, CelError
from fakekube.apiserver.crd.decltypes import schema_decl_type
from fakekube.apiserver.crd.fieldpath import BadPath, resolve
from fakekube.apiserver.crd.structural import Structural
from fakekube.struct import Struct

Node = Mapping[str, Any]

#: The name of the type of `self`.
SELF_TYPE = "selfType"


class CompiledRule(Struct, frozen=True):
    """A compiled rule. `problem` and `message_problem` are the errors of the rule and of its messageExpression."""

    rule: Node
    program: Program | None = None
    message: Program | None = None
    uses_old: bool = False
    cost: int = 0
    message_cost: int = 0
    problem: str = ""
    message_problem: str = ""
    field_path: str = ""


def declare_self(schema: Structural, *, root: bool, checked: bool = False) -> DeclType | None:
    """The type of `self` in the rules of a schema; None if it cannot be declared.

    `checked`: values that are not of their declared types fail when they are read.
    """
    converters = CHECKED_CONVERTERS if checked else CONVERTERS
    return schema_decl_type(schema, SELF_TYPE, converters, root=root or schema.embedded)


def compile_rule(rule: Node, schema: Structural, declared: DeclType, *, estimated: bool = True) -> CompiledRule:
    """A rule, compiled; `estimated`: with its estimated costs."""
    text, expression = rule.get("rule") or "", rule.get("messageExpression") or ""
    if not text.strip():
        return CompiledRule(rule)
    old = optional_of(declared.type) if rule.get("optionalOldSelf") else declared.type
    variables = {"self": declared.type, "oldSelf": old}
    try:
        node = parse(text)
        made, used = check(text, node, variables)
    except BadExpression as problem:
        return CompiledRule(rule, problem=f"compilation failed: {problem}")
    if made.kind != "bool":
        return CompiledRule(rule, problem="cel expression must evaluate to a bool")
    uses_old = "oldSelf" in used
    try:
        cost, program = estimate(node, declared) if estimated else 0, Program(node)
    except CelError as problem:
        return CompiledRule(rule, uses_old=uses_old, problem=f"program instantiation failed: {problem}")
    field_path = _normal_path(rule.get("fieldPath") or "", schema)
    if not expression:
        return CompiledRule(rule, program, uses_old=uses_old, cost=cost, field_path=field_path)
    try:
        node = parse(expression)
        made, _ = check(expression, node, variables)
    except BadExpression as problem:
        why = f"messageExpression compilation failed: {problem}"
        return CompiledRule(rule, program, uses_old=uses_old, cost=cost, message_problem=why)
    if made.kind != "string":
        why = "messageExpression must evaluate to a string"
        return CompiledRule(rule, program, uses_old=uses_old, cost=cost, message_problem=why)
    try:
        message_cost, message = estimate(node, declared) if estimated else 0, Program(node)
    except CelError as problem:
        why = f"messageExpression instantiation failed: {problem}"
        return CompiledRule(rule, program, uses_old=uses_old, cost=cost, message_problem=why)
    return CompiledRule(rule, program, message, uses_old, cost, message_cost, field_path=field_path)


def _normal_path(text: str, schema: Structural) -> str:
    if not text:
        return ""
    try:
        return resolve(text, schema)[0]
    except BadPath:
        return ""
