"""The subsets of Endpoints: addresses that have the same ports (`pkg/api/v1/endpoints`: RepackSubsets)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from fakekube.controllers.serviceendpoints.deephash import subset_port_order

Object = Mapping[str, Any]
Subset = dict[str, Any]

#: Most addresses of Endpoints.
CAPACITY = 1000


def repacked(subsets: Iterable[Object]) -> list[Subset]:
    """The canonical subsets: the ports with the same addresses together, everything in order.

    An address that is not ready for a port anywhere is not ready for it.
    """
    known: dict[tuple[str, str], Object] = {}
    by_port: dict[bytes | None, dict[tuple[str, str], bool]] = {}
    ports: dict[bytes, Object] = {}
    for subset in subsets:
        listed = {orjson.dumps(port, option=orjson.OPT_SORT_KEYS): port for port in subset.get("ports") or ()}
        ports |= listed
        for port in listed or [None]:
            ready_of = by_port.setdefault(port, {})
            for name, ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in subset.get(name) or ():
                    key = address["ip"], (address.get("targetRef") or {}).get("uid") or ""
                    known.setdefault(key, address)
                    ready_of[key] = ready_of.get(key, True) and ready
    by_addresses: dict[frozenset[tuple[tuple[str, str], bool]], list[Object]] = {}
    for port, ready_of in by_port.items():
        listed_ports = by_addresses.setdefault(frozenset(ready_of.items()), [])
        if port is not None:
            listed_ports.append(ports[port])
    return sorted((_subset(keys, found, known) for keys, found in by_addresses.items()), key=_order)


def _subset(
    keys: Iterable[tuple[tuple[str, str], bool]], ports: Sequence[Object], known: Mapping[tuple[str, str], Object]
) -> Subset:
    ordered = sorted(keys)
    lists = {
        "addresses": [known[key] for key, ready in ordered if ready],
        "notReadyAddresses": [known[key] for key, ready in ordered if not ready],
        "ports": sorted(ports, key=subset_port_order),
    }
    return {name: found for name, found in lists.items() if found}


def _order(value: Object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def truncated(subsets: Sequence[Subset]) -> tuple[list[Subset], bool]:
    """The subsets with at most CAPACITY addresses, ready ones before others; and whether any were dropped."""
    ready = sum(len(one.get("addresses") or ()) for one in subsets)
    waiting = sum(len(one.get("notReadyAddresses") or ()) for one in subsets)
    if ready + waiting <= CAPACITY:
        return list(subsets), False
    name, most, total = (
        ("addresses", CAPACITY, ready) if ready > CAPACITY else ("notReadyAddresses", CAPACITY - ready, waiting)
    )
    left, found = most, []
    for one in subsets:
        listed = one.get(name) or []
        kept = listed[: min(left, -(-len(listed) * most // total))]
        left -= len(kept)
        changed = {**one, name: kept}
        if name == "addresses":
            changed["notReadyAddresses"] = []
        found.append({key: value for key, value in changed.items() if value})
    return found, True
