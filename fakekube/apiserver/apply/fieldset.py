"""Sets of field paths, as trees in the format of FieldsV1 (structured-merge-diff `fieldpath.Set`).

A tree maps path elements (`f:name`, `k:{"name":"app"}`, `v:"x"`, `i:0`) to subtrees. An element is a member of the set
if its subtree is empty or contains `.`; an element without `.` only leads to members. The root is never a member. Trees
are immutable.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from fakekube.apiserver.apply.pathelement import comparable

Tree = dict[str, Any]
Path = tuple[str, ...]

SELF = "."
LEAF: Tree = {}
EMPTY: Tree = {}


def is_member(node: Tree) -> bool:
    """Whether the element with this subtree is a member."""
    return not node or SELF in node


def member(below: Tree) -> Tree:
    """The subtree of a member with these descendants."""
    return {SELF: LEAF, **below} if below and SELF not in below else below


def _node(is_in: bool, below: Tree) -> Tree | None:
    if is_in:
        return member(below)
    return below or None


def _below(node: Tree) -> Tree:
    return {pe: child for pe, child in node.items() if pe != SELF} if SELF in node else node


def union(one: Tree, other: Tree) -> Tree:
    """The members of either set."""
    if not one or one is other:
        return other
    if not other:
        return one
    out = dict(one)
    for pe, node in other.items():
        have = out.get(pe)
        out[pe] = node if have is None else _union_nodes(have, node)
    return out


def _union_nodes(one: Tree, other: Tree) -> Tree:
    if not one:
        return member(other)
    if not other:
        return member(one)
    return union(one, other)


def difference(one: Tree, other: Tree) -> Tree:
    """The members of `one` that are not in `other`."""
    if not one or not other or other.keys().isdisjoint(one):
        return one
    out: Tree = {}
    for pe, node in one.items():
        minus = other.get(pe)
        if minus is None:
            out[pe] = node
            continue
        # `.` of `minus` takes nothing away from descendants, which have none
        rest = _node(is_member(node) and not is_member(minus), difference(_below(node), minus))
        if rest is not None:
            out[pe] = rest
    return out


def covers(one: Tree, other: Tree) -> bool:
    """Whether all members of `other` are in `one`: their `difference` is empty."""
    for pe, node in other.items():
        if pe == SELF:
            continue
        have = one.get(pe)
        if have == node:
            continue
        if have is None or (is_member(node) and not is_member(have)) or (node and not covers(have, node)):
            return False
    return True


def are_disjoint(one: Tree, other: Tree) -> bool:
    """Whether no member is in both sets."""
    return not intersection(one, other)


def without(one: Tree, other: Tree) -> Tree:
    """The members of `one` that are neither in `other` nor below a member of it (`RecursiveDifference`)."""
    if not one or not other or other.keys().isdisjoint(one):
        return one
    out: Tree = {}
    for pe, node in one.items():
        minus = other.get(pe)
        if minus is None:
            out[pe] = node
        elif not is_member(minus):
            rest = _node(is_member(node), without(_below(node), minus))
            if rest is not None:
                out[pe] = rest
    return out


def intersection(one: Tree, other: Tree) -> Tree:
    """The members of both sets."""
    if other.keys().isdisjoint(one):
        return EMPTY
    out: Tree = {}
    for pe, node in one.items():
        also = other.get(pe)
        if also is None or pe == SELF:
            continue
        both = _node(is_member(node) and is_member(also), intersection(_below(node), _below(also)))
        if both is not None:
            out[pe] = both
    return out


def of(*paths: Path) -> Tree:
    """The set of these paths."""
    out: Tree = {}
    for path in paths:
        tree: Tree = LEAF
        for pe in reversed(path):
            tree = {pe: tree}
        out = union(out, tree)
    return out


def paths(tree: Tree, prefix: Path = ()) -> Iterator[Path]:
    """All members in order: on each level first the members, then their descendants."""
    ordered = sorted((pe for pe in tree if pe != SELF), key=order)
    for pe in ordered:
        if is_member(tree[pe]):
            yield (*prefix, pe)
    for pe in ordered:
        yield from paths(tree[pe], (*prefix, pe))


def in_order(tree: Tree) -> Tree:
    """The tree with its elements in the order of the real server, `.` first."""
    ordered = sorted(tree)
    if ordered and ordered[-1] > "g" and len(ordered) > 1 + (ordered[0] == SELF):  # not only field names
        first = 1 if ordered[0] == SELF else 0
        if _have_one_text(ordered[first:]):
            ordered[first:] = sorted(ordered[first:], key=_without_end)
        else:
            ordered.sort(key=order)
    if not any(tree.values()):  # most sets have leaves only
        return tree if list(tree) == ordered else {pe: tree[pe] for pe in ordered}
    out = {}
    last, made = LEAF, LEAF
    for pe in ordered:
        node = tree[pe]
        if node is not last:  # items often share a set
            last, made = node, in_order(node) if node else node
        out[pe] = made
    return out


def _have_one_text(elements: list[str]) -> bool:
    """Whether all are items with the same key, whose values are texts without escapes."""
    prefix = elements[0].partition(":")[2].partition(":")[0]
    if elements[0][:2] != "k:" or not prefix.endswith('"'):
        return False
    prefix = f'k:{prefix}:"'
    text = "".join(elements)
    return text.count('"') == 4 * len(elements) and "\\" not in text and all(pe.startswith(prefix) for pe in elements)


def _without_end(pe: str) -> str:
    """An item with one key without the end of its text, which would be compared with the rest of longer ones."""
    return pe[:-2]


#: The most fields whose sets are kept.
FEW = 8


@lru_cache(maxsize=1024)
def leaves(names: tuple[str, ...]) -> Tree:
    """The set of a member and these fields of it; one tree for equal names."""
    return {SELF: LEAF, **{"f:" + name: LEAF for name in sorted(names)}}


_RANKS = {".": 0, "f": 1, "k": 2, "v": 3, "i": 4}


def order(pe: str) -> tuple[Any, ...]:
    """`PathElement.Compare`: field names, then keys, values and positions."""
    kind = pe[0]
    if kind in "kv":
        return (_RANKS[kind], comparable(pe))
    if kind == "i":
        return (4, int(pe[2:]))
    return (_RANKS[kind], pe)
