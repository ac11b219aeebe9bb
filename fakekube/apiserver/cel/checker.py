"""Checks the types of expressions and resolves overloads (`cel-go/checker`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakekube.apiserver.cel.fields import field_named
from fakekube.apiserver.cel.library.functions import PATCH_FUNCTIONS, TYPES, functions_in
from fakekube.apiserver.cel.library.overload import Overload
from fakekube.apiserver.cel.tree import BadExpression, Issue, Loop, Node, UInt, parts
from fakekube.apiserver.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    is_optional,
    list_of,
    map_of,
    optional_of,
    param,
)
from fakekube.apiserver.cel.validators import literal_issues
from fakekube.apiserver.features import minor

_LITERALS: tuple[tuple[type, Type], ...] = (
    (bool, BOOL), (UInt, UINT), (int, INT), (float, DOUBLE), (str, STRING), (bytes, BYTES), (type(None), NULL),
)  # fmt: skip

_NULLABLE = frozenset({"null", "dyn", "opaque", "struct", "duration", "timestamp", "error"})


class Checker:
    """Checks a tree: sets the types of all nodes and the overloads of calls."""

    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.scopes: list[dict[str, Type]] = [dict(variables)]
        self.issues: list[Issue] = []
        self.bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []
        self.used: set[str] = set()
        self._variables = frozenset(variables)
        self._free = 0

    # --- types -------------------------------------------------------------------------------------------------------

    def variable(self) -> Type:
        self._free += 1
        return param(f"_var{self._free - 1}")

    def known(self, one: Type, *, final: bool = False) -> Type:
        """Substitutes the bound type parameters; if `final`, unbound ones become dyn."""
        if one.kind == "param":
            found = self.bound.get(one)
            if found is not None:
                return self.known(found, final=final)
            return DYN if final else one
        if not one.open:
            return one
        return Type(one.kind, tuple(self.known(part, final=final) for part in one.params), one.name, one.fields)

    def assignable(self, a: Type, b: Type) -> bool:
        """Whether a type `b` is assignable to `a`. Binds type parameters."""
        return self.all_assignable((a,), (b,))

    def all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        self._trail.clear()
        if len(given) == len(wanted) and all(map(self._assignable, given, wanted)):
            return True
        for unknown, found in reversed(self._trail):
            if found is None:
                del self.bound[unknown]
            else:
                self.bound[unknown] = found
        return False

    def _bind(self, unknown: Type, found: Type) -> None:
        self._trail.append((unknown, self.bound.get(unknown)))
        self.bound[unknown] = found

    def _assignable(self, a: Type, b: Type) -> bool:
        if b.kind == "param":
            fits, had = self._substitute(a, b)
            if fits:
                return True
            if had:
                return False
        if a.kind == "param":
            return self._substitute(b, a)[0]
        if a.kind in ("dyn", "error") or b.kind in ("dyn", "error"):
            return True
        if a.kind == "null":
            return b.kind in _NULLABLE
        if b.kind == "null":
            return a.kind in _NULLABLE
        if a.kind == "type":
            return b.kind == "type"
        if a.kind in ("list", "map", "opaque"):
            if a.kind != b.kind or a.name != b.name or len(a.params) != len(b.params):
                return False
            return all(map(self._assignable, a.params, b.params))
        return a == b

    def _substitute(self, one: Type, unknown: Type) -> tuple[bool, bool]:
        """Whether a type can be substituted for a type parameter, and whether the parameter was bound before."""
        if one == unknown:
            return True, True
        found = self.bound.get(unknown)
        if found is not None:
            if one == found:
                return True, True
            if not self._assignable(one, found):
                return False, True
            general = _general(one, found)
            if not _inside(unknown, self.known(general)):
                self._bind(unknown, general)
            return True, True
        if not _inside(unknown, self.known(one)):
            self._bind(unknown, one)
            return True, False
        return False, False

    # --- nodes -------------------------------------------------------------------------------------------------------

    def report(self, at: int, message: str) -> None:
        self.issues.append(Issue(at, message))

    def check(self, node: Node) -> Type:
        node.type = getattr(self, f"_{node.kind}")(node)
        found: Type = node.type
        return found

    def _literal(self, node: Node) -> Type:
        return next(one for kind, one in _LITERALS if isinstance(node.value, kind))

    def _find(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                if scope is self.scopes[0]:
                    self.used.add(name)
                return scope[name]
        return None

    def _ident(self, node: Node) -> Type:
        name = node.name
        found = self._find(name) if not name.startswith(".") else self.scopes[0].get(name[1:])
        if found is None:
            found = TYPES.get(name.removeprefix("."))
        if found is None:
            self.report(node.at, f"undeclared reference to '{name}' (in container '')")
            return ERROR
        return found

    def _message(self, node: Node) -> Type:
        family = self.scopes[0].get(node.name.partition(".")[0])
        if family is None or family.kind != "messages":
            self.report(node.at, f"undeclared reference to '{node.name}' (in container '')")
            return ERROR
        for name, value in zip(node.args[::2], node.args[1::2], strict=True):
            found = self.check(value)
            if family.fields is None:
                continue
            field = family.fields.get(name.value)
            if field is None or not self.assignable(found, field.type):
                wanted = field.type if field is not None else ""
                what = f"expected type of field '{name.value}' is '{wanted}' but provided type is '{self.known(found)}'"
                self.report(name.at, what)
        return Type("struct", (), node.name, family.fields)

    def _select(self, node: Node) -> Type:
        qualified = _qualified(node)
        if qualified and not node.test and self._find(qualified.partition(".")[0]) is None and qualified in TYPES:
            node.kind, node.name, node.operand = "ident", qualified, None
            return TYPES[qualified]
        assert node.operand is not None
        found = self._field(node, node.operand, node.name, optional=False)
        return BOOL if node.test else self.known(found)

    def _field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        of = self.known(self.check(operand))
        target = of.params[0] if is_optional(of) else of
        found = ERROR
        if target.kind == "map":
            found = target.params[1]
        elif target.kind == "struct":
            declared = field_named(target.fields, name) if target.fields is not None else None
            if target.fields is None and self._is_message(target):
                found = DYN
            elif target.fields is None:
                self.report(node.at, f"unexpected failed resolution of '{target}'")
            elif declared is None:
                self.report(node.at, f"undefined field '{name}'")
            else:
                found = declared.type
        elif target.kind == "param":
            self.assignable(DYN, target)
            found = DYN
        else:
            if target.kind not in ("dyn", "error"):
                self.report(node.at, f"type '{target}' does not support field selection")
            found = DYN
        return optional_of(found) if optional or is_optional(of) else found

    def _is_message(self, one: Type) -> bool:
        family = self.scopes[0].get(one.name.partition(".")[0])
        return family is not None and family.kind == "messages"

    def _functions(self, name: str) -> Sequence[Overload] | None:
        if name in PATCH_FUNCTIONS and "JSONPatch" not in self.scopes[0]:
            return None
        return functions_in(minor()).get(name)

    def _call(self, node: Node) -> Type:
        if node.name == "_?._":
            operand, field = node.args
            self.check(field)
            node.overloads = ("select_optional_field",)
            return self.known(self._field(node, operand, field.value, optional=True))
        for arg in node.args:
            self.check(arg)
        if node.operand is not None:
            prefix = _qualified(node.operand)
            rows = self._functions(f"{prefix}.{node.name}") if prefix else None
            if rows is not None and self._find(prefix.partition(".")[0]) is None:
                node.name, node.operand = f"{prefix}.{node.name}", None
                return self._resolve(node, rows, [arg.type for arg in node.args])
            self.check(node.operand)
        rows = self._functions(node.name.removeprefix("."))
        if rows is None:
            self.report(node.at, f"undeclared reference to '{node.name}' (in container '')")
            return ERROR
        given = [part.type for part in ([node.operand] if node.operand is not None else [])]
        return self._resolve(node, rows, [*given, *(arg.type for arg in node.args)])

    def _resolve(self, node: Node, rows: Sequence[Overload], given: list[Type]) -> Type:
        if node.name in ("_&&_", "_||_"):
            return self._logical(node)
        found: list[str] = []
        result: Type | None = None
        for row in rows:
            if row.member != (node.operand is not None) or len(row.args) != len(given):
                continue
            fresh = _fresh(row, self) if row.generic else (row.args, row.result)
            if not self.all_assignable(given, fresh[0]):
                continue
            found.append(row.id)
            made = self.known(fresh[1])
            if result is None:
                result = made
            elif result.kind != "dyn" and made != result:
                result = DYN
        if result is None:
            shown = [str(self.known(one, final=True)) for one in given]
            where = f"{shown.pop(0)}." if node.operand is not None else ""
            signature = f"{where}({', '.join(shown)})"
            self.report(node.at, f"found no matching overload for '{node.name}' applied to '{signature}'")
            return ERROR
        node.overloads = tuple(found)
        return result

    def _logical(self, node: Node) -> Type:
        node.overloads = ("logical_and" if node.name == "_&&_" else "logical_or",)
        wrong = False
        for arg in node.args:
            if not self.assignable(arg.type, BOOL):
                self.report(arg.at, f"expected type 'bool' but found '{self.known(arg.type, final=True)}'")
                wrong = True
        return ERROR if wrong else BOOL

    def _joined(self, before: Type | None, one: Type) -> Type:
        if before is None:
            return one
        return _general(before, one) if self.assignable(before, one) else DYN

    def _element(self, node: Node, optional: bool) -> Type:
        one = self.check(node)
        if not optional:
            return one
        if is_optional(one):
            return one.params[0]
        if one.kind != "dyn":
            self.report(node.at, f"expected type '{optional_of(one)}' but found '{one}'")
        return one

    def _list(self, node: Node) -> Type:
        found: Type | None = None
        for i, item in enumerate(node.args):
            found = self._joined(found, self._element(item, i in node.optional))
        return list_of(found or self.variable())

    def _map(self, node: Node) -> Type:
        keys: Type | None = None
        items: Type | None = None
        for i in range(0, len(node.args), 2):
            key, item = node.args[i], node.args[i + 1]
            keys = self._joined(keys, self.check(key))
            items = self._joined(items, self._element(item, i // 2 in node.optional))
        return map_of(keys or self.variable(), items or self.variable())

    def _comprehension(self, node: Node) -> Type:
        loop = node.loop
        assert loop is not None
        over = self.known(self.check(loop.over))
        start = self.check(loop.start)
        self.scopes.append({loop.accumulator: start})
        self.scopes.append(dict(zip(loop.names, self._items(loop, over), strict=False)))
        self._asserted(loop.condition, BOOL)
        self._asserted(loop.step, start)
        self.scopes.pop()
        result = self.check(loop.result)
        self.scopes.pop()
        return self.known(result)

    def _items(self, loop: Loop, over: Type) -> list[Type]:
        two = len(loop.names) == 2
        if over.kind == "list":
            return [INT, over.params[0]] if two else [over.params[0]]
        if over.kind == "map":
            return list(over.params) if two else [over.params[0]]
        if over.kind in ("dyn", "error", "param") and over != ANY:
            self.assignable(DYN, over)
            return [DYN, DYN]
        why = "cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(loop.over.at, f"expression of type '{over}' {why}")
        return [ERROR, ERROR]

    def _asserted(self, node: Node, wanted: Type) -> None:
        found = self.check(node)
        if not self.assignable(wanted, found):
            self.report(node.at, f"expected type '{self.known(wanted)}' but found '{self.known(found)}'")

    # --- final types -------------------------------------------------------------------------------------------------

    def finalize(self, node: Node) -> None:
        """Replaces unbound type parameters in the types of all nodes."""
        node.type = self.known(node.type, final=True) if node.type is not None else DYN
        for part in parts(node):
            self.finalize(part)


def _inside(unknown: Type, one: Type) -> bool:
    return one == unknown or (one.open and any(_inside(unknown, part) for part in one.params))


def _general(a: Type, b: Type) -> Type:
    """The less specific of two types that are assignable to each other."""
    return a if _less_specific(a, b) else b


def _less_specific(a: Type, b: Type) -> bool:
    if a.kind in ("dyn", "param"):
        return True
    if b.kind in ("dyn", "param") or a.kind != b.kind:
        return False
    if a.kind in ("list", "map", "opaque"):
        return a.name == b.name and len(a.params) == len(b.params) and all(map(_less_specific, a.params, b.params))
    return a.kind == "type" or a == b


def _fresh(row: Overload, checker: Checker) -> tuple[Sequence[Type], Type]:
    """The signature of an overload with new type parameters."""
    made: dict[str, Type] = {}

    def renew(one: Type) -> Type:
        if one.kind == "param":
            if one.name not in made:
                made[one.name] = checker.variable()
            return made[one.name]
        return Type(one.kind, tuple(map(renew, one.params)), one.name) if one.params else one

    return [renew(one) for one in row.args], renew(row.result)


def _qualified(node: Node) -> str:
    """The qualified name of a chain of selections such as `a.b.c`; "" for other nodes."""
    if node.kind == "ident":
        return node.name
    if node.kind == "select" and not node.test and node.operand is not None:
        prefix = _qualified(node.operand)
        return f"{prefix}.{node.name}" if prefix else ""
    return ""


def check(source: str, node: Node, variables: Mapping[str, Type]) -> tuple[Type, frozenset[str]]:
    """Checks an expression. Returns its type and the variables that it uses. Raises BadExpression."""
    checker = Checker(variables)
    checker.check(node)
    if checker.issues:
        raise BadExpression(source, checker.issues)
    checker.finalize(node)
    issues = literal_issues(node)
    if issues:
        raise BadExpression(source, _unique(issues))
    found: Type = node.type
    return found, frozenset(checker.used)


def _unique(issues: list[Issue]) -> list[Issue]:
    return list(dict.fromkeys(issues))
