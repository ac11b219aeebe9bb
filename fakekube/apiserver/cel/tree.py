"""The syntax tree of CEL expressions, and the issues that the parser and the checker report (`cel-go/common`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.struct import Struct, field

#: The limit of the levels of a tree.
DEPTH_LIMIT = 120

#: The limits of the number of reported issues, and of the length of the lines shown with them (bytes).
ISSUES_LIMIT = 100
SNIPPET_LIMIT = 16_384

#: The name of the accumulator in the comprehensions that macros expand to.
ACCUMULATOR = "@result"


class Issue(Struct, frozen=True):
    """An error at an offset of an expression."""

    at: int
    message: str


class BadExpression(Exception):
    """An expression that does not parse or type-check."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(shown(source, issues))
        self.issues = issues


def shown(source: str, issues: Sequence[Issue]) -> str:
    """The issues in a message, each with its line and a marker (`common.Errors.ToDisplayString`)."""
    lines = [_shown(source, one) for one in sorted(issues[:ISSUES_LIMIT], key=lambda issue: issue.at)]
    more = len(issues) - ISSUES_LIMIT
    return "\n".join([*lines, f"{more} more errors were truncated"] if more > 0 else lines)


def _shown(source: str, issue: Issue) -> str:
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    before = source[: issue.at]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    heading = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    text = source.split("\n")[line - 1].replace("\t", " ")
    if len(text.encode()) > SNIPPET_LIMIT:
        return heading
    marks = "".join("." if ord(char) < 0x80 else "．" for char in text[:column])
    marks += "^" if column >= len(text) or ord(text[column]) < 0x80 else "＾"
    return f"{heading}\n | {text}\n | {marks}"


class Node(Struct, eq=False):
    """A node of a syntax tree. `at` is the offset for errors; the checker sets `type` and `overloads`.

    `kind` is one of literal (value), ident (name), select (operand, name, `test` for has), call (name, operand, args),
    list (args, optional positions in `optional`), map (args: alternating keys and values), message (name: the type,
    args: alternating field names and values), comprehension (`loop`).
    """

    kind: str
    at: int
    name: str = ""
    value: Any = None
    operand: Node | None = None
    args: list[Node] = field(default_factory=list)
    optional: frozenset[int] = frozenset()
    test: bool = False
    loop: Loop | None = None
    type: Any = None
    overloads: tuple[str, ...] = ()


class Loop(Struct, eq=False):
    """A comprehension: for each item of `over`, `step` computes the accumulator as long as `condition` is true.

    `macro` is the name of its macro; `body` contains the arguments of the macro, such as the predicate.
    """

    macro: str
    over: Node
    names: tuple[str, ...]
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node
    body: tuple[Node, ...]


def literal(at: int, value: Any) -> Node:
    return Node("literal", at, value=value)


def ident(at: int, name: str) -> Node:
    return Node("ident", at, name=name)


def call(at: int, name: str, *args: Node) -> Node:
    return Node("call", at, name=name, args=list(args))


class UInt(int):
    """An unsigned integer."""

    __slots__ = ()


def parts(node: Node) -> list[Node]:
    """The child nodes."""
    found = [*node.args, *([node.operand] if node.operand is not None else [])]
    if node.loop is not None:
        loop = node.loop
        found += [loop.over, loop.start, loop.condition, loop.step, loop.result]
    return found


def depth(node: Node) -> int:
    """The depth of a tree."""
    level, current = 0, [node]
    while current and level <= DEPTH_LIMIT + 1:
        level += 1
        current = [part for one in current for part in parts(one)]
    return level
