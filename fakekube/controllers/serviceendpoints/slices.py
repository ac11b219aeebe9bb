"""Distributing endpoints over EndpointSlices, with few changes to those that exist (`endpointslice/reconciler.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from fakekube.struct import Struct, field

#: Most endpoints of a slice (--max-endpoints-per-slice).
MOST = 100

Object = Mapping[str, Any]
Slice = dict[str, Any]
Endpoint = dict[str, Any]


class SliceChanges(Struct):
    """The slices to create, to update and to delete."""

    create: list[Slice] = field(default_factory=list)
    update: list[Slice] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)

    def add(self, other: SliceChanges) -> None:
        self.create += other.create
        self.update += other.update
        self.delete += other.delete

    def recycle(self, is_usable: Callable[[Object], bool] = lambda slice: True) -> None:
        """Update a usable slice that is to be deleted instead of creating another one of its type of addresses."""
        for gone in list(self.delete):
            if not self.create:
                return
            new = self.create[-1]
            if gone["addressType"] == new["addressType"] and is_usable(gone):
                self.create.pop()
                self.delete.remove(gone)
                meta = {**new["metadata"], "name": gone["metadata"]["name"]}
                self.update.append({**new, "metadata": meta})


def ports_key(ports: Iterable[Object]) -> bytes:
    """A key that is equal for equal sets of ports (NewPortMapKey)."""
    return b"\n".join(sorted(orjson.dumps(port, option=orjson.OPT_SORT_KEYS) for port in ports))


def endpoint_key(endpoint: Object) -> tuple[tuple[str, ...], str, str, str]:
    """What identifies an endpoint: its addresses, hostname and pod (hashEndpoint)."""
    target = endpoint.get("targetRef") or {}
    hostname = endpoint.get("hostname") or ""
    return tuple(sorted(endpoint["addresses"])), hostname, target.get("namespace") or "", target.get("name") or ""


def is_same_endpoint(one: Object, other: Object) -> bool:
    """Whether two endpoints of one key are equal but for their hints (EndpointsEqualBeyondHash)."""
    left, right = one.get("conditions") or {}, other.get("conditions") or {}
    if any(left.get(name) != right.get(name) for name in ("ready", "serving", "terminating")):
        return False
    targets = [
        {name: value for name, value in (end.get("targetRef") or {}).items() if name != "resourceVersion"}
        for end in (one, other)
    ]
    return targets[0] == targets[1] and all(one.get(name) == other.get(name) for name in ("nodeName", "zone"))


def distributed(
    existing: Sequence[Object], desired: Mapping[Any, Endpoint], new: Slice, labels: Mapping[str, str]
) -> SliceChanges:
    """The changes that bring endpoints into slices of the same ports (reconcileByPortMapping).

    `desired`: the endpoints by key. `new`: a slice without endpoints and without a name.
    """
    left = dict(desired)
    unchanged: dict[str, Slice] = {}
    changes, updated = SliceChanges(), {}
    for one in existing:
        kept = [left[key] for end in one.get("endpoints") or () if (key := endpoint_key(end)) in left]
        present = {endpoint_key(end): end for end in one.get("endpoints") or ()}
        changed = len(kept) != len(present) or any(
            not is_same_endpoint(end, present[endpoint_key(end)]) for end in kept
        )
        for end in kept:
            left.pop(endpoint_key(end), None)
        if changed and not kept:
            changes.delete.append(one)
        elif changed or (one["metadata"].get("labels") or {}) != labels:
            meta = {**one["metadata"], "labels": dict(labels)}
            hinted = kept if changed else list(one.get("endpoints") or ())
            updated[meta["name"]] = {**one, "metadata": meta, "endpoints": hinted}
        else:
            unchanged[one["metadata"]["name"]] = {**one, "endpoints": list(one.get("endpoints") or ())}
    for one in sorted(updated.values(), key=lambda one: -len(one["endpoints"])):
        _fill(one, left)
    while left:
        chosen = _closest(unchanged.values(), len(left)) if len(left) < MOST else None
        if chosen is None:
            made = {**new, "endpoints": []}
            _fill(made, left)
            changes.create.append(made)
        else:
            _fill(chosen, left)
            updated[chosen["metadata"]["name"]] = unchanged.pop(chosen["metadata"]["name"])
    changes.update += updated.values()
    return changes


def _fill(slice: Slice, left: dict[Any, Endpoint]) -> None:
    """Move endpoints into a slice until it is full."""
    for key in list(left)[: MOST - len(slice["endpoints"])]:
        slice["endpoints"].append(left.pop(key))


def _closest(slices: Iterable[Slice], number: int) -> Slice | None:
    """The slice that gets as full as possible with `number` further endpoints (getSliceToFill)."""
    room = [(MOST - number - len(one["endpoints"]), index, one) for index, one in enumerate(slices)]
    fitting = [row for row in room if row[0] >= 0]
    return min(fitting, key=lambda row: row[:2])[2] if fitting else None
