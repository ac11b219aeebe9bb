"""Parses CEL to a tree and expands macros (`cel-go/parser`). Errors are worded as those of cel-go's parser."""

from __future__ import annotations

import contextlib

from fakekube.apiserver.cel.lexer import EXPRESSION_START, RESERVED, StopParsing, Token, expected, quoted, tokens
from fakekube.apiserver.cel.literals import LITERALS, InvalidLiteral
from fakekube.apiserver.cel.macros import ADDED, MACROS, Macros
from fakekube.apiserver.cel.tree import DEPTH_LIMIT, BadExpression, Issue, Node, call, depth, ident, literal
from fakekube.apiserver.features import since

#: The limit of the characters of an expression.
SIZE_LIMIT = 100_000

#: Operator -> precedence and function.
_BINARY = {
    "||": (1, "_||_"), "&&": (2, "_&&_"), "<": (3, "_<_"), "<=": (3, "_<=_"), ">=": (3, "_>=_"), ">": (3, "_>_"),
    "==": (3, "_==_"), "!=": (3, "_!=_"), "in": (3, "@in"), "+": (4, "_+_"), "-": (4, "_-_"), "*": (5, "_*_"),
    "/": (5, "_/_"), "%": (5, "_%_"),
}  # fmt: skip

_CLOSING = {"(": ")", "[": "]", "{": "}"}


def qualified_name(node: Node) -> str:
    """The name of a chain of selections such as `a.b.c`; "" for other nodes."""
    names: list[str] = []
    while node.kind == "select" and node.operand is not None and not node.test:
        names.append(node.name)
        node = node.operand
    return ".".join([node.name, *reversed(names)]) if node.kind == "ident" else ""


class _Parser:
    """A recursive descent parser, which stops at the first syntax error."""

    def __init__(self, source: str, issues: list[Issue], macros: Macros) -> None:
        self.issues, self.macros = issues, macros
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
        if self.token.kind == kind:
            return self.take()
        token = self.token
        if self._next() != kind and self._follows(kind, token.kind):
            self.issues.append(Issue(token.at, f"Syntax error: missing '{kind}' at {quoted(token.text)}"))
            return token
        self.unexpected(frozenset({kind}))
        return self.take()

    def _next(self) -> str:
        """The kind of the token after the current one."""
        return self.tokens[self.at + 1].kind if self.at + 1 < len(self.tokens) else ""

    def _follows(self, missing: str, found: str) -> bool:
        """Whether a token can follow a missing one, so that parsing continues (ANTLR's single token insertion)."""
        if missing == ":":
            return found in EXPRESSION_START
        if missing not in _CLOSING.values():
            return False
        opened: list[int] = []
        for i, token in enumerate(self.tokens[: self.at]):
            if token.kind in _CLOSING:
                opened.append(i)
            elif token.kind in _CLOSING.values() and opened:
                opened.pop()
        around = opened[-2] if len(opened) > 1 else None
        # a bracket that was skipped as extraneous may have closed the last one
        end = opened[-1] if opened else self.at
        kinds = [token.kind for token in self.tokens[0 if around is None else around : end]]
        if around is None:
            return found == "<EOF>" and kinds.count(":") >= kinds.count("?")
        closing = _CLOSING[self.tokens[around].kind]
        entries = kinds.count(",") + 1 if closing == "}" else 0
        return found in (",", closing) and kinds.count(":") >= kinds.count("?") + entries

    def skip_comma(self, closing: str) -> None:
        """Skips the comma of an empty literal such as `[,]`."""
        if self.token.kind == "," and self._next() == closing:
            self.take()

    def begin(self, wanted: frozenset[str]) -> None:
        """Reports an error unless one of these tokens follows."""
        if self.token.kind not in wanted:
            self.unexpected(wanted)

    def close(self, kind: str) -> None:
        if self.token.kind != kind:
            self.unexpected(frozenset({kind, ","}))
        self.take()

    def unexpected(self, wanted: frozenset[str]) -> None:
        """Reports an unexpected token. Skips it if the next token is expected, else stops."""
        token = self.token
        if token.kind != "<EOF>" and self._next() in wanted:
            self.issues.append(
                Issue(token.at, f"Syntax error: extraneous input {quoted(token.text)} expecting {expected(wanted)}")
            )
            self.at += 1
            return
        text = f"Syntax error: mismatched input {quoted(token.text)} expecting {expected(wanted)}"
        self.issues.append(Issue(token.at, text))
        raise StopParsing

    def whole(self) -> Node:
        found = self.expr()
        self.expect("<EOF>")
        return found

    def expr(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH_LIMIT // 2:
            self.issues.append(Issue(0, "expression recursion limit exceeded: 250"))
            raise StopParsing
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
        """Parses a chain of `&&` or `||` to a balanced tree, which limits its depth."""
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
                raise StopParsing
            found = self.selection(found) if self.token.kind == "." else self.index(found)
        return found

    def selection(self, operand: Node) -> Node:
        dot = self.take()
        optional = self.accept("?")
        if self.token.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            self.no_field(dot, optional)
        token = self.take()
        name = self.field_name(token, token.at)
        if self.token.kind == "(" and optional is None and token.kind == "IDENTIFIER":
            at = self.take().at
            args = self.args()
            return self.expanded(at, name, operand, args)
        if optional is not None:
            return call(dot.at, "_?._", operand, literal(token.at, name))
        found = Node("select", dot.at, operand=operand, name=name)
        if self.token.kind == "{" and (qualified := qualified_name(found)):
            return self.message(qualified)
        return found

    def field_name(self, token: Token, at: int) -> str:
        """The name of a field. Kubernetes does not enable escaped ones (`EnableIdentifierEscapeSyntax`)."""
        if token.kind == "ESC_IDENTIFIER":
            self.issues.append(Issue(at, "unsupported syntax: '`'"))
        return token.text

    def no_field(self, dot: Token, optional: Token | None) -> None:
        token = self.token
        if optional is not None:
            try:
                self.unexpected(frozenset({"IDENTIFIER", "ESC_IDENTIFIER"}))
            except StopParsing:
                self.issues.append(Issue(token.at, "unsupported ident kind"))
                raise
            return
        if token.kind in ("true", "false", "null"):
            self.unexpected(frozenset({"IDENTIFIER"}))
        shown = "" if token.kind == "<EOF>" else token.text
        if token.kind == "<EOF>":
            self.issues.append(Issue(token.at, "Syntax error: no viable alternative at input '.'"))
        else:
            self.issues.append(Issue(token.at, f"Syntax error: no viable alternative at input '.{shown}'"))
        raise StopParsing

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
        self.begin(EXPRESSION_START | {")"})
        if self.accept(")"):
            return found
        found.append(self.expr())
        while self.accept(","):
            found.append(self.expr())
        self.expect(")")
        return found

    def primary(self) -> Node:
        token = self.token
        if token.kind not in EXPRESSION_START:
            self.unexpected(EXPRESSION_START)
            token = self.token
            if token.kind in ("!", "-"):
                return self.unary()
        if token.kind in LITERALS or token.kind == "-":
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
        self.unexpected(EXPRESSION_START - {"!"})
        return self.primary()

    def named(self) -> Node:
        dot = self.accept(".")
        token = self.expect("IDENTIFIER")
        name = ("." if dot else "") + token.text
        if token.text in RESERVED:
            self.issues.append(Issue(token.at, f"reserved identifier: {token.text}"))
        if self.token.kind == "(":
            at = self.take().at
            return self.expanded(at, name, None, self.args())
        if self.token.kind == "{":
            return self.message(name)
        return ident(token.at, name)

    def message(self, name: str) -> Node:
        """Parses a message literal such as `JSONPatch{op: 'add'}`."""
        at = self.take().at
        items: list[Node] = []
        optional: set[int] = set()
        others = frozenset({"}", ",", "?"})
        self.skip_comma("}")
        first = self.token.at
        while self.token.kind != "}":
            if self.accept("?"):
                optional.add(len(items) // 2)
                others = frozenset()
            if self.token.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
                self.unexpected(others | {"IDENTIFIER", "ESC_IDENTIFIER"})
            field, at_colon = self.take(), self.token.at
            key, reported = self.field_name(field, first), len(self.issues)
            self.expect(":")
            items += [literal(at_colon, key), self.expr()]
            if field.kind == "ESC_IDENTIFIER":
                del self.issues[reported:]  # its value is not visited
            others = frozenset({"}", "?"})
            if not self.accept(","):
                break
        self.close("}")
        return Node("message", at, name=name, args=items, optional=frozenset(optional))

    def list_literal(self) -> Node:
        at = self.take().at
        items: list[Node] = []
        optional: set[int] = set()
        self.begin(EXPRESSION_START | {"]", ",", "?"})
        self.skip_comma("]")
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
        self.begin(EXPRESSION_START | {"}", ",", "?"})
        self.skip_comma("}")
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
            return literal(at, LITERALS[token.kind](("-" if minus else "") + token.text))
        except InvalidLiteral as problem:
            self.issues.append(Issue(at, str(problem)))
            return literal(at, 0)

    def expanded(self, at: int, name: str, target: Node | None, args: list[Node]) -> Node:
        """A call, or its expansion if it is a macro."""
        key = name, target is not None, len(args)
        macro = (MACROS.get(key) if since(ADDED.get(key, 0)) else None) or self.macros.get(key)
        if macro is not None:
            return macro(self.issues, at, target, args)
        return Node("call", at, name=name, operand=target, args=args)


def _balanced(name: str, terms: list[Node], places: list[int]) -> Node:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    left, right = (
        _balanced(name, terms[:middle], places[: middle - 1]),
        _balanced(name, terms[middle:], places[middle:]),
    )
    return call(places[middle - 1], name, left, right)


def parse(source: str, macros: Macros | None = None) -> Node:
    """Parses an expression; `macros` are known besides the usual ones. Raises BadExpression."""
    if len(source) > SIZE_LIMIT:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {SIZE_LIMIT}"
        raise BadExpression("", [Issue(0, text)])
    issues: list[Issue] = []
    found: Node | None = None
    with contextlib.suppress(StopParsing):
        found = _Parser(source, issues, macros or {}).whole()
    if found is None or issues:
        raise BadExpression(source, issues)
    if depth(found) > DEPTH_LIMIT:
        raise BadExpression(source, [Issue(0, "expression recursion limit exceeded: 250")])
    return found
