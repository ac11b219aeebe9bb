"""The state of one evaluation: variables and cost budget (`cel-go/interpreter.Activation`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.tree import Node, parts
from fakekube.apiserver.cel.values import OVER_BUDGET, CelError, OverBudget

#: The cost limit of one evaluation.
CALL_LIMIT = 1_000_000

#: Python's errors for a value that does not have the type of its schema, mostly null.
TYPE_FAILURES = (TypeError, AttributeError)
FAILURES = (CelError, *TYPE_FAILURES)


class Activation:
    """The variables of one evaluation, and its remaining budget."""

    __slots__ = ("left", "names")

    names: dict[str, Any]
    left: int

    def __init__(self, names: dict[str, Any], left: int) -> None:
        self.names, self.left = names, left

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise OverBudget(OVER_BUDGET)


Interpretable = Callable[[Activation], Any]


def weight(node: Node) -> int:
    """The cost of evaluating a node and its descendants once, without the bodies of loops."""
    own = {"literal": 0, "list": 10, "map": 30}.get(node.kind, 1)
    if node.loop is not None:
        return own + weight(node.loop.over) + (weight(node.loop.result) if node.loop.macro == "bind" else 0)
    return own + sum(map(weight, parts(node)))
