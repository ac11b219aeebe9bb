"""The most that an expression can cost, from what its schema says of sizes (`cel-go/checker/cost.go`,
`apiserver/pkg/cel/library/cost.go`).

A unit is about 50 ns of the real server. Costs are upper bounds; sizes have a lower bound, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakekube.apiserver.cel.syntax import ACCUMULATOR, Loop, Node
from fakekube.apiserver.cel.types import Declared, Type, is_optional

#: What cannot be counted any more.
HUGE = 2**64 - 1

#: Going once through a text, by character; a regular expression over a character, by its own characters.
TRAVERSAL, REGEX = 0.1, 0.25

LIST_BASE, MAP_BASE = 10, 30
NAME_REGEX_SIZE = 128

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How many characters, items or entries a value has."""

    least: int
    most: int

    def plus(self, other: Size) -> Size:
        return Size(_cap(self.least + other.least), _cap(self.most + other.most))

    def times(self, other: Size) -> Size:
        return Size(_cap(self.least * other.least), _cap(self.most * other.most))

    def union(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))


@dataclass(frozen=True, slots=True)
class Entry:
    """How large the keys and the values of a list or map are."""

    kind: str
    key: Size
    value: Size

    def union(self, other: Entry | None) -> Entry | None:
        if other is None:
            return None
        return Entry(self.kind, self.key.union(other.key), self.value.union(other.value))


UNKNOWN = Size(0, HUGE)


def fixed(size: int) -> Size:
    return Size(size, size)


def _cap(value: int) -> int:
    return min(value, HUGE)


def factor(value: int, by: float) -> int:
    """Rounded up."""
    return _cap(math.ceil(float(value) * by)) if value < HUGE or by < 1 else HUGE


@dataclass(frozen=True, slots=True)
class Part:
    """A receiver or an argument of a call: its path from a variable, its type and size."""

    path: Path
    type: Type
    node: Node | None
    size: Size | None


@dataclass(frozen=True, slots=True)
class Local:
    path: Path
    size: Size | None
    entry: Entry | None


Estimate = tuple[int, Size | None]
"""A call's own cost, and the size of what it gives."""


class Estimator:
    """One pass over a checked tree. `root` declares what `self` is."""

    def __init__(self, root: Declared) -> None:
        self.root = root
        self.paths: dict[Node, Path] = {}
        self.sizes: dict[Node, Size] = {}
        self.entries: dict[Node, Entry] = {}
        self.locals: dict[str, list[Local]] = {}

    # --- sizes -------------------------------------------------------------------------------------------------------

    def declared_size(self, path: Path) -> Size | None:
        """What the schema says of the value at a path."""
        if not path:
            return None
        current: Declared | None = self.root
        for name in path[1:]:
            assert current is not None
            if name in ("@items", "@values"):
                current = current.item
            elif name == "@keys":
                current = current.entry_key
            else:
                current = current.fields.get(name)
            if current is None:
                return None
        assert current is not None
        return Size(0, current.largest)

    def local(self, name: str) -> Local | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    def path(self, node: Node) -> Path:
        if node.kind == "ident":
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def size(self, node: Node) -> Size | None:
        found = self.sizes.get(node) or _literal_size(node)
        if found is not None:
            return found
        declared = self.declared_size(self.path(node))
        if declared is not None:
            self.sizes[node] = declared
            return declared
        if _is_scalar(node.type):
            return fixed(1)
        local = self.local(node.name) if node.kind == "ident" else None
        return local.size if local is not None else None

    def size_or_unknown(self, node: Node) -> Size:
        return self.size(node) or UNKNOWN

    def entry(self, node: Node) -> Entry | None:
        found = self.entries.get(node)
        if found is None and node.kind == "ident":
            local = self.local(node.name)
            return local.entry if local is not None else None
        return found

    def part(self, node: Node) -> Part:
        path = self.path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        return Part(path, node.type, node, self.size(node))

    def of(self, part: Part) -> Size:
        """The size of a receiver or an argument."""
        return part.size or self.declared_size(part.path) or UNKNOWN

    def element(self, part: Part) -> Part | None:
        """What a list is made of."""
        if not part.type.params:
            return None
        path = (*part.path, "@items") if part.path else ()
        return Part(path, part.type.params[0], None, None)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def cost(self, node: Node) -> int:
        found: int = getattr(self, f"_{node.kind}")(node)
        return found

    def _literal(self, node: Node) -> int:
        return 0

    def _ident(self, node: Node) -> int:
        local = self.local(node.name)
        self.paths[node] = local.path if local is not None else (node.name,)
        return 1

    def _select(self, node: Node) -> int:
        assert node.operand is not None
        cost = self.cost(node.operand)
        if node.test:
            return cost
        if node.operand.type.kind in ("map", "struct", "param"):
            cost += 1
        self.paths[node] = (*self.path(node.operand), node.name)
        return cost

    def _list(self, node: Node) -> int:
        cost, item = LIST_BASE, Size(HUGE, 0) if node.args else Size(0, 0)
        for one in node.args:
            cost = _cap(cost + self.cost(one))
            item = item.union(self.size_or_unknown(one))
        self.entries[node] = Entry("list", fixed(1), item)
        return cost

    def _map(self, node: Node) -> int:
        empty = Size(HUGE, 0) if node.args else Size(0, 0)
        cost, sizes = MAP_BASE, [empty, empty]
        for i, one in enumerate(node.args):
            cost = _cap(cost + self.cost(one))
            sizes[i % 2] = sizes[i % 2].union(self.size_or_unknown(one))
        self.entries[node] = Entry("map", sizes[0], sizes[1])
        return cost

    def _comprehension(self, node: Node) -> int:
        loop = node.loop
        assert loop is not None
        if loop.macro == "bind":
            return self._bind(node, loop)
        cost = self.cost(loop.over) + self.cost(loop.start)
        self._push(loop.accumulator, Local(self.path(loop.start), self.size(loop.start), self.entry(loop.start)))
        for name, local in zip(loop.names, self._loop_locals(loop), strict=True):
            self._push(name, local)
        each = self.cost(loop.condition) + self.cost(loop.step)
        for name in loop.names:
            self.locals[name].pop()
        cost += self.cost(loop.result)
        self.locals[loop.accumulator].pop()
        count = self.size_or_unknown(loop.over)
        if loop.start.kind == "literal":
            self._set(node, self.size(loop.start))
        else:
            self._set(node, count)
            made = self.entry(loop.step)
            if made is not None:
                self.entries[node] = made
        return _cap(cost + _cap(count.most * each))

    def _push(self, name: str, local: Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _loop_locals(self, loop: Loop) -> list[Local]:
        entry, path = self.entry(loop.over), self.path(loop.over)
        kind = entry.kind if entry is not None else loop.over.type.kind
        of_list = kind == "list"
        key = Local((*path, "@indices" if of_list else "@keys"), entry.key if entry else None, None)
        value = Local((*path, "@items" if of_list else "@values"), entry.value if entry else None, None)
        if len(loop.names) == 2:
            return [key, value]
        return [value if of_list else key]

    def _bind(self, node: Node, loop: Loop) -> int:
        cost = self.cost(loop.over) + self.cost(loop.start)
        self._push(loop.accumulator, Local(self.path(loop.start), self.size(loop.start), self.entry(loop.start)))
        cost += self.cost(loop.result)
        self._copy(node, loop.result)
        self.locals[loop.accumulator].pop()
        return _cap(cost)

    def _copy(self, node: Node, source: Node) -> None:
        self._set(node, self.size(source))
        entry = self.entry(source)
        if entry is not None:
            self.entries[node] = entry

    def _set(self, node: Node, size: Size | None) -> None:
        if size is not None:
            self.sizes[node] = size

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call(self, node: Node) -> int:
        if node.name == "dyn":
            cost = 1 + self.cost(node.args[0])
            self._copy(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        parts = [self.part(arg) for arg in node.args]
        if not node.overloads:
            return 0
        own = 0
        target: Part | None = None
        if node.operand is not None:
            own = self.cost(node.operand)
            target = self.part(node.operand)
        most, size = 0, None
        for id in node.overloads:
            cost, made = self._overload(node, id, target, parts, costs)
            most = max(most, cost)
            if made is not None:
                size = made if size is None else size.union(made)
            size = self._indexed(node, id) or size
            if size is None:
                size = self.size(node)
        self._set(node, size)
        return _cap(own + most)

    def _indexed(self, node: Node, id: str) -> Size | None:
        if id not in ("index_list", "index_map"):
            return None
        self.paths[node] = (*self.path(node.args[0]), "@items" if id == "index_list" else "@values")
        entry = self.entry(node.args[0])
        return entry.value if entry is not None else None

    def _overload(
        self, node: Node, id: str, target: Part | None, args: Sequence[Part], costs: Sequence[int]
    ) -> Estimate:
        if id in ("logical_or", "logical_and"):
            return sum(costs), None
        if id == "conditional":
            size = self.size_or_unknown(node.args[1]).union(self.size_or_unknown(node.args[2]))
            first = self.entry(node.args[1])
            made = first.union(self.entry(node.args[2])) if first is not None else None
            if made is not None:
                self.entries[node] = made
            return costs[0] + max(costs[1], costs[2]), size
        estimate = _BY_OVERLOAD.get(id) or _BY_FUNCTION.get(node.name)
        found = estimate(self, node, target, args) if estimate is not None else None
        if found is None:
            found = _BY_STANDARD[id](self, node, target, args) if id in _BY_STANDARD else None
        cost, size_made = found if found is not None else (1, None)
        return _cap(cost + sum(costs)), size_made


def _literal_size(node: Node) -> Size | None:
    if node.kind == "literal":
        return fixed(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if node.kind == "list":
        return fixed(len(node.args))
    return fixed(len(node.args) // 2) if node.kind == "map" else None


_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def _is_scalar(one: Type) -> bool:
    return one.kind in _SCALARS or (is_optional(one) and _is_scalar(one.params[0]))


# --- what calls cost -------------------------------------------------------------------------------------------------

Rule = Callable[[Estimator, Node, Part | None, Sequence[Part]], Estimate | None]


def _constant(cost: int) -> Rule:
    return lambda estimator, node, target, args: (cost, None)


def _of_list(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    """One comparison an element, and going through it where it is a text."""
    if target is None:
        return None
    size, element = estimator.of(target), estimator.element(target)
    if element is None:
        return (size.most if node.name == "includes" else factor(size.most, TRAVERSAL)), None
    each = 1
    if element.type.kind in ("string", "bytes"):
        each += factor(estimator.of(element).most, TRAVERSAL)
    return _cap(size.most * each), None


def _through(which: str, times: float = TRAVERSAL, *, keeps: bool = False) -> Rule:
    """Going through the receiver or the first argument; where `keeps`, the result is as large."""

    def rule(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
        part = target if which == "target" else (args[0] if args else None)
        if part is None:
            return None
        size = estimator.of(part)
        return factor(size.most, times), size if keeps else None

    return rule


def _replace(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = estimator.of(target), estimator.of(args[0]), estimator.of(args[1])
    if old.least == 0:
        most, kept_most = _cap(size.most + 1), size.most
    elif new.most <= old.least:
        most, kept_most = 0, size.most
    else:
        most, kept_most = math.ceil(size.most / old.least), 0
    if old.most == 0:
        least, kept_least = _cap(size.least + 1), size.least
    elif old.most <= new.least:
        least, kept_least = 0, size.least
    else:
        least, kept_least = math.ceil(size.least / old.most), 0
    made = Size(least, most).times(new).plus(Size(kept_least, kept_most))
    return factor(size.most, 2 * TRAVERSAL), made


def _split(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    if target is None:
        return None
    size = estimator.of(target)
    most = size.most
    if len(args) > 1 and args[1].node is not None and args[1].node.kind == "literal":
        most = args[1].node.value % 2**64
    return factor(size.most, 2 * TRAVERSAL), Size(0, most)


def _join(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    if target is None:
        return None
    count, element = estimator.of(target), estimator.element(target)
    size = count.times(estimator.of(element)) if element is not None else Size(0, 0)
    if args:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(estimator.of(args[0]).times(between))
    return factor(size.most, TRAVERSAL), size


def _find(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    if target is None or not args:
        return None
    size = estimator.of(target)
    return _regex(size, estimator.of(args[0])), Size(0, size.most)


def _regex(text: Size, pattern: Size) -> int:
    return _cap(factor(_cap(text.most + 1), TRAVERSAL) * factor(pattern.most, REGEX))


def _validate(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    return factor(factor(estimator.of(args[0]).most, TRAVERSAL), NAME_REGEX_SIZE * REGEX), None


def _contains_address(networks: bool) -> Rule:
    def rule(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
        cost = factor(32, TRAVERSAL) + (factor(16, TRAVERSAL) + 1 if networks else 0)
        if args[0].type.kind == "string":
            cost += factor(estimator.of(args[0]).most, TRAVERSAL)
        return _cap(cost), None

    return rule


def _selector(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    size = estimator.of(args[0])
    requirements = factor(size.most, 0.5 * 50)
    return _cap(LIST_BASE + factor(size.most, TRAVERSAL) + requirements), None


_SAME = {"kubernetes.Quantity": 1, "kubernetes.Semver": 1, "net.IP": 1, "net.CIDR": 1, "kubernetes.NamedFormat": 7}


def _equals(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    if args[0].type == args[1].type:
        name = args[0].type.name
        if name in _SAME:
            return _SAME[name], None
        if name == "kubernetes.URL":
            size = args[1].size
            return factor(max(1, size.most) if size is not None else 1, TRAVERSAL), None
    return None


#: Function -> its cost, as Kubernetes counts.
_BY_FUNCTION: dict[str, Rule] = {
    "check": _constant(350_000),
    **dict.fromkeys(
        ("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason",
         "error", "errored"), _constant(1),
    ),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _of_list),
    "url": _through("first", keeps=True),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _through("target", keeps=True)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _through("first")),
    "ip": _through("first"),
    "ip.isCanonical": _through("first", 2 * TRAVERSAL),
    "containsIP": _contains_address(False),
    "containsCIDR": _contains_address(True),
    "validate": _validate,
    "_==_": _equals,
}  # fmt: skip


def _sets(times: int) -> Rule:
    def rule(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
        return _cap(estimator.of(args[0]).most * estimator.of(args[1]).most * times + 1), None

    return rule


def _allocating(times: float, *, squared: bool = False) -> Rule:
    """A new list from the receiver."""

    def rule(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
        assert target is not None
        size = estimator.of(target)
        size = size.times(size) if squared else size
        return _cap(factor(size.most, times) + LIST_BASE + 1), size

    return rule


def _by_keys(rule: Rule) -> Rule:
    """What counts are the keys, which are the argument."""
    return lambda estimator, node, target, args: rule(estimator, node, args[0], ())


#: Type of what is compared when a list is sorted -> what that costs.
_COMPARED = {"int": 2, "uint": 2, "double": 2, "bool": 2, "duration": 2, "timestamp": 2, "string": 2.1, "bytes": 2.1}


def _number(part: Part, default: int) -> int:
    node = part.node
    if node is None or node.kind != "literal" or type(node.value) is not int:
        return default
    return max(node.value, 0)


def _slice(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    assert target is not None
    count = (_number(args[1], estimator.of(target).most) - _number(args[0], 0)) % 2**64
    return _cap(count + LIST_BASE + 1), fixed(count)


def _range(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    count = _number(args[0], HUGE)
    return _cap(count + LIST_BASE + 1), fixed(count)


def _flatten(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    return _allocating(float(_number(args[0], HUGE) if args else 1))(estimator, node, target, args)


#: Overload -> its cost, where cel-go's extensions have one of their own.
_BY_OVERLOAD: dict[str, Rule] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "lists_range": _range,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_reverse": _allocating(1),
    "list_distinct": _allocating(2, squared=True),
    **{f"list_{kind}_sort": _allocating(times, squared=True) for kind, times in _COMPARED.items()},
    **{
        f"list_{kind}_sortByAssociatedKeys": _by_keys(_allocating(times, squared=True))
        for kind, times in _COMPARED.items()
    },
    "cidr_ip": _constant(1),
}


# --- CEL's own -------------------------------------------------------------------------------------------------------


def _ends(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    return factor((args[0].size or UNKNOWN).most, TRAVERSAL), None


def _format(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    assert target is not None
    return factor((target.size or UNKNOWN).most, TRAVERSAL), None


def _converted(least: Callable[[int], int], most: Callable[[int], int]) -> Rule:
    def rule(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
        size = args[0].size or UNKNOWN
        return factor(size.most, TRAVERSAL), Size(least(size.least), _cap(most(size.most)))

    return rule


def _in_list(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    return (args[1].size or UNKNOWN).most, None


def _matches(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    assert target is not None
    return _regex(target.size or UNKNOWN, args[0].size or UNKNOWN), None


def _contains(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    assert target is not None
    text, part = (target.size or UNKNOWN).most, (args[0].size or UNKNOWN).most
    return _cap(factor(text, TRAVERSAL) * factor(part, TRAVERSAL)), None


def _added(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    size = (args[0].size or UNKNOWN).plus(args[1].size or UNKNOWN)
    first = estimator.entry(node.args[0])
    made = first.union(estimator.entry(node.args[1])) if first is not None else None
    if made is not None:
        estimator.entries[node] = made
    return (1 if node.type.kind == "list" else factor(size.most, TRAVERSAL)), size


def _compared(estimator: Estimator, node: Node, target: Part | None, args: Sequence[Part]) -> Estimate | None:
    smallest = min((args[0].size or UNKNOWN).most, (args[1].size or UNKNOWN).most)
    return factor(smallest, TRAVERSAL), None


_BY_STANDARD: dict[str, Rule] = {
    "string_format": _format,
    "string_to_bytes": _converted(lambda size: size, lambda size: size * 4),
    "bytes_to_string": _converted(lambda size: size // 4, lambda size: size),
    "strings_quote": _converted(lambda size: size + 2, lambda size: size * 2 + 2),
    "starts_with_string": _ends,
    "ends_with_string": _ends,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _added),
    **{
        f"{word}_{kind}": _compared
        for word in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
    "equals": _compared,
    "not_equals": _compared,
}


def estimate(node: Node, root: Declared) -> int:
    """The most that an expression costs whose `self` is declared by `root`."""
    return _cap(Estimator(root).cost(node))
