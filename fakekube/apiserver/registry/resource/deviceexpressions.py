"""Compiles the CEL expressions that select devices (`dynamic-resource-allocation/cel/compile.go`)."""

from __future__ import annotations

from functools import lru_cache

from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.cost import estimate
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.macros import BINDINGS
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.tree import BadExpression
from fakekube.apiserver.cel.types import ANY, BOOL, STRING, DeclType, Type, map_of, read, runtime_text
from fakekube.apiserver.cel.values import CelError
from fakekube.apiserver.features import minor
from fakekube.apiserver.registry.generic.validation.field import Field

#: The limit of the estimated cost of an expression.
COST_LIMIT = 1_000_000

LONGEST_EXPRESSION = 10 * 1024

_LONGEST_DOMAIN, _LONGEST_IDENTIFIER, _LONGEST_DRIVER, _LONGEST_VALUE, _MOST_ATTRIBUTES = 63, 32, 63, 64, 32


def _map(longest_key: int, value: DeclType) -> DeclType:
    found = DeclType(map_of(STRING, value.type), largest=_MOST_ATTRIBUTES, smallest=2, item=value)
    found.entry_key = DeclType(STRING, largest=longest_key)
    return found


_ATTRIBUTE = DeclType(ANY, largest=_LONGEST_VALUE, smallest=1)
_FIELDS = {
    "driver": DeclType(STRING, largest=_LONGEST_DRIVER),
    "allowMultipleAllocations": DeclType(BOOL, largest=1),
    "attributes": _map(_LONGEST_DOMAIN, _map(_LONGEST_IDENTIFIER, _ATTRIBUTE)),
    "capacity": _map(_LONGEST_DOMAIN, _map(_LONGEST_IDENTIFIER, DeclType(read("kubernetes.Quantity")))),
}
_DEVICE = DeclType(Type("struct", (), "kubernetes.DRADevice", _FIELDS), fields=_FIELDS)


class _Refused(Exception):
    """An expression that is rejected; `internal`: as an internal error."""

    def __init__(self, why: str, *, internal: bool = False) -> None:
        super().__init__(why)
        self.internal = internal


def _cost(expression: str) -> int:
    """The estimated cost of an expression. Raises _Refused."""
    return _cost_in(expression, minor())


@lru_cache(maxsize=256)
def _cost_in(expression: str, version: int) -> int:
    try:
        node = parse(expression, BINDINGS)
        found, _ = check(expression, node, {"device": _DEVICE.type})
    except BadExpression as problem:
        raise _Refused(f"compilation failed: {problem}") from None
    if found not in (BOOL, ANY):
        raise _Refused(f"must evaluate to bool or the unknown type, not {runtime_text(found)}")
    cost = estimate(node, _DEVICE, _ATTRIBUTE)
    try:
        Program(node)
    except CelError as problem:
        raise _Refused(f"program instantiation failed: {problem}", internal=True) from None
    return cost


def validate_expression(expression: Field) -> None:
    """`validateCELSelector`."""
    if len(expression.text.encode()) > LONGEST_EXPRESSION:
        expression.too_long(LONGEST_EXPRESSION)
        return
    try:
        if _cost(expression.text) > COST_LIMIT:
            expression.forbidden("too complex, exceeds cost limit")
    except _Refused as problem:
        if problem.internal:
            expression.internal(str(problem))
        else:
            expression.invalid(str(problem))
