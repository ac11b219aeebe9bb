"""Estimates of the sizes of values, from which costs are estimated (`cel-go/checker/cost.go`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fakekube.apiserver.cel.tree import Node
from fakekube.apiserver.cel.types import Type

#: What cannot be counted any more.
HUGE = 2**64 - 1

#: Going once through a text, by character; a regular expression over a character, by its own characters.
TRAVERSAL, REGEX = 0.1, 0.25

LIST_BASE, MAP_BASE = 10, 30
NAME_REGEX_SIZE = 128

VariablePath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """How many characters, items or entries a value has."""

    least: int
    most: int

    def plus(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(capped(self.least + other.least), capped(self.most + other.most))

    def times(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(capped(self.least * other.least), capped(self.most * other.most))

    def union(self, other: SizeEstimate) -> SizeEstimate:
        return SizeEstimate(min(self.least, other.least), max(self.most, other.most))


@dataclass(frozen=True, slots=True)
class EntrySize:
    """How large the keys and the values of a list or map are."""

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
    """Rounded up."""
    return capped(math.ceil(float(value) * by)) if value < HUGE or by < 1 else HUGE


@dataclass(frozen=True, slots=True)
class SizedNode:
    """A receiver or an argument of a call: its path from a variable, its type and size."""

    path: VariablePath
    type: Type
    node: Node | None
    size: SizeEstimate | None


@dataclass(frozen=True, slots=True)
class LocalVariable:
    path: VariablePath
    size: SizeEstimate | None
    entry: EntrySize | None


CallEstimate = tuple[int, SizeEstimate | None]
"""A call's own cost, and the size of what it gives."""
