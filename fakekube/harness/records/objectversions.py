"""The stored changes of a cluster: the version of an object after each, compressed, within a limit of bytes."""

from __future__ import annotations

import marshal
import sys
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from fakekube.apiserver.storage.store import Change, Entry

#: The collection of leases, which are renewed every few seconds, and that of nodes, whose kubelets send heartbeats.
LEASES, NODES = "leases.coordination.k8s.io", "nodes"

#: Their resources.
RENEWED = ("leases", "nodes")

#: Metadata that every write changes.
_OF_EACH_WRITE = frozenset({"resourceVersion", "managedFields"})

Object = dict[str, Any]

#: The most bytes of compressed changes.
LIMIT = 32 * 1024 * 1024

#: The most renewals of leases, and heartbeats of nodes.
RENEWALS = 2_000

#: The number of changes that are kept as they are, their bytes, and the number that are compressed together.
RECENT, RECENT_BYTES, TOGETHER = 1_024, 4 * 1024 * 1024, 64

#: The most changes that are kept as they are because the store keeps them, too, which it does with 20,000.
MOST = 20_000

#: After how many times that changes were compressed the bytes of the others are counted anew.
RECOUNTED = RECENT // TOGETHER


class Version(NamedTuple):
    """A stored change. `at`: microseconds since the epoch. `request`: the serial of its request, 0 if it has none.

    `json`: the stored object after the change, without apiVersion and kind, in the API version `stored_as` if it is a
    custom resource; empty if the change deleted it. `created`: the object did not exist before.
    """

    serial: int
    at: int
    request: int
    revision: int
    collection: str
    path: str
    created: bool
    json: bytes
    stored_as: str

    def entry(self) -> Entry | None:
        """The stored object, as the store has it (None: deleted)."""
        if not self.json:
            return None
        return Entry(self.revision, orjson.loads(self.json), self.stored_as)


Fresh = tuple[int, int, int, Change, bool]
"""A change that has not been encoded: its serial, `at` and `request` as in a Version, the change, `is_renewal` of it.

A plain tuple, because one is made for every change.
"""


def _row(fresh: Fresh) -> tuple[Any, ...]:
    """The fields of a Version."""
    serial, at, request, change, _ = fresh
    json, stored_as = (change.after.json, change.after.version) if change.after is not None else (b"", "")
    return serial, at, request, change.revision, change.collection, change.path, change.before is None, json, stored_as


def _size(fresh: Fresh) -> int:
    after = fresh[3].after
    return after.encoded_size if after is not None else 0


#: The place of a Version's collection among its fields.
_COLLECTION = Version._fields.index("collection")


class _Block(NamedTuple):
    """Changes that are compressed together, and the collections of their objects."""

    collections: frozenset[str]
    size: int
    data: bytes


class Versions:
    """The changes, oldest first. Beyond LIMIT bytes the oldest are dropped; of renewals, all but RENEWALS.

    `compacted`: the store keeps the changes after this revision, so that it would save nothing to compress them.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.compacted: int = sys.maxsize
        self._limit, self._size = limit, 0
        self._recent: list[Fresh] = []
        #: the bytes of so many of the recent changes
        self._recent_bytes, self._counted = 0, 0
        self._recent_renewals = 0
        #: how many of the oldest changes the store does not keep, whatever their revision
        self._lost = 0
        #: how often the oldest of the recent changes were compressed
        self._aged = 0
        self._blocks: deque[_Block] = deque()
        self._renewals: deque[Version] = deque()
        self._dropped: Counter[str] = Counter()
        self._dropped_renewals: Counter[tuple[str, str]] = Counter()

    def extend(self, changes: Sequence[Fresh]) -> None:
        """Add changes: many at once take less time than one by one."""
        self._recent += changes
        self._recent_renewals += sum(one[4] for one in changes)
        while self._are_many():
            self._age()

    def lose(self) -> None:
        """The store has returned to a saved state, so that it keeps none of the changes until now."""
        self._lost = len(self._recent)

    def _are_many(self) -> bool:
        """Whether the oldest of the recent changes take memory that they would not take compressed."""
        recent = self._recent
        if len(recent) < RECENT + TOGETHER and self._count() <= RECENT_BYTES:
            return False
        if self._lost or self._recent_renewals >= RECENT or len(recent) >= MOST:  # the store keeps few renewals
            return True
        return recent[min(TOGETHER, len(recent)) - 1][3].revision <= self.compacted

    def _count(self) -> int:
        """The bytes of the recent changes. What is not encoded yet has none until all are counted anew."""
        self._recent_bytes += sum(map(_size, self._recent[self._counted :]))
        self._counted = len(self._recent)
        return self._recent_bytes

    def _age(self) -> None:
        """Encode the oldest of the recent changes: renewals each, all others together."""
        old = self._recent[:TOGETHER]
        del self._recent[:TOGETHER]
        self._lost = max(0, self._lost - len(old))
        self._aged += 1
        if self._counted >= len(old) and self._aged % RECOUNTED:
            self._counted -= len(old)
            self._recent_bytes = max(0, self._recent_bytes - sum(map(_size, old)))
        else:  # what was encoded after it was counted is counted, too
            self._counted = self._recent_bytes = 0
        rows = []
        for fresh in old:
            is_of_renewal = fresh[4]
            if is_of_renewal:
                self._recent_renewals -= 1
                self._renewals.append(Version._make(_row(fresh)))
            else:
                rows.append(_row(fresh))
        while len(self._renewals) > RENEWALS:
            oldest = self._renewals.popleft()
            self._dropped_renewals[oldest.collection, oldest.path] += 1
        if rows:
            self._compress(rows)

    def _compress(self, rows: list[Any]) -> None:
        data = zlib.compress(marshal.dumps(rows), 1)
        self._blocks.append(_Block(frozenset(row[_COLLECTION] for row in rows), len(rows), data))
        self._size += len(data)
        while self._size > self._limit and len(self._blocks) > 1:
            oldest = self._blocks.popleft()
            self._size -= len(oldest.data)
            for collection in oldest.collections:
                self._dropped[collection] += oldest.size

    def dropped(self, collection: str, path: str) -> int:
        """How many changes were dropped that may have been of this object."""
        return self._dropped[collection] + self._dropped_renewals[collection, path]

    def read(self, collection: str = "") -> Iterator[Version]:
        """The changes of a collection, or all, in the order in which they were stored."""
        renewals = iter([one for one in self._renewals if collection in ("", one.collection)])
        renewal = next(renewals, None)
        for version in self._others(collection):
            while renewal is not None and renewal.serial < version.serial:
                yield renewal
                renewal = next(renewals, None)
            yield version
        if renewal is not None:
            yield renewal
            yield from renewals

    def _others(self, collection: str) -> Iterator[Version]:
        for block in self._blocks:
            if not collection or collection in block.collections:
                for row in marshal.loads(zlib.decompress(block.data)):
                    version = Version._make(row)
                    if not collection or version.collection == collection:
                        yield version
        for fresh in self._recent:
            if not collection or fresh[3].collection == collection:
                yield Version._make(_row(fresh))


def is_renewal(change: Change) -> bool:
    """Whether a change renews a lease, whose holder is the one before, or the heartbeat of a node."""
    if change.collection != LEASES and change.collection != NODES:
        return False
    if change.before is None or change.after is None:
        return False
    before, after = change.before.object, change.after.object
    if change.collection == LEASES:
        return _without_renewal(before) == _without_renewal(after)
    return before.get("spec") == after.get("spec") and _without_heartbeats(before) == _without_heartbeats(after)


def _without_renewal(lease: Object) -> Object:
    return {**(lease.get("spec") or {}), "renewTime": None}


def _without_heartbeats(node: Object) -> Object:
    """The status and the metadata of a node, but for the time and the version of the last heartbeat."""
    meta, status = node["metadata"], node.get("status") or {}
    conditions = [{**one, "lastHeartbeatTime": None} for one in status.get("conditions") or ()]
    return {
        **{name: value for name, value in meta.items() if name not in _OF_EACH_WRITE},
        "status": {**status, "conditions": conditions},
    }
