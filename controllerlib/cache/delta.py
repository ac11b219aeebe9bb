"""Deltas: changes between the reflector and the store (client-go: tools/cache/delta_fifo.go, the_real_fifo.go)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

#: Replaced: from a list · Sync: from a resync · ReplacedAll, SyncAll, Bookmark: in RealFIFO only
DeltaType = Literal["Added", "Updated", "Deleted", "Replaced", "Sync", "ReplacedAll", "SyncAll", "Bookmark"]


class Delta(NamedTuple):
    """A change and the object after it. A named tuple because one is created for every watch event."""

    type: DeltaType
    object: Any


@dataclass(frozen=True, slots=True)
class ReplacedAll:
    """A complete list."""

    resource_version: str
    objects: Sequence[Any]


@dataclass(frozen=True, slots=True)
class SyncAll:
    """A resync: deliver every stored object again."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Every change up to this resourceVersion was received."""

    resource_version: str


class Batch(NamedTuple):
    """The deltas that a consumer processes in one step, and whether they belong to the initial list."""

    deltas: Sequence[Delta]
    initial: bool


class QueueClosed(Exception):
    """The queue is closed and empty (client-go: ErrFIFOClosed)."""

    def __init__(self) -> None:
        super().__init__("DeltaFIFO: manipulating with closed queue")
