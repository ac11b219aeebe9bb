"""Estimates the worst cost of an expression from the sizes that its schema declares (`cel-go/checker/cost.go`).

A unit is about 50 ns of the real server. Costs are upper bounds; sizes have a lower bound as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakekube.apiserver.cel.functioncosts import BY_FUNCTION, BY_OVERLOAD, STANDARD
from fakekube.apiserver.cel.sizes import (
    HUGE,
    LIST_BASE,
    MAP_BASE,
    UNKNOWN,
    CallEstimate,
    EntrySize,
    LocalVariable,
    SizedNode,
    SizeEstimate,
    VariablePath,
    capped,
    fixed,
)
from fakekube.apiserver.cel.tree import ACCUMULATOR, Loop, Node
from fakekube.apiserver.cel.types import DeclType, Type, is_optional
from fakekube.apiserver.features import since


class Estimator:
    """Estimates the cost of a checked tree.

    `root` is the declared type of the variable; `entry` is the type of the values of maps whose keys are selected like
    fields (None: such values have no declared size).
    """

    root: DeclType
    selected_entry: DeclType | None

    def __init__(self, root: DeclType, entry: DeclType | None = None) -> None:
        self.root, self.selected_entry = root, entry
        self.paths: dict[Node, VariablePath] = {}
        self.sizes: dict[Node, SizeEstimate] = {}
        self.entries: dict[Node, EntrySize] = {}
        self.locals: dict[str, list[LocalVariable]] = {}

    # --- sizes -------------------------------------------------------------------------------------------------------

    def declared_size(self, path: VariablePath) -> SizeEstimate | None:
        """The declared size of the value at a path."""
        if not path:
            return None
        current: DeclType | None = self.root
        for name in path[1:]:
            assert current is not None
            if name in ("@items", "@values"):
                current = current.item
            elif name == "@keys":
                current = current.entry_key
            elif name not in current.fields and current.item is self.selected_entry is not None:
                current = current.item
            else:
                current = current.fields.get(name)
            if current is None:
                return None
        assert current is not None
        return SizeEstimate(0, current.largest)

    def local(self, name: str) -> LocalVariable | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    def path(self, node: Node) -> VariablePath:
        if node.kind == "ident":
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def size(self, node: Node) -> SizeEstimate | None:
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

    def size_or_unknown(self, node: Node) -> SizeEstimate:
        return self.size(node) or UNKNOWN

    def entry(self, node: Node) -> EntrySize | None:
        found = self.entries.get(node)
        if found is None and node.kind == "ident":
            local = self.local(node.name)
            return local.entry if local is not None else None
        return found

    def part(self, node: Node) -> SizedNode:
        path = self.path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        return SizedNode(path, node.type, node, self.size(node))

    def of(self, part: SizedNode) -> SizeEstimate:
        """The size of a receiver or an argument, if known."""
        return part.size or self.declared_size(part.path) or UNKNOWN

    def element(self, part: SizedNode) -> SizedNode | None:
        """The elements of a list."""
        if not part.type.params:
            return None
        path = (*part.path, "@items") if part.path else ()
        return SizedNode(path, part.type.params[0], None, None)

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
        cost, item = LIST_BASE, SizeEstimate(HUGE, 0) if node.args else SizeEstimate(0, 0)
        for one in node.args:
            cost = capped(cost + self.cost(one))
            item = item.union(self.size_or_unknown(one))
        self.entries[node] = EntrySize("list", fixed(1), item)
        return cost

    def _map(self, node: Node) -> int:
        empty = SizeEstimate(HUGE, 0) if node.args else SizeEstimate(0, 0)
        cost, sizes = MAP_BASE, [empty, empty]
        for i, one in enumerate(node.args):
            cost = capped(cost + self.cost(one))
            sizes[i % 2] = sizes[i % 2].union(self.size_or_unknown(one))
        self.entries[node] = EntrySize("map", sizes[0], sizes[1])
        return cost

    def _comprehension(self, node: Node) -> int:
        loop = node.loop
        assert loop is not None
        if loop.macro == "bind":
            return self._bind(node, loop)
        cost = self.cost(loop.over) + self.cost(loop.start)
        self._push(
            loop.accumulator, LocalVariable(self.path(loop.start), self.size(loop.start), self.entry(loop.start))
        )
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
        return capped(cost + capped(count.most * each))

    def _push(self, name: str, local: LocalVariable) -> None:
        self.locals.setdefault(name, []).append(local)

    def _loop_locals(self, loop: Loop) -> list[LocalVariable]:
        entry, path = self.entry(loop.over), self.path(loop.over)
        kind = entry.kind if entry is not None else loop.over.type.kind
        of_list = kind == "list"
        key = LocalVariable((*path, "@indices" if of_list else "@keys"), entry.key if entry else None, None)
        value = LocalVariable((*path, "@items" if of_list else "@values"), entry.value if entry else None, None)
        if len(loop.names) == 2:
            return [key, value]
        return [value if of_list else key]

    def _bind(self, node: Node, loop: Loop) -> int:
        cost = self.cost(loop.over) + self.cost(loop.start)
        self._push(
            loop.accumulator, LocalVariable(self.path(loop.start), self.size(loop.start), self.entry(loop.start))
        )
        cost += self.cost(loop.result)
        self._copy(node, loop.result)
        self.locals[loop.accumulator].pop()
        return capped(cost)

    def _copy(self, node: Node, source: Node) -> None:
        self._set(node, self.size(source))
        entry = self.entry(source)
        if entry is not None:
            self.entries[node] = entry

    def _set(self, node: Node, size: SizeEstimate | None) -> None:
        if size is not None:
            self.sizes[node] = size

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call(self, node: Node) -> int:
        if node.name == "dyn" and since(33):
            cost = 1 + self.cost(node.args[0])
            self._copy(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        parts = [self.part(arg) for arg in node.args]
        if not node.overloads:
            return 0
        own = 0
        target: SizedNode | None = None
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
        return capped(own + most)

    def _indexed(self, node: Node, id: str) -> SizeEstimate | None:
        if id not in ("index_list", "index_map"):
            return None
        self.paths[node] = (*self.path(node.args[0]), "@items" if id == "index_list" else "@values")
        entry = self.entry(node.args[0])
        return entry.value if entry is not None else None

    def _overload(
        self, node: Node, id: str, target: SizedNode | None, args: Sequence[SizedNode], costs: Sequence[int]
    ) -> CallEstimate:
        if id in ("logical_or", "logical_and"):
            return sum(costs), None
        if id == "conditional":
            size = self.size_or_unknown(node.args[1]).union(self.size_or_unknown(node.args[2]))
            first = self.entry(node.args[1])
            made = first.union(self.entry(node.args[2])) if first is not None else None
            if made is not None:
                self.entries[node] = made
            return costs[0] + max(costs[1], costs[2]), size
        estimate = BY_OVERLOAD.get(id) or BY_FUNCTION.get(node.name)
        found = estimate(self, node, target, args) if estimate is not None else None
        if found is None:
            found = STANDARD[id](self, node, target, args) if id in STANDARD else None
        cost, size_made = found if found is not None else (1, None)
        return capped(cost + sum(costs)), size_made


def _literal_size(node: Node) -> SizeEstimate | None:
    if node.kind == "literal":
        return fixed(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if node.kind == "list":
        return fixed(len(node.args))
    return fixed(len(node.args) // 2) if node.kind == "map" else None


_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def _is_scalar(one: Type) -> bool:
    return one.kind in _SCALARS or (is_optional(one) and _is_scalar(one.params[0]))


def estimate(node: Node, root: DeclType, entry: DeclType | None = None) -> int:
    """The estimated worst cost of an expression; see `Estimator`."""
    return capped(Estimator(root, entry).cost(node))
