"""The macros of CEL, which the parser expands (`cel-go/parser/macro.go`, `cel-go/ext`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakekube.apiserver.cel.lexer import StopParsing
from fakekube.apiserver.cel.tree import ACCUMULATOR, Issue, Loop, Node, call, ident, literal

Macro = Callable[[list[Issue], int, Node | None, list[Node]], Node]
"""Expands a call to a tree, given the issues found so far, the offset, the receiver and the arguments."""


SIMPLE_NAME = "argument must be a simple name"


def _simple_name(issues: list[Issue], node: Node, why: str) -> str:
    if node.kind != "ident" or node.name.startswith("."):
        issues.append(Issue(node.at, why))
        raise StopParsing
    return node.name


def _names(issues: list[Issue], args: list[Node], why: str) -> tuple[str, ...]:
    """The names of the iteration variables, which differ."""
    names = tuple(_simple_name(issues, arg, why) for arg in args)
    if len(names) == 2 and names[0] == names[1]:
        issues.append(Issue(args[1].at, f"duplicate variable name: {names[0]}"))
        raise StopParsing
    for arg in args:
        if arg.name in (ACCUMULATOR, "__result__"):
            issues.append(Issue(arg.at, "iteration variable overwrites accumulator variable"))
            raise StopParsing
    return names


def _has(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
    (arg,) = args
    if arg.kind != "select" or arg.test:
        issues.append(Issue(arg.at, "invalid argument to has() macro"))
        raise StopParsing
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
    def unfold(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
        names = _names(issues, args[:count], SIMPLE_NAME)
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
    """Expands `map`, `filter`, `transformList` and `transformMap`, which collect a list or a map."""

    def unfold(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
        why = "argument is not an identifier" if count == 1 else SIMPLE_NAME
        names = _names(issues, args[:count], why)
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
    def unfold(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
        macro = "optFlatMap" if flat else "optMap"
        name = _simple_name(issues, args[0], f"{macro}() variable name must be a simple identifier")
        assert target is not None
        has = Node("call", at, name="hasValue", operand=target)
        value = Node("call", at, name="value", operand=target)
        bound = _bound(at, name, value, args[1])
        made = bound if flat else call(at, "optional.of", bound)
        return call(at, "_?_:_", has, made, call(at, "optional.none"))

    return unfold


def _sort_by(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
    """Expands `sortBy`: a variable for the list, sorted by the keys that `map` computes."""
    assert target is not None
    if target.kind in ("literal", "map"):
        what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        issues.append(Issue(target.at, what))
        raise StopParsing
    name = "@__sortBy_input__"
    keys = MACROS["map", True, 2](issues, at, ident(at, name), args)
    ordered = Node("call", at, name="@sortByAssociatedKeys", operand=ident(at, name), args=[keys])
    return _bound(at, name, target, ordered)


def _bind(issues: list[Issue], at: int, target: Node | None, args: list[Node]) -> Node:
    """Expands `cel.bind(name, value, result)`; `bind` of another receiver is a call."""
    if target is None or target.kind != "ident" or target.name != "cel":
        return Node("call", at, name="bind", operand=target, args=args)
    name, value, result = args
    if name.kind != "ident":
        issues.append(Issue(name.at, "cel.bind() variable names must be simple identifiers"))
        raise StopParsing
    return _bound(at, name.name, value, result)


def _bound(at: int, name: str, value: Node, result: Node) -> Node:
    """A comprehension over an empty list that binds a name to a value in `result`."""
    loop = Loop("bind", Node("list", at), ("#unused",), name, value, literal(at, False), ident(at, name), result, ())
    return Node("comprehension", at, loop=loop)


Macros = Mapping[tuple[str, bool, int], Macro]
"""Macros by name, whether they have a receiver, and their number of arguments."""

MACROS: Macros = {
    ("has", False, 1): _has,
    ("all", True, 2): _quantifier("all", 1),
    ("exists", True, 2): _quantifier("exists", 1),
    ("exists_one", True, 2): _quantifier("exists_one", 1),
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

#: The first minor version that has a macro, if not all have it.
ADDED: Mapping[tuple[str, bool, int], int] = {
    **{key: 33 for key in MACROS if key[0].startswith("transform") or (key[0] in ("all", "exists") and key[2] == 3)},
    ("exists_one", True, 3): 33,
    ("existsOne", True, 3): 33,
    ("sortBy", True, 2): 35,
    ("optMap", True, 2): 29,
    ("optFlatMap", True, 2): 29,
}

#: The macros of `ext.Bindings`, which only some environments have.
BINDINGS: Macros = {("bind", True, 3): _bind}
