"""What of the entries of two timelines is compared: the actor, the object and the event of each."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

from fakekube.harness.records.alignment import Line, align

Entry = Mapping[str, Any]
"""An entry of a timeline's document."""

Keyed = tuple[int, Hashable]
"""A stored change: its revision, and what of it is compared."""

#: The fields that the server sets with each write, and values that are times: they are not compared.
_SERVER_FIELDS = re.compile(r"metadata\.(resourceVersion|uid|managedFields|generation|creationTimestamp)\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")

#: The prefix of a lane that names the operator and its incarnation, and what of an entry's text varies.
_OPERATOR, _VARIES = re.compile(r".*/|@\d+$"), re.compile(r" renewed( \d+x until .*)?$")


class Side:
    """The entries of one timeline. `changes`: those that are compared, with their keys; None: all."""

    def __init__(self, entries: Sequence[Entry], changes: Sequence[Keyed] | None) -> None:
        self.entries, self._generated = entries, _generated(entries)
        self.changes: Sequence[Keyed] = self._all() if changes is None else changes
        self._compared = {revision for revision, _ in self.changes}
        self.places: Mapping[int, int] = {
            one["revision"]: at for at, entry in enumerate(entries) for one in entry["changes"]
        }

    def compares(self, at: int | None) -> bool:
        """Whether an entry has stored a change that is compared."""
        return at is not None and any(one["revision"] in self._compared for one in self.entries[at]["changes"])

    def keys(self, start: int, end: int) -> Sequence[Hashable]:
        """What of some entries is compared. One with a change that is compared is equal to no other entry."""
        return [(id(self), at) if self.compares(at) else self._key(self.entries[at]) for at in range(start, end)]

    def subject(self, at: int) -> Hashable:
        """The actor and the object of an entry."""
        entry = self.entries[at]
        return actor_of(entry["actor"]), entry["kind"], self._named(entry["object"] or entry["what"])

    def _key(self, entry: Entry) -> Hashable:
        actor = actor_of(entry["actor"])
        if entry["changes"]:
            return actor, tuple(self._signature(one) for one in entry["changes"])
        if entry["kind"] == "reconcile":
            return actor, "reconcile", self._named(dict(entry["facts"]).get("key", ""))
        return actor, entry["kind"], self._named(_VARIES.sub("", entry["what"]))

    def _all(self) -> Sequence[Keyed]:
        """The stored changes of all entries in the order of their revisions."""
        found = [
            (one["revision"], (actor_of(entry["actor"]), self._signature(one)))
            for entry in self.entries
            for one in entry["changes"]
        ]
        return sorted(found, key=lambda keyed: keyed[0])

    def _signature(self, change: Mapping[str, Any]) -> Hashable:
        """A change by its object and event: the verb, and the paths of the fields that changed."""
        fields = [field[0] for field in change["fields"] if not _SERVER_FIELDS.match(field[0])]
        return change["verb"], self._named(change["object"]), frozenset(fields)

    def _named(self, text: str) -> str:
        """A text with `*` in place of the random part of generated names."""
        if not self._generated:
            return text
        return re.sub(r"[\w.-]+", lambda word: self._generated.get(word[0], word[0]), text)


def actor_of(lane: str) -> str:
    """The actor of a lane without its operator and incarnation: `db@2/backup` is `backup`."""
    return _OPERATOR.sub("", lane)


def _generated(entries: Sequence[Entry]) -> Mapping[str, str]:
    found = {}
    for change in (one for entry in entries for one in entry["changes"] if one.get("stored")):
        meta = change["stored"].get("metadata") or {}
        if (prefix := meta.get("generateName")) and meta.get("name", "").startswith(prefix):
            found[meta["name"]] = f"{prefix}*"
    return found


def aligned(left: Side, right: Side) -> Iterator[Line]:
    """The lines of the entries: those of changes that are the same, and between them the lines of all others."""
    start, other = 0, 0
    for end, other_end in _pinned(left, right):
        yield from _between(left, right, (start, end), (other, other_end))
        yield Line(end, other_end, True)
        start, other = end + 1, other_end + 1
    yield from _between(left, right, (start, len(left.entries)), (other, len(right.entries)))


def _between(left: Side, right: Side, span: tuple[int, int], other: tuple[int, int]) -> Iterator[Line]:
    """The lines between two changes. Entries that are not the same are shown beside each other by actor and object."""
    for same, lines in groupby(align(left.keys(*span), right.keys(*other)), key=lambda line: line.same):
        found = list(lines)
        old = [span[0] + line.left for line in found if line.left is not None]
        new = [other[0] + line.right for line in found if line.right is not None]
        if same:
            yield from (Line(*pair, True) for pair in zip(old, new, strict=True))
        else:
            yield from _resembling(left, right, old, new)


def _resembling(left: Side, right: Side, old: Sequence[int], new: Sequence[int]) -> Iterator[Line]:
    """The lines of entries that are not the same: marks of faults first, then what only one side has."""
    lines = align([left.subject(at) for at in old], [right.subject(at) for at in new])
    for beside, block in groupby(lines, key=lambda line: line.same):
        pairs = [(None if i is None else old[i], None if j is None else new[j]) for i, j, _ in block]
        if beside:
            yield from (Line(*pair, False) for pair in pairs)
            continue
        alone = [Line(i, None, False) for i, _ in pairs if i is not None]
        others = [Line(None, j, False) for _, j in pairs if j is not None]
        marks = list(takewhile(lambda line: line.right is not None and is_mark(right.entries[line.right]), others))
        yield from (*marks, *alone, *others[len(marks) :])


def is_mark(entry: Entry) -> bool:
    """Whether an entry marks where a fault of an exploration took effect."""
    return bool(entry["kind"] == "note" and "atom" in dict(entry["facts"]))


def _pinned(left: Side, right: Side) -> Iterator[tuple[int, int]]:
    """The indices of entries with the same change, in the order of both sides."""
    before = (-1, -1)
    for old, new, same in align([key for _, key in left.changes], [key for _, key in right.changes]):
        if old is None or new is None or not same:
            continue
        found = left.places.get(left.changes[old][0], -1), right.places.get(right.changes[new][0], -1)
        if found[0] > before[0] and found[1] > before[1]:
            before = found
            yield found


def differ(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries that are aligned have different results, or have stored different values."""
    if left is None or right is None:
        return False
    return (left["failed"], _values(left)) != (right["failed"], _values(right))


def _values(entry: Entry) -> Sequence[tuple[Any, ...]]:
    return [
        (path, after)
        for change in entry["changes"]
        for path, _, after, *_ in change["fields"]
        if not _SERVER_FIELDS.match(path) and not _TIME.search(str(after))
    ]
