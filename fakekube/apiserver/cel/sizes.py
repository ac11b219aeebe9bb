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

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How many characters, items or entries a value has."""

    least: int
    most: int

    def plus(self, other: Size) -> Size:
        return Size(capped(self.least + other.least), capped(self.most + other.most))

    def times(self, other: Size) -> Size:
        return Size(capped(self.least * other.least), capped(self.most * other.most))

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


def capped(value: int) -> int:
    return min(value, HUGE)


def factor(value: int, by: float) -> int:
    """Rounded up."""
    return capped(math.ceil(float(value) * by)) if value < HUGE or by < 1 else HUGE


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
