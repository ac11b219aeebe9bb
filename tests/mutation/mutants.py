"""Mutants of a source: the small changes that each kind of mutation makes to it."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
BOUNDARIES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip

#: Functions that are exchanged for each other.
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}

#: Functions whose arguments are not exchanged: it would only be an error of types, or change nothing.
TYPED_ARGUMENTS = {
    "isinstance",
    "issubclass",
    "getattr",
    "setattr",
    "hasattr",
    "cast",
    "TypeVar",
    "NewType",
    "super",
    "field",
    "min",
    "max",
    "factor",  # a product in the costs of expressions
}

#: Methods whose calls are records of what happens, which no rule depends on.
LOGGING = {"debug", "info", "warning", "error", "exception", "log"}

#: Operands that arithmetic other than theirs rejects: text and lists.
NO_NUMBERS = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.Set)


class Change(NamedTuple):
    """The text that replaces a node."""

    kind: str
    node: ast.AST
    after: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one source. `text` is the line that it begins in; `start` and `end` are offsets of bytes.

    `statement` are the first and the last line of the smallest statement around it, without its body. `imported` says
    that it runs when the module is imported, and not in a function.
    """

    file: str
    line: int
    statement: tuple[int, int]
    imported: bool
    scope: str
    text: str
    kind: str
    before: str
    after: str
    start: int
    end: int
    ordinal: int = 0

    @property
    def id(self) -> str:
        """Names the mutant by its text: the same after lines above it have changed."""
        parts = (self.file, self.scope, self.text, self.kind, self.before, self.after, str(self.ordinal))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]

    @property
    def mutation(self) -> str:
        """What is changed, in one line."""
        return f"{self.kind}: {_one_line(self.before)} -> {_one_line(self.after)}"

    def applied(self, source: str) -> str:
        """The source with the change."""
        raw = source.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()


def mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a source, in the order of the source. One that does not compile is left out when it is drawn."""
    lines = source.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line.encode()))
    raw = source.encode()
    found = []
    for place, change in _changes(ast.parse(source)):
        node = change.node
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[node.end_lineno - 1] + node.end_col_offset
        text = lines[node.lineno - 1].strip()
        if text.startswith("#") or "pragma: no cover" in text:
            continue
        before = raw[start:end].decode()
        found.append(
            Mutant(
                file,
                node.lineno,
                place.statement,
                place.imported,
                place.scope,
                text,
                change.kind,
                before,
                change.after,
                start,
                end,
            )
        )
    found.sort(key=lambda mutant: (mutant.start, mutant.end, mutant.kind, mutant.after))
    seen: Counter[Mutant] = Counter()
    numbered = []
    for mutant in found:
        alike = replace(mutant, line=0, statement=(0, 0), start=0, end=0)
        numbered.append(replace(mutant, ordinal=seen[alike]))
        seen[alike] += 1
    return [mutant for mutant in numbered if mutant.before != mutant.after]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def compiles(source: str) -> bool:
    """Whether a source is Python at all."""
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


# --- where changes are made -----------------------------------------------------------------------------------------


class _Place(NamedTuple):
    scope: str
    statement: tuple[int, int]
    imported: bool


def _changes(tree: ast.Module) -> Iterator[tuple[_Place, Change]]:
    yield from _visit(tree, _Place("", (1, 1), True), ())


def _visit(node: ast.AST, place: _Place, parents: tuple[ast.AST, ...]) -> Iterator[tuple[_Place, Change]]:
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
        place = place._replace(statement=(node.lineno, last))
    if _passive(node):
        return
    for change in _changes_of(node, parents):
        yield place, change
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        inside = place
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and name == "body":
            imported = place.imported and isinstance(node, ast.ClassDef)
            inside = place._replace(scope=f"{place.scope}.{node.name}".lstrip("."), imported=imported)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _visit(child, inside, (node, *parents))


def _passive(node: ast.AST) -> bool:
    """Whether no rule is in it: documentation, logs, types, what is exported."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger" | "_log"), attr=attribute))):
            return attribute in LOGGING
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name in ("__all__", "Object") or "TypeVar" in ast.dump(value) or _types_only(name, value)
        case ast.Call(func=ast.Name(id="cast")):
            return True
    return False


def _types_only(name: str, value: ast.expr) -> bool:
    """Whether an assignment names a type: `Handler = Callable[[Delta], None]`."""
    return name[0].isupper() and not name.isupper() and isinstance(value, ast.Subscript | ast.BinOp)


def _changes_of(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    for find in (_conditions, _comparison, _arithmetic, _order, _removal, _arguments, _boolean, _constant, _returned):
        yield from find(node, parents)


# --- kinds of mutations ----------------------------------------------------------------------------------------------


def _conditions(node: ast.AST, _: tuple[ast.AST, ...]) -> Iterator[Change]:
    tests: list[ast.expr] = []
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            tests = [node.test]
        case ast.comprehension():
            tests = node.ifs
        case ast.match_case(guard=ast.expr() as guard):
            tests = [guard]
    for test in tests:
        inner = ast.unparse(test)
        after = (
            ast.unparse(test.operand)
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            else f"not ({inner})"
        )
        if not (isinstance(test, ast.Constant)):
            yield Change("condition", test, f"({after})")


def _comparison(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    if not isinstance(node, ast.Compare):
        return
    for index, operator in enumerate(node.ops):
        # a whole condition that is negated is the same mutant
        if isinstance(operator, BOUNDARIES) or not _is_condition(node, parents):
            operators = [*node.ops[:index], COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
            kind = "boundary" if isinstance(operator, BOUNDARIES) else "comparison"
            yield Change(kind, node, f"({ast.unparse(ast.Compare(node.left, operators, node.comparators))})")


def _is_condition(node: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    parent = parents[0] if parents else None
    return (
        node is getattr(parent, "test", None)
        or node is getattr(parent, "guard", None)
        or node in getattr(parent, "ifs", ())
    )


def _arithmetic(node: ast.AST, _: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            if not any(_no_number(side) for side in (left, right)):
                yield Change(
                    "arithmetic", node, f"({ast.unparse(ast.BinOp(left, ARITHMETIC[type(operator)](), right))})"
                )
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in ARITHMETIC:
            if not _no_number(value):
                yield Change(
                    "arithmetic", node, ast.unparse(ast.AugAssign(target, ARITHMETIC[type(operator)](), value))
                )
        case ast.Call(func=ast.Name(id=name) as function) if name in OPPOSITES:
            yield Change("arithmetic" if name in ("min", "max") else "boolean", function, OPPOSITES[name])


def _no_number(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _no_number(node.left) or _no_number(node.right)
    return isinstance(node, NO_NUMBERS) or (isinstance(node, ast.Constant) and not isinstance(node.value, int | float))


def _order(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[argument], keywords=[]):
            yield Change("order", node, f"iter({ast.unparse(argument)})")
        case ast.Call(func=ast.Name(id="sorted" | "min" | "max") | ast.Attribute(attr="sort"), keywords=keywords):
            yield from _sorting(node, keywords)
        case ast.Lambda(body=ast.Tuple(elts=[first, second, *rest]) as key) if _is_key(parents):
            swapped = ast.Tuple([second, first, *rest], ast.Load())
            yield Change("order", key, ast.unparse(swapped))


def _is_key(parents: tuple[ast.AST, ...]) -> bool:
    return bool(parents) and isinstance(parents[0], ast.keyword) and parents[0].arg == "key"


def _sorting(node: ast.Call, keywords: list[ast.keyword]) -> Iterator[Change]:
    for keyword in keywords:
        if keyword.arg in ("key", "reverse"):
            others = [other for other in keywords if other is not keyword]
            yield Change("order", node, ast.unparse(ast.Call(node.func, node.args, others)))
    if not any(keyword.arg == "reverse" for keyword in keywords) and ast.unparse(node.func) not in ("min", "max"):
        turned = [*keywords, ast.keyword("reverse", ast.Constant(True))]
        yield Change("order", node, ast.unparse(ast.Call(node.func, node.args, turned)))


def _removal(node: ast.AST, _: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break():
            yield Change("removal", node, "pass")
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield Change("removal", node, "pass")


def _arguments(node: ast.AST, _: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=function, args=[first, second, *rest]):
            if ast.unparse(function).split(".")[-1] in TYPED_ARGUMENTS or isinstance(first, ast.Starred):
                return
            if ast.dump(first) == ast.dump(second):  # nothing would change but the quotes
                return
            if isinstance(second, ast.Starred) or {type(first), type(second)} == {ast.Constant, ast.Lambda}:
                return
            yield Change("arguments", node, ast.unparse(ast.Call(function, [second, first, *rest], node.keywords)))


def _boolean(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield Change("boolean", node, f"({ast.unparse(ast.BoolOp(other, values))})")
        case ast.UnaryOp(op=ast.Not(), operand=operand) if not _is_condition(node, parents):
            yield Change("boolean", node, f"bool({ast.unparse(operand)})")


def _constant(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool(value)) if not (parents and isinstance(parents[0], ast.Return)):
            yield Change("constant", node, repr(not value))
        case ast.Constant(value=int(value) | float(value)) if not isinstance(value, bool):
            yield Change("constant", node, repr(value + 1))


def _returned(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Return(value=ast.Constant(value=bool(value)) as constant):
            yield Change("return", constant, repr(not value))
        case ast.Return(value=ast.Compare(ops=[operator]) as value) if not isinstance(operator, BOUNDARIES):
            pass  # the comparison is a mutant of its own
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield Change("return", value, "None")
