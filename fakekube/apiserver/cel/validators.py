"""Validates the literals of a checked expression (`cel.ASTValidators`, `cel-go/cel/validator.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fakekube.apiserver.cel.library.formatting import VERBS, Clause, interpolate
from fakekube.apiserver.cel.library.typeconversions import to_duration, to_timestamp
from fakekube.apiserver.cel.tree import Issue, Node, parts
from fakekube.apiserver.cel.types import DYN, Type, is_optional, runtime_name
from fakekube.apiserver.cel.values import CelError
from fakekube.apiserver.features import since
from fakekube.apiserver.wire.goregexp import BadPattern, compiled


def literal_issues(node: Node) -> list[Issue]:
    """The issues of all validators, in their order."""
    calls = [one for one in _nodes(node) if one.kind == "call"]
    outside = _nodes(node, outside_format=True)
    found = [*_mixed_lists(outside), *_mixed_maps(outside)]
    for name, check in _LITERAL_CHECKS:
        found += _bad_arguments(calls, name, check)
    return [*found, *(_bad_formats(calls) if since(31) else ())]


def _nodes(root: Node, *, outside_format: bool = False) -> list[Node]:
    """All nodes of a tree, parents first.

    `outside_format`: without those in calls of `format`, whose arguments may have several types.
    """
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not outside_format or node.kind != "call" or node.name != "format":
            waiting += parts(node)
    return found


# --- lists and maps with elements of several types -------------------------------------------------------------------


def _unwrapped(node: Node, optional: bool) -> Type:
    found: Type = node.type
    return found.params[0] if optional and is_optional(found) else found


def _mixed_lists(nodes: list[Node]) -> Iterator[Issue]:
    for node in nodes:
        if node.kind != "list":
            continue
        types = [_unwrapped(item, i in node.optional) for i, item in enumerate(node.args)]
        for item, one in zip(node.args, types, strict=True):
            if one != types[0]:
                yield _mismatch(item, types[0], one)
                break


def _mixed_maps(nodes: list[Node]) -> Iterator[Issue]:
    for node in nodes:
        if node.kind != "map" or not node.args:
            continue
        keys, values = node.args[::2], node.args[1::2]
        types = [_unwrapped(value, i in node.optional) for i, value in enumerate(values)]
        for key, value, one in zip(keys, values, types, strict=True):
            if key.type != keys[0].type:
                yield _mismatch(key, keys[0].type, key.type)
            if one != types[0]:
                yield _mismatch(value, types[0], one)


def _mismatch(node: Node, wanted: Type, found: Type) -> Issue:
    return Issue(node.at, f"expected type '{wanted}' but found '{found}'")


# --- literals that a function does not accept ------------------------------------------------------------------------


def _pattern(text: str) -> None:
    try:
        compiled(text)
    except BadPattern as problem:
        raise CelError(str(problem)) from None


#: The types of literals that are checked.
_CHECKED = frozenset({str, int, type(None)})

#: Function -> check of its first argument without the receiver.
_LITERAL_CHECKS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("duration", to_duration),
    ("timestamp", to_timestamp),
    ("matches", _pattern),
)


def _bad_arguments(calls: list[Node], name: str, check: Callable[[Any], Any]) -> Iterator[Issue]:
    for node in calls:
        literal = node.args[0] if node.name == name and node.args else None
        if literal is not None and literal.kind == "literal" and type(literal.value) in _CHECKED:
            try:
                check(literal.value)
            except CelError:
                yield Issue(literal.at, f"invalid {name} argument")


# --- format ----------------------------------------------------------------------------------------------------------


class _WrongArgument(Exception):
    """An argument that its clause does not accept."""

    def __init__(self, issue: Issue) -> None:
        self.issue = issue


def _bad_formats(calls: list[Node]) -> Iterator[Issue]:
    """The issues of calls of `format` on a literal with a literal list (`stringFormatValidator`)."""
    for node in calls:
        text = node.operand
        if node.name != "format" or text is None or len(node.args) != 1:
            continue
        if text.kind == "literal" and isinstance(text.value, str) and node.args[0].kind == "list":
            yield from _format_issues(node, text.value, node.args[0].args)


def _format_issues(node: Node, text: str, args: list[Node]) -> Iterator[Issue]:
    clauses: list[Clause] = []

    def formatted(i: int, clause: Clause) -> str:
        clauses.append(clause)
        wrong = _wrong_text(args[i]) if clause.verb == "s" else None if _accepts(clause.verb, args[i]) else args[i]
        if wrong is not None:
            raise _WrongArgument(Issue(wrong.at, str(VERBS[clause.verb].refusal(runtime_name(wrong.type)))))
        return ""

    try:
        interpolate(text, len(args), formatted, arguments_first=False)
    except CelError as problem:
        yield Issue(node.at, str(problem))
    except _WrongArgument as wrong:
        yield wrong.issue
    else:
        if len(args) > len(clauses):
            what = f"(expected {len(clauses)}, got {len(args)})"
            yield Issue(node.at, f"too many arguments supplied to string.format {what}")


def _accepts(verb: str, node: Node) -> bool:
    return node.type == DYN or runtime_name(node.type) in VERBS[verb].kinds


def _wrong_text(node: Node) -> Node | None:
    """The part of an argument that `%s` does not accept, if any."""
    if not _accepts("s", node):
        return node
    if node.kind not in ("list", "map"):
        return None
    return next((wrong for part in node.args if (wrong := _wrong_text(part)) is not None), None)
