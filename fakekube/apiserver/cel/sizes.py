"""Estimates of the sizes of values, from which costs are estimated (`cel-go/checker/cost.go`)."""

from __future__ import annotations

import math

from fakekube.apiserver.cel.tree import Node
from fakekube.apiserver.cel.types import Type
from fakekube.struct import Struct

#: The limit of costs and sizes.
HUGE = 2**64 - 1

#: Cost factors: traversing a text per character, and matching a character per character of a regular expression.
TRAVERSAL, REGEX = 0.1, 0.25

LIST_BASE, MAP_BASE, STRUCT_BASE = 10, 30, 40
NAME_REGEX_SIZE = 128

VariablePath = tuple[str, ...]


class SizeEstimate(Struct, frozen=True):
    """The estimated number of characters, items or entries of a value."""

    least: int
    most: int

    def plus(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(capped(self.least + other.least), capped(self.most + other.most))

    def times(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(capped(self.least * other.least), capped(self.most * other.most))

    def union(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(min(self.least, other.least), max(self.most, other.most))


class EntrySize(Struct, frozen=True):
    """The estimated sizes of the keys and values of a list or map."""

    kind: str
    key: SizeEstimate
    value: SizeEstimate

    def union(self, other: EntrySize | None) -> EntrySize | None:
        if other is None:
            return None
        return EntrySize(self.kind, self.key.union(other.key), self.value.union(other.value))


UNKNOWN = SizeEstimate(0, HUGE)


def fixed(size: int) -> SizeEstimate:
    return SizeEstimate(size, size)


def capped(value: int) -> int:
    return min(value, HUGE)


def factor(value: int, by: float) -> int:
    """Multiplies and rounds up."""
    return capped(math.ceil(float(value) * by)) if value < HUGE or by < 1 else HUGE


class SizedNode(Struct, frozen=True):
    """A receiver or an argument of a call, with its path from a variable, its type and its size."""

    path: VariablePath
    type: Type
    node: Node | None
    size: SizeEstimate | None


class LocalVariable(Struct, frozen=True):
    path: VariablePath
    size: SizeEstimate | None
    entry: EntrySize | None


CallEstimate = tuple[int, SizeEstimate | None]
"""The cost of a call, and the size of its result."""
