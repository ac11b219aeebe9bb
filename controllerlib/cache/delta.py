"""A change on its way from the reflector to the store (client-go: tools/cache/delta_fifo.go, the_real_fifo.go)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

#: Replaced: listed anew · Sync: told again by a resync · ReplacedAll, SyncAll, Bookmark: only in RealFIFO
DeltaType = Literal["Added", "Updated", "Deleted", "Replaced", "Sync", "ReplacedAll", "SyncAll", "Bookmark"]


class Delta(NamedTuple):
    """What happened, and the object after it (a tuple, not a dataclass: one is made for every watch event)."""

    type: DeltaType
    object: Any


@dataclass(frozen=True, slots=True)
class ReplacedAll:
    """A whole list at once."""

    resource_version: str
    objects: Sequence[Any]


@dataclass(frozen=True, slots=True)
class SyncAll:
    """Tell everything that is stored once more."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to this resourceVersion was seen."""

    resource_version: str


class Batch(NamedTuple):
    """What a consumer takes in one step, and whether it is part of the initial list."""

    deltas: Sequence[Delta]
    initial: bool


class QueueClosed(Exception):
    """The queue is closed and empty (client-go: ErrFIFOClosed)."""

    def __init__(self) -> None:
        super().__init__("DeltaFIFO: manipulating with closed queue")
