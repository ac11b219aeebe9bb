"""Operations of the control API: a method of a desk, its route, and the fields of its request."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fakekube.control.requestfields import Schema, of_function

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__control_operation__"

#: The prefix of the paths of all operations.
ROOT = "/_fakekube/v1"


@dataclass(frozen=True, slots=True)
class Operation:
    """A route and what it takes. `fields`: of the JSON body, or of the query of a GET. `named`: they are passed as one
    mapping. `code`: of a success."""

    method: str
    path: str
    fields: Mapping[str, Schema]
    summary: str
    code: int = 200
    named: bool = False
    required: tuple[str, ...] = ()
    content_type: str = "application/json"
    call: Callable[..., Any] = field(default=lambda: None, compare=False)

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches its paths; groups are the parameters in the path."""
        text = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/:]+)", self.path)
        return re.compile(re.escape(ROOT) + text)

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(re.findall(r"\{(\w+)\}", self.path))


def operation(
    method: str,
    path: str,
    *,
    fields: Mapping[str, Schema] | None = None,
    code: int = 200,
    content_type: str = "application/json",
) -> Callable[[F], F]:
    """Mark a method as an operation. `fields` None: those of its arguments."""

    def mark(function: F) -> F:
        in_path = re.findall(r"\{(\w+)\}", path)
        of_arguments = of_function(function, without=in_path) if fields is None else fields
        parameters = inspect.signature(function).parameters.values()
        required = [] if fields is not None else [
            one.name for one in parameters if one.default is one.empty and one.name not in ("self", *in_path)
        ]  # fmt: skip
        summary = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
        made = Operation(method, path, of_arguments, summary, code, fields is not None, tuple(required), content_type)
        setattr(function, _MARK, made)
        return function

    return mark


def operations_of(desks: Iterable[object]) -> list[Operation]:
    """The operations of desks, in the order of their definition, bound to them."""
    found = []
    for desk in desks:
        for name, function in vars(type(desk)).items():
            made: Operation | None = getattr(function, _MARK, None)
            if made is not None:
                found.append(replace(made, call=getattr(desk, name)))
    return found
