"""The declaration of overloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.types import Type, _split, read
from fakekube.struct import Struct


class Overload(Struct, frozen=True):
    """One signature of a function. `run` takes the receiver, if `member`, and the arguments."""

    function: str
    id: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    run: Callable[..., Any]
    #: Whether the signature has type parameters.
    generic: bool = False


def overload(function: str, id: str, signature: str, run: Callable[..., Any]) -> Overload:
    """Declares an overload. `signature` is `string.(int, int) -> string` for a member, or `(string) -> bool`."""
    receiver, dot, rest = signature.partition(".(")
    member = bool(dot)
    if not member:
        rest = signature.removeprefix("(")
    depth, end = 1, 0
    for i, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            end = i
            break
    args = [read(one) for one in _split(rest[:end])]
    result = read(rest[end + 1 :].replace("->", "").strip())
    types = (read(receiver), *args) if member else tuple(args)
    return Overload(function, id, member, types, result, run, any(one.open for one in (*types, result)))
