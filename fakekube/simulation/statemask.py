"""Which fields of the final objects are compared: those that are equal in reference runs under two seeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Any

from fakekube.simulation.allocations import Allocations, drawn
from fakekube.simulation.anchor import EXTERNAL, UID
from fakekube.simulation.racemark import has_mark, normalized, without_mark

Object = Mapping[str, Any]

#: Fields that the server sets, and that differ between correct runs.
SERVER_FIELDS = (
    "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp",
    "metadata.managedFields", "metadata.deletionTimestamp", "metadata.selfLink", "status.observedGeneration",
)  # fmt: skip

#: Kinds that record what happened, or what the server has allocated: they are no part of the desired state.
RECORDS = frozenset({"event", "ev", "lease", "controllerrevision", "ip", "ipaddress"})

#: Kinds that keep history on purpose: results of jobs, claims that only grow, old revisions.
HISTORY = frozenset(
    {"pvc", "persistentvolumeclaim", "pv", "persistentvolume", "job", "rs", "replicaset", "controllerrevision", "event"}
)

#: The last parts of paths that name an object or a version of one.
_IDENTITIES = ("uid", "resourceVersion")

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?")

#: Numbers between these count as times: seconds since 1970, in the years 2020 to 2050. Also in milliseconds.
_SECONDS = range(1_577_836_800, 2_524_608_000)

#: Fields that count what has happened to an object before, also under another release of its operator.
_OF_HISTORY = re.compile(
    r"observedGeneration$|^metadata\.annotations\.deployment\.kubernetes\.io/revision$|restartCount$|collisionCount$"
)

#: What differs where pods have replaced others, by kind. A DaemonSet counts its pods anew only when one of them
#: changes, or a node that has none (`daemon_controller.go`, syncNodeUpdate).
_OF_MOVED_PODS = {
    "pod": re.compile(r"^status\.(\w*[cC]ontainerStatuses\[.*(restartCount|lastState\b.*|containerID)$|startTime$)"),
    "ds": re.compile(r"^status\."),
}

_MISSING = object()

#: What is equal in a status: what is absent, and what is there and empty.
_EMPTY: tuple[Any, ...] = (_MISSING, None, {}, [])


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of an object with their paths: `spec.ports[0].name`. An empty mapping or list is a leaf.

    Items of a list that have different types, such as conditions, are named by their type: they have no order.
    """
    if isinstance(value, Mapping) and value:
        for name, one in value.items():
            yield from leaves(one, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple) and value:
        for index, one in _items(value):
            yield from leaves(one, f"{path}[{index}]")
    else:
        yield path, value


def _leaves_of(obj: Object, parts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The leaves of some parts of an object."""
    return (leaf for name in parts if name in obj for leaf in leaves(obj[name], name))


def _items(value: Sequence[Any]) -> Iterable[tuple[object, Any]]:
    types = [one.get("type") if isinstance(one, Mapping) else None for one in value]
    if len(set(types)) == len(types) and all(isinstance(one, str) for one in types):
        return zip(types, value, strict=True)
    return enumerate(value)


class Mask:
    """Decides which leaves count.

    `ignored`: shell patterns of paths, `status.*`, or with a target before them: `pod/*:status.podIP`. A path stands
    for what is below it, too. `upgraded`: the same, or targets alone (`cm/a-old`), for runs with two releases.
    """

    def __init__(self, ignored: Iterable[str] = (), upgraded: Iterable[str] = ()) -> None:
        self._ignored, self._upgraded = tuple(ignored), tuple(upgraded)
        self._of_two_releases = self._of_moved_pods = False
        self._unstable: set[tuple[str, str]] = set()
        self._pinned: frozenset[str] = frozenset()
        self._unnamed: frozenset[str] = frozenset()

    def learn_external(self, first: Iterable[str], second: Iterable[str]) -> None:
        """Compare only the number of items of external APIs whose items have other names in each reference run.

        `first`, `second`: the targets of what was made and removed.
        """
        differing = Counter(first) - Counter(second) | Counter(second) - Counter(first)
        self._unnamed = frozenset(api_of(target) for target in differing)

    def external(self, target: str) -> str:
        """The target of an item of an external API as it is compared."""
        api = api_of(target) if target.startswith(f"{EXTERNAL}/") else ""
        return f"{EXTERNAL}/{api}/*" if api in self._unnamed else target

    def items(self, targets: Iterable[str]) -> Counter[str]:
        """How often each item of external APIs is there, as they are compared."""
        return Counter(map(self.external, targets))

    def learn(self, first: Mapping[str, Object], second: Mapping[str, Object]) -> None:
        """Leave out what differs between two reference runs, but for what the server has allocated in each."""
        self._pinned = drawn(first) & drawn(second)
        allocated = self.allocations(first, second)
        for target in first.keys() & second.keys():
            old, new = dict(leaves(first[target])), dict(leaves(second[target]))
            for path in {*old, *new}:
                before, after = old.get(path, _MISSING), new.get(path, _MISSING)
                if before != after and not allocated.are_equal(before, after):
                    self._unstable.add((target, path))

    def allocations(
        self, expected: Mapping[str, Object], found: Mapping[str, Object], *, moved: bool = False
    ) -> Allocations:
        """What two runs have allocated, by their final objects. `moved`: whether pods may be on other nodes."""
        return Allocations(expected, found, self._pinned, moved=moved)

    def counts(self, target: str, path: str, value: Any) -> bool:
        """Whether a leaf is compared."""
        if any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in SERVER_FIELDS):
            return False
        if self._of_two_releases and _OF_HISTORY.search(path):
            return False
        if self._of_moved_pods and (of_kind := _OF_MOVED_PODS.get(target.partition("/")[0])) and of_kind.match(path):
            return False
        if (target, path) in self._unstable or path.rpartition(".")[2] in _IDENTITIES:
            return False
        return not any(is_masked(pattern, target, path) for pattern in self._ignored)

    def for_upgrades(self) -> Mask:
        """The mask for runs with two releases."""
        found = copy(self)
        found._ignored = (*self._ignored, *(one for one in self._upgraded if ":" in one or "/" not in one))
        found._of_two_releases = True
        return found

    def for_moves(self) -> Mask:
        """The mask for runs in which pods had to leave their nodes."""
        found = copy(self)
        found._of_moved_pods = True
        return found

    def may_differ(self, target: str) -> bool:
        """Whether an upgrade may leave an object, or not, where the new release alone would not."""
        return any(fnmatchcase(target, one) for one in self._upgraded if ":" not in one and "/" in one)

    def differences(
        self, target: str, expected: Object, found: Object, allocated: Allocations | None = None
    ) -> Sequence[tuple[str, Any, Any]]:
        """The leaves that differ: path, expected and found value (None: absent).

        Times count as equal, what is `allocated`, and what competing writes have set, wherever it is copied.
        """
        differing = self._differences(target, expected, found, allocated)
        if differing and has_mark(found) != has_mark(expected):
            without = (without_mark(expected), without_mark(found))
            differing = [one for one in self._differences(target, *without, allocated) if not _is_rest_of_mark(one)]
        return differing

    def _differences(
        self, target: str, expected: Object, found: Object, allocated: Allocations | None
    ) -> Sequence[tuple[str, Any, Any]]:
        parts = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
        if not parts:  # as most objects of two runs
            return []
        old, new = (dict(_leaves_of(one, parts)) for one in (expected, found))
        differing = []
        for path in dict.fromkeys([*old, *new]):
            before, after = old.get(path, _MISSING), new.get(path, _MISSING)
            if _same(before, after) or (is_time(before) and is_time(after)) or not self.counts(target, path, after):
                continue
            if allocated is not None and allocated.are_equal(before, after):
                continue
            if path.startswith("status") and before in _EMPTY and after in _EMPTY:
                continue
            differing.append((path, None if before is _MISSING else before, None if after is _MISSING else after))
        return differing


def is_masked(pattern: str, target: str, path: str) -> bool:
    """Whether a pattern of the argument `mask` matches a leaf of an object."""
    where, colon, what = pattern.rpartition(":")
    if colon and not fnmatchcase(target, where):
        return False
    pattern = what.replace("[", "[[]")  # brackets stand in paths, they are no sets of characters
    return any(fnmatchcase(path, f"{pattern}{rest}") for rest in ("", ".*", "[[]*"))


def _is_rest_of_mark(difference: tuple[str, Any, Any]) -> bool:
    """Whether values differ only in how an empty one is written, or a JSON text."""
    _, before, after = difference
    if isinstance(before, str) and isinstance(after, str):
        return normalized(before) == normalized(after)
    return before in (None, {}, []) and after in (None, {}, [])


def _same(before: Any, after: Any) -> bool:
    """Whether two leaves are equal, but for uids in them."""
    if before == after or not isinstance(before, str) or not isinstance(after, str):
        return bool(before == after)
    return UID.sub("*", before) == UID.sub("*", after)


def is_time(value: Any) -> bool:
    """Whether a leaf is a time: a text in ISO format, or seconds or milliseconds since 1970."""
    if isinstance(value, int | float):
        return int(value) in _SECONDS or int(value / 1000) in _SECONDS
    return isinstance(value, str) and (_TIME.fullmatch(value) is not None or (value.isdigit() and is_time(int(value))))


def changed_status(before: Object | None, after: Object | None) -> Mapping[str, tuple[Any, Any]]:
    """The leaves of the status that differ between two versions of an object, by path (None: absent)."""
    old, new = (dict(leaves((obj or {}).get("status"))) for obj in (before, after))
    return {path: (old.get(path), new.get(path)) for path in {**old, **new} if old.get(path) != new.get(path)}


def api_of(target: str) -> str:
    """The name of the external API of an item."""
    return target.split("/", 2)[1]


def is_compared(target: str) -> bool:
    """Whether an object belongs to the state that is compared."""
    return target.partition("/")[0] not in RECORDS
