"""The grammar of CEL: text to a tree, with macros unfolded (`cel-go/parser`); errors in the words of its generator."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Characters of an expression, and levels of its tree.
SIZE_LIMIT = 100_000
DEPTH_LIMIT = 120

#: So many errors are told of, and lines no longer than that are shown (bytes).
ISSUES_LIMIT = 100
SNIPPET_LIMIT = 16_384

RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Issue:
    """Something wrong with an expression, at an offset of its text."""

    at: int
    message: str


class BadExpression(Exception):
    """An expression that does not parse or check; `issues` in the order of its text."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(shown(source, issues))
        self.issues = issues


def shown(source: str, issues: Sequence[Issue]) -> str:
    """The issues, each with its line and a mark below (`common.Errors.ToDisplayString`)."""
    lines = [_shown(source, one) for one in sorted(issues[:ISSUES_LIMIT], key=lambda issue: issue.at)]
    more = len(issues) - ISSUES_LIMIT
    return "\n".join([*lines, f"{more} more errors were truncated"] if more > 0 else lines)


def _shown(source: str, issue: Issue) -> str:
    before = source[: issue.at]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    told = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    text = source.split("\n")[line - 1].replace("\t", " ")
    if len(text.encode()) > SNIPPET_LIMIT:
        return told
    marks = "".join("." if ord(char) < 0x80 else "．" for char in text[:column])
    marks += "^" if column >= len(text) or ord(text[column]) < 0x80 else "＾"
    return f"{told}\n | {text}\n | {marks}"


# --- the tree --------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Node:
    """A part of an expression. `at` is where errors point to; `type` and `overloads` are the checker's.

    `kind`: literal (value), ident (name), select (operand, name, `test` for has), call (name, target, args), list
    (args, optional positions in `optional`), map (args: keys and values in turn), message (name: its type, args: names
    of fields and values in turn), comprehension (`loop`).
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


@dataclass(eq=False, slots=True)
class Loop:
    """A comprehension: for each item of `over`, `step` makes a new accumulator while `condition` holds.

    `macro` is what it was written as; `body` holds the parts that the writer gave: predicate, transformation.
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


# --- tokens ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


_SYMBOLS = ("==", "!=", "<=", ">=", "&&", "||", *"<>[]{}().,-!?:+*/%")
_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_ESCAPED = re.compile(_ESCAPE)
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
)
_RAW = r'[rR](?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\')'
_TOKEN = re.compile(
    rf"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_RAW}|{_STRING}))"
    rf"|(?P<STRING>{_RAW}|{_STRING})"
    r"|(?P<NUM_FLOAT>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|\d+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    rf"|(?P<symbol>{'|'.join(re.escape(one) for one in _SYMBOLS)})"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})

_ORDER = (
    "<EOF>", "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?",
    ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
    "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip
_NAMED = frozenset({"<EOF>", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"})

_START = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
     "IDENTIFIER")
)  # fmt: skip


def _set(kinds: frozenset[str]) -> str:
    names = [one if one in _NAMED else f"'{one}'" for one in _ORDER if one in kinds]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


class _Stop(Exception):
    """The text cannot be read on."""


def tokens(source: str, issues: list[Issue]) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None or not match.group():
            at = _unknown(source, at, issues)
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind == "symbol" or (kind == "IDENTIFIER" and text in _KEYWORDS):
            kind = text
        if kind != "space":
            yield Token(kind, text, at)
        at = match.end()
    yield Token("<EOF>", "<EOF>", len(source))


def _unknown(source: str, at: int, issues: list[Issue]) -> int:
    """A place where no token begins: what was looked at until it could be none. Returns where to go on."""
    char = source[at]
    end = at + 1
    if char in "|&=":
        end = min(at + 2, len(source))
    elif char in "\"'":
        while end < len(source) and source[end] not in "\n\r":
            if source[end] == "\\" and not _ESCAPED.match(source, end):
                end = min(end + 2, len(source))
                break
            end += 1
    if len(issues) >= ISSUES_LIMIT:
        issues.append(Issue(at, f"Syntax error: More than {ISSUES_LIMIT} syntax errors"))
        raise _Stop
    issues.append(Issue(at, f"Syntax error: token recognition error at: {_quoted(source[at:end])}"))
    return end


# --- the parser ------------------------------------------------------------------------------------------------------

#: Operator -> its precedence and the function that it calls.
_BINARY = {
    "||": (1, "_||_"), "&&": (2, "_&&_"), "<": (3, "_<_"), "<=": (3, "_<=_"), ">=": (3, "_>=_"), ">": (3, "_>_"),
    "==": (3, "_==_"), "!=": (3, "_!=_"), "in": (3, "@in"), "+": (4, "_+_"), "-": (4, "_-_"), "*": (5, "_*_"),
    "/": (5, "_/_"), "%": (5, "_%_"),
}  # fmt: skip


def qualified_name(node: Node) -> str:
    """`a.b.c` of a row of selections; "" of anything else."""
    names: list[str] = []
    while node.kind == "select" and node.operand is not None and not node.test:
        names.append(node.name)
        node = node.operand
    return ".".join([node.name, *reversed(names)]) if node.kind == "ident" else ""


class _Parser:
    """One pass over the tokens; the first syntax error ends it."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        self.issues = issues
        self.tokens = list(tokens(source, issues))
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, kind: str) -> Token | None:
        return self.take() if self.token.kind == kind else None

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.unexpected(frozenset({kind}))
        return self.take()

    def begin(self, wanted: frozenset[str]) -> None:
        """Something of these must follow."""
        if self.token.kind not in wanted:
            self.unexpected(wanted)

    def close(self, kind: str) -> None:
        if self.token.kind != kind:
            self.unexpected(frozenset({kind, ","}))
        self.take()

    def unexpected(self, wanted: frozenset[str]) -> None:
        """Another token than one of these: skipped where the next is one, else the end."""
        token = self.token
        following = self.tokens[self.at + 1].kind if self.at + 1 < len(self.tokens) else ""
        if token.kind != "<EOF>" and following in wanted:
            self.issues.append(
                Issue(token.at, f"Syntax error: extraneous input {_quoted(token.text)} expecting {_set(wanted)}")
            )
            self.at += 1
            return
        text = f"Syntax error: mismatched input {_quoted(token.text)} expecting {_set(wanted)}"
        self.issues.append(Issue(token.at, text))
        raise _Stop

    def whole(self) -> Node:
        found = self.expr()
        self.expect("<EOF>")
        return found

    def expr(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH_LIMIT // 2:
            self.issues.append(Issue(0, "expression recursion limit exceeded: 250"))
            raise _Stop
        found = self.binary(1)
        if self.token.kind == "?":
            at = self.take().at
            first = self.binary(1)
            self.expect(":")
            found = call(at, "_?_:_", found, first, self.expr())
        self.depth -= 1
        return found

    def binary(self, least: int) -> Node:
        found = self.unary()
        while True:
            operator = _BINARY.get(self.token.kind)
            if operator is None or operator[0] < least:
                return found
            level, name = operator
            if level <= 2:
                found = self.chain(found, self.token.kind, level, name)
                continue
            at = self.take().at
            found = call(at, name, found, self.binary(level + 1))

    def chain(self, first: Node, kind: str, level: int, name: str) -> Node:
        """A row of `&&` or `||` as a balanced tree, so that long ones are not deep."""
        terms, places = [first], []
        while self.token.kind == kind:
            places.append(self.take().at)
            terms.append(self.binary(level + 1))
        return _balanced(name, terms, places)

    def unary(self) -> Node:
        kind = self.token.kind
        if kind not in ("!", "-"):
            return self.member()
        if kind == "-" and self.tokens[self.at + 1].kind in ("NUM_INT", "NUM_FLOAT"):
            return self.member()
        at, count = self.token.at, 0
        while self.token.kind == kind:
            self.take()
            count += 1
        found = self.member()
        return found if count % 2 == 0 else call(at, "!_" if kind == "!" else "-_", found)

    def member(self) -> Node:
        found = self.primary()
        levels = 0
        while self.token.kind in (".", "["):
            levels += 1
            if levels > DEPTH_LIMIT:
                self.issues.append(Issue(0, "expression recursion limit exceeded: 250"))
                raise _Stop
            found = self.selection(found) if self.token.kind == "." else self.index(found)
        return found

    def selection(self, operand: Node) -> Node:
        dot = self.take()
        optional = self.accept("?")
        if self.token.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            self.no_field(dot, optional)
        token = self.take()
        name = token.text.strip("`")
        if self.token.kind == "(" and optional is None and token.kind == "IDENTIFIER":
            at = self.take().at
            args = self.args()
            return self.unfolded(at, name, operand, args)
        if optional is not None:
            return call(dot.at, "_?._", operand, literal(token.at, name))
        found = Node("select", dot.at, operand=operand, name=name)
        if self.token.kind == "{" and (qualified := qualified_name(found)):
            return self.message(qualified)
        return found

    def no_field(self, dot: Token, optional: Token | None) -> None:
        token = self.token
        if optional is not None:
            self.unexpected(frozenset({"IDENTIFIER", "ESC_IDENTIFIER"}))
            return
        shown = "" if token.kind == "<EOF>" else token.text
        if token.kind == "<EOF>":
            self.issues.append(Issue(token.at, "Syntax error: no viable alternative at input '.'"))
        else:
            self.issues.append(Issue(token.at, f"Syntax error: no viable alternative at input '.{shown}'"))
        raise _Stop

    def index(self, operand: Node) -> Node:
        at = self.take().at
        optional = self.accept("?")
        found = call(at, "_[?_]" if optional is not None else "_[_]", operand, self.expr())
        self.expect("]")
        return found

    def args(self) -> list[Node]:
        found: list[Node] = []
        if self.accept(")"):
            return found
        self.begin(_START | {")"})
        found.append(self.expr())
        while self.accept(","):
            found.append(self.expr())
        self.expect(")")
        return found

    def primary(self) -> Node:
        token = self.token
        if token.kind not in _START:
            self.unexpected(_START)
            token = self.token
            if token.kind in ("!", "-"):
                return self.unary()
        if token.kind in _LITERALS or token.kind == "-":
            return self.literal()
        if token.kind in ("IDENTIFIER", "."):
            return self.named()
        if token.kind == "(":
            self.take()
            found = self.expr()
            self.expect(")")
            return found
        if token.kind == "[":
            return self.list_literal()
        if token.kind == "{":
            return self.map_literal()
        self.unexpected(_START - {"!"})
        return self.primary()

    def named(self) -> Node:
        dot = self.accept(".")
        token = self.expect("IDENTIFIER")
        name = ("." if dot else "") + token.text
        if token.text in RESERVED:
            self.issues.append(Issue(token.at, f"reserved identifier: {token.text}"))
        if self.token.kind == "(":
            at = self.take().at
            return self.unfolded(at, name, None, self.args())
        if self.token.kind == "{":
            return self.message(name)
        return ident(token.at, name)

    def message(self, name: str) -> Node:
        """An object of a named type: `JSONPatch{op: 'add'}`."""
        at = self.take().at
        items: list[Node] = []
        optional: set[int] = set()
        while self.token.kind != "}":
            if self.accept("?"):
                optional.add(len(items) // 2)
            if self.token.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
                self.unexpected(frozenset({"IDENTIFIER", "ESC_IDENTIFIER"}))
            field_name = self.take()
            self.expect(":")
            items += [literal(field_name.at, field_name.text.strip("`")), self.expr()]
            if not self.accept(","):
                break
        self.close("}")
        return Node("message", at, name=name, args=items, optional=frozenset(optional))

    def list_literal(self) -> Node:
        at = self.take().at
        items: list[Node] = []
        optional: set[int] = set()
        self.begin(_START | {"]", ",", "?"})
        while self.token.kind != "]":
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expr())
            if not self.accept(","):
                break
        self.close("]")
        return Node("list", at, args=items, optional=frozenset(optional))

    def map_literal(self) -> Node:
        at = self.take().at
        items: list[Node] = []
        optional: set[int] = set()
        self.begin(_START | {"}", ",", "?"})
        while self.token.kind != "}":
            if self.accept("?"):
                optional.add(len(items) // 2)
            items.append(self.expr())
            self.expect(":")
            items.append(self.expr())
            if not self.accept(","):
                break
        self.close("}")
        return Node("map", at, args=items, optional=frozenset(optional))

    def literal(self) -> Node:
        minus = self.accept("-")
        if minus is not None and self.token.kind not in ("NUM_INT", "NUM_FLOAT"):
            self.unexpected(frozenset({"NUM_INT", "NUM_FLOAT"}))
        token = self.take()
        at = minus.at if minus else token.at
        try:
            return literal(at, _LITERALS[token.kind](("-" if minus else "") + token.text))
        except _BadLiteral as problem:
            self.issues.append(Issue(at, str(problem)))
            return literal(at, 0)

    def unfolded(self, at: int, name: str, target: Node | None, args: list[Node]) -> Node:
        """A call, or what a macro of that name makes of it."""
        macro = MACROS.get((name, target is not None, len(args)))
        if macro is not None:
            return macro(self, at, target, args)
        return Node("call", at, name=name, operand=target, args=args)

    def simple_name(self, node: Node) -> str:
        if node.kind != "ident" or node.name.startswith("."):
            self.issues.append(Issue(node.at, "argument must be a simple name"))
            raise _Stop
        return node.name


def _balanced(name: str, terms: list[Node], places: list[int]) -> Node:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    left, right = (
        _balanced(name, terms[:middle], places[: middle - 1]),
        _balanced(name, terms[middle:], places[middle:]),
    )
    return call(places[middle - 1], name, left, right)


# --- literals --------------------------------------------------------------------------------------------------------


class _BadLiteral(Exception):
    pass


def _int(text: str) -> int:
    value = int(text, 16 if "0x" in text else 10)
    if not -(2**63) <= value < 2**63:
        raise _BadLiteral("invalid int literal")
    return value


def _uint(text: str) -> UInt:
    value = int(text[:-1], 16 if text.startswith("0x") else 10)
    if value >= 2**64:
        raise _BadLiteral("invalid uint literal")
    return UInt(value)


def _double(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _BadLiteral("invalid double literal")
    return value


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ONE_ESCAPE = re.compile(r"\\([0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def _body(text: str) -> tuple[str, bool]:
    """What stands between the quotes, and whether escapes are left alone."""
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _string(text: str) -> str:
    body, raw = _body(text)

    def resolve(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xX" or (code[0] in "uU" and len(code) > 1):
            number = int(code[1:], 16)
        elif code[0] in "0123" and len(code) == 3:
            number = int(code, 8)
        else:
            return _ESCAPES.get(code, code)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise _BadLiteral("invalid unicode code point")
        return chr(number)

    return body if raw else _ONE_ESCAPE.sub(resolve, body)


def _bytes(text: str) -> bytes:
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    made = bytearray()
    at = 0
    for match in _ONE_ESCAPE.finditer(body):
        made += body[at : match.start()].encode()
        at, code = match.end(), match[1]
        if code[0] in "xX":
            made.append(int(code[1:], 16))
        elif code[0] in "0123" and len(code) == 3:
            made.append(int(code, 8))
        elif code[0] in "uU" and len(code) > 1:
            raise _BadLiteral("unable to unescape string")
        else:
            made += _ESCAPES.get(code, code).encode()
    return bytes(made + body[at:].encode())


_LITERALS: dict[str, Callable[[str], Any]] = {
    "NUM_INT": _int,
    "NUM_UINT": _uint,
    "NUM_FLOAT": _double,
    "STRING": _string,
    "BYTES": _bytes,
    "true": lambda text: True,
    "false": lambda text: False,
    "null": lambda text: None,
}


# --- macros ----------------------------------------------------------------------------------------------------------

ACCUMULATOR = "@result"

Macro = Callable[[_Parser, int, Node | None, list[Node]], Node]


def _has(parser: _Parser, at: int, target: Node | None, args: list[Node]) -> Node:
    (arg,) = args
    if arg.kind != "select" or arg.test:
        parser.issues.append(Issue(arg.at, "invalid argument to has() macro"))
        raise _Stop
    return Node("select", at, operand=arg.operand, name=arg.name, test=True)


def _accumulated(at: int) -> Node:
    return ident(at, ACCUMULATOR)


def _loop(
    macro: str, at: int, over: Node | None, names: tuple[str, ...], parts: tuple[Node, Node, Node, Node], *body: Node
) -> Node:
    assert over is not None
    start, condition, step, result = parts
    loop = Loop(macro, over, names, ACCUMULATOR, start, condition, step, result, body)
    return Node("comprehension", at, loop=loop)


def _quantifier(macro: str, count: int) -> Macro:
    def unfold(parser: _Parser, at: int, target: Node | None, args: list[Node]) -> Node:
        names = tuple(parser.simple_name(arg) for arg in args[:count])
        predicate = args[count]
        if macro == "all":
            condition = call(at, "@not_strictly_false", _accumulated(at))
            parts = (literal(at, True), condition, call(at, "_&&_", _accumulated(at), predicate), _accumulated(at))
        elif macro == "exists":
            condition = call(at, "@not_strictly_false", call(at, "!_", _accumulated(at)))
            parts = (literal(at, False), condition, call(at, "_||_", _accumulated(at), predicate), _accumulated(at))
        else:
            step = call(at, "_?_:_", predicate, call(at, "_+_", _accumulated(at), literal(at, 1)), _accumulated(at))
            result = call(at, "_==_", _accumulated(at), literal(at, 1))
            parts = (literal(at, 0), literal(at, True), step, result)
        return _loop(macro, at, target, names, parts, predicate)

    return unfold


def _collector(macro: str, count: int, filtered: bool) -> Macro:
    """map, filter, transformList, transformMap: what collects into a list or a map."""

    def unfold(parser: _Parser, at: int, target: Node | None, args: list[Node]) -> Node:
        names = tuple(parser.simple_name(arg) for arg in args[:count])
        body = args[count:]
        value = ident(at, names[0]) if macro == "filter" else body[-1]
        if macro == "transformMap":
            start = Node("map", at)
            step = call(at, "cel.@mapInsert", _accumulated(at), ident(at, names[0]), value)
        elif macro == "transformMapEntry":
            start = Node("map", at)
            step = call(at, "cel.@mapInsert", _accumulated(at), value)
        else:
            start = Node("list", at)
            step = call(at, "_+_", _accumulated(at), Node("list", at, args=[value]))
        if filtered:
            step = call(at, "_?_:_", body[0], step, _accumulated(at))
        parts = (start, literal(at, True), step, _accumulated(at))
        return _loop(macro, at, target, names, parts, *body)

    return unfold


def _opt_map(flat: bool) -> Macro:
    def unfold(parser: _Parser, at: int, target: Node | None, args: list[Node]) -> Node:
        name = parser.simple_name(args[0])
        assert target is not None
        has = Node("call", at, name="hasValue", operand=target)
        value = Node("call", at, name="value", operand=target)
        bound = _bound(at, name, value, args[1])
        made = bound if flat else call(at, "optional.of", bound)
        return call(at, "_?_:_", has, made, call(at, "optional.none"))

    return unfold


def _sort_by(parser: _Parser, at: int, target: Node | None, args: list[Node]) -> Node:
    """The list under a name, sorted by what the macro `map` makes of it."""
    assert target is not None
    if target.kind in ("literal", "map"):
        what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        parser.issues.append(Issue(target.at, what))
        raise _Stop
    name = "@__sortBy_input__"
    keys = MACROS["map", True, 2](parser, at, ident(at, name), args)
    ordered = Node("call", at, name="@sortByAssociatedKeys", operand=ident(at, name), args=[keys])
    return _bound(at, name, target, ordered)


def _bound(at: int, name: str, value: Node, result: Node) -> Node:
    """`result` with a name for a value: a comprehension over nothing."""
    loop = Loop("bind", Node("list", at), ("#unused",), name, value, literal(at, False), ident(at, name), result, ())
    return Node("comprehension", at, loop=loop)


#: (name, as a member, arguments) -> what the call is unfolded into.
MACROS: dict[tuple[str, bool, int], Macro] = {
    ("has", False, 1): _has,
    ("all", True, 2): _quantifier("all", 1),
    ("exists", True, 2): _quantifier("exists", 1),
    ("exists_one", True, 2): _quantifier("exists_one", 1),
    ("existsOne", True, 2): _quantifier("exists_one", 1),
    ("all", True, 3): _quantifier("all", 2),
    ("exists", True, 3): _quantifier("exists", 2),
    ("exists_one", True, 3): _quantifier("exists_one", 2),
    ("existsOne", True, 3): _quantifier("exists_one", 2),
    ("map", True, 2): _collector("map", 1, False),
    ("map", True, 3): _collector("map", 1, True),
    ("filter", True, 2): _collector("filter", 1, True),
    ("transformList", True, 3): _collector("transformList", 2, False),
    ("transformList", True, 4): _collector("transformList", 2, True),
    ("transformMap", True, 3): _collector("transformMap", 2, False),
    ("transformMap", True, 4): _collector("transformMap", 2, True),
    ("transformMapEntry", True, 3): _collector("transformMapEntry", 2, False),
    ("transformMapEntry", True, 4): _collector("transformMapEntry", 2, True),
    ("sortBy", True, 2): _sort_by,
    ("optMap", True, 2): _opt_map(False),
    ("optFlatMap", True, 2): _opt_map(True),
}


def parse(source: str) -> Node:
    """The tree of an expression. Raises BadExpression."""
    if len(source) > SIZE_LIMIT:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {SIZE_LIMIT}"
        raise BadExpression("", [Issue(0, text)])
    issues: list[Issue] = []
    found: Node | None = None
    with contextlib.suppress(_Stop):
        found = _Parser(source, issues).whole()
    if found is None or issues:
        raise BadExpression(source, issues)
    if depth(found) > DEPTH_LIMIT:
        raise BadExpression(source, [Issue(0, "expression recursion limit exceeded: 250")])
    return found


def parts(node: Node) -> list[Node]:
    """What a node is made of."""
    found = [*node.args, *([node.operand] if node.operand is not None else [])]
    if node.loop is not None:
        loop = node.loop
        found += [loop.over, loop.start, loop.condition, loop.step, loop.result]
    return found


def depth(node: Node) -> int:
    """How many levels a tree has."""
    level, current = 0, [node]
    while current and level <= DEPTH_LIMIT + 1:
        level += 1
        current = [part for one in current for part in parts(one)]
    return level
