"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.cel.environment import problem_of
from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]


def compiling(validate: Callable[..., list[FieldError]]) -> Callable[..., list[FieldError]]:
    """Returns a validation that compiles the expressions of the object."""
    return partial(validate, compile=problem_of)


def default_rules(rules: Sequence[Object] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_selectors(obj: Object) -> None:
    """All objects of all namespaces, in every version of them."""
    obj.setdefault("matchPolicy", "Equivalent")
    obj.setdefault("namespaceSelector", {})
    obj.setdefault("objectSelector", {})
