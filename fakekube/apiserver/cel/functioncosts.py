"""The estimated costs of function calls (`cel-go/checker/cost.go`, `apiserver/pkg/cel/library/cost.go`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from fakekube.apiserver.cel.sizes import (
    HUGE,
    LIST_BASE,
    NAME_REGEX_SIZE,
    REGEX,
    STRUCT_BASE,
    TRAVERSAL,
    UNKNOWN,
    CallEstimate,
    EntrySize,
    SizedNode,
    SizeEstimate,
    capped,
    factor,
    fixed,
)
from fakekube.apiserver.cel.tree import Node
from fakekube.apiserver.features import since


class Estimator(Protocol):
    """The sizes that the cost of a call depends on (`cost.Estimator`)."""

    entries: dict[Node, EntrySize]

    def of(self, part: SizedNode) -> SizeEstimate: ...

    def element(self, part: SizedNode) -> SizedNode | None: ...

    def entry(self, node: Node) -> EntrySize | None: ...


CostRule = Callable[[Estimator, Node, SizedNode | None, Sequence[SizedNode]], CallEstimate | None]


def _constant(cost: int) -> CostRule:
    return lambda estimator, node, target, args: (cost, None)


def _of_list(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    """One comparison for each element, and a traversal of elements that are texts."""
    if target is None:
        return None
    size, element = estimator.of(target), estimator.element(target)
    if element is None:
        return (size.most if node.name == "includes" else factor(size.most, TRAVERSAL)), None
    each = 1
    if element.type.kind in ("string", "bytes"):
        each += factor(estimator.of(element).most, TRAVERSAL)
    return capped(size.most * each), None


def _through(which: str, times: float = TRAVERSAL, *, keeps: bool = False) -> CostRule:
    """A traversal of the receiver or of the first argument; if `keeps`, the result has the same size."""

    def rule(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        part = target if which == "target" else (args[0] if args else None)
        if part is None:
            return None
        size = estimator.of(part)
        return factor(size.most, times), size if keeps else None

    return rule


def _replace(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = estimator.of(target), estimator.of(args[0]), estimator.of(args[1])
    if old.least == 0:
        most, kept_most = capped(size.most + 1), size.most
    elif new.most <= old.least:
        most, kept_most = 0, size.most
    else:
        most, kept_most = math.ceil(size.most / old.least), 0
    if old.most == 0:
        least, kept_least = capped(size.least + 1), size.least
    elif old.most <= new.least:
        least, kept_least = 0, size.least
    else:
        least, kept_least = math.ceil(size.least / old.most), 0
    made = SizeEstimate(least, most).times(new).plus(SizeEstimate(kept_least, kept_most))
    return factor(size.most, 2 * TRAVERSAL), made


def _split(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    if target is None:
        return None
    size = estimator.of(target)
    most = size.most
    if len(args) > 1 and args[1].node is not None and args[1].node.kind == "literal":
        most = args[1].node.value % 2**64
    return factor(size.most, 2 * TRAVERSAL), SizeEstimate(0, most)


def _join(estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]) -> CallEstimate | None:
    if target is None:
        return None
    count, element = estimator.of(target), estimator.element(target)
    size = count.times(estimator.of(element)) if element is not None else SizeEstimate(0, 0)
    if args:
        between = SizeEstimate(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(estimator.of(args[0]).times(between))
    return factor(size.most, TRAVERSAL), size


def _find(estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]) -> CallEstimate | None:
    if target is None or not args:
        return None
    size = estimator.of(target)
    return _regex(size, estimator.of(args[0])), SizeEstimate(0, size.most)


def _regex(text: SizeEstimate, pattern: SizeEstimate) -> int:
    return capped(factor(capped(text.most + 1), TRAVERSAL) * factor(pattern.most, REGEX))


def _validate(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    return factor(factor(estimator.of(args[0]).most, TRAVERSAL), NAME_REGEX_SIZE * REGEX), None


def _contains_address(networks: bool) -> CostRule:
    def rule(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        cost = factor(32, TRAVERSAL) + (factor(16, TRAVERSAL) + 1 if networks else 0)
        if args[0].type.kind == "string":
            cost += factor(estimator.of(args[0]).most, TRAVERSAL)
        return capped(cost), None

    return rule


def _selector(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    size = estimator.of(args[0])
    requirements = capped(factor(size.most, 0.5) * (LIST_BASE + STRUCT_BASE))
    return capped(LIST_BASE + factor(size.most, TRAVERSAL) + requirements), None


_SAME = {"kubernetes.Quantity": 1, "kubernetes.Semver": 1, "net.IP": 1, "net.CIDR": 1, "kubernetes.NamedFormat": 7}


def _equals(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    if args[0].type == args[1].type:
        name = args[0].type.name
        if name in _SAME:
            return _SAME[name], None
        if name == "kubernetes.URL":
            size = args[1].size
            return factor(max(1, size.most) if size is not None else 1, TRAVERSAL), None
    return None


def _since(minor: int, rule: CostRule, before: CostRule | None = None) -> CostRule:
    """A rule that came with a version; `before` it there was another, or a call cost as much as any."""

    def dated(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        if since(minor):
            return rule(estimator, node, target, args)
        return None if before is None else before(estimator, node, target, args)

    return dated


#: Function -> its cost in the libraries of Kubernetes.
BY_FUNCTION: dict[str, CostRule] = {
    "check": _constant(350_000),
    **dict.fromkeys(
        ("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason",
         "error", "errored"), _constant(1),
    ),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _of_list),
    "url": _since(32, _through("first", keeps=True), _through("first")),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _through("target", keeps=True)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "ip"), _through("first")
    ),
    "ip.isCanonical": _through("first", 2 * TRAVERSAL),
    "containsIP": _contains_address(False),
    "containsCIDR": _contains_address(True),
    "validate": _validate,
    "_==_": _since(32, _equals),
}  # fmt: skip


def _sets(times: int) -> CostRule:
    def rule(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        return capped(estimator.of(args[0]).most * estimator.of(args[1]).most * times + 1), None

    return rule


def _allocating(times: float, *, squared: bool = False) -> CostRule:
    """The allocation of a new list of the size of the receiver."""

    def rule(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        assert target is not None
        size = estimator.of(target)
        size = size.times(size) if squared else size
        return capped(factor(size.most, times) + LIST_BASE + 1), size

    return rule


def _by_keys(rule: CostRule) -> CostRule:
    """The cost depends on the keys, which are the argument."""
    return lambda estimator, node, target, args: rule(estimator, node, args[0], ())


#: Type of the items of a sorted list -> cost factor.
_COMPARED = {"int": 2, "uint": 2, "double": 2, "bool": 2, "duration": 2, "timestamp": 2, "string": 2.1, "bytes": 2.1}


def _number(part: SizedNode, default: int) -> int:
    node = part.node
    if node is None or node.kind != "literal" or type(node.value) is not int:
        return default
    return max(node.value, 0)


def _slice(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    assert target is not None
    count = (_number(args[1], estimator.of(target).most) - _number(args[0], 0)) % 2**64
    return capped(count + LIST_BASE + 1), fixed(count)


def _range(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    count = _number(args[0], HUGE)
    return capped(count + LIST_BASE + 1), fixed(count)


def _flatten(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    return _allocating(float(_number(args[0], HUGE) if args else 1))(estimator, node, target, args)


#: Overload -> its cost in the extensions of cel-go.
BY_OVERLOAD: dict[str, CostRule] = {
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


# --- the standard library --------------------------------------------------------------------------------------------


def _ends(estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]) -> CallEstimate | None:
    return factor((args[0].size or UNKNOWN).most, TRAVERSAL), None


def _format(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    assert target is not None
    return factor((target.size or UNKNOWN).most, TRAVERSAL), None


def _converted(least: Callable[[int], int], most: Callable[[int], int]) -> CostRule:
    def rule(
        estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
    ) -> CallEstimate | None:
        size = args[0].size or UNKNOWN
        return factor(size.most, TRAVERSAL), SizeEstimate(least(size.least), capped(most(size.most)))

    return rule


def _in_list(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    return (args[1].size or UNKNOWN).most, None


def _matches(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    assert target is not None
    return _regex(target.size or UNKNOWN, args[0].size or UNKNOWN), None


def _contains(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    assert target is not None
    text, part = (target.size or UNKNOWN).most, (args[0].size or UNKNOWN).most
    return capped(factor(text, TRAVERSAL) * factor(part, TRAVERSAL)), None


def _added(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    size = (args[0].size or UNKNOWN).plus(args[1].size or UNKNOWN)
    first = estimator.entry(node.args[0])
    made = first.union(estimator.entry(node.args[1])) if first is not None else None
    if made is not None:
        estimator.entries[node] = made
    return (1 if node.type.kind == "list" else factor(size.most, TRAVERSAL)), size


def _compared(
    estimator: Estimator, node: Node, target: SizedNode | None, args: Sequence[SizedNode]
) -> CallEstimate | None:
    smallest = min((args[0].size or UNKNOWN).most, (args[1].size or UNKNOWN).most)
    return factor(smallest, TRAVERSAL), None


STANDARD: dict[str, CostRule] = {
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
