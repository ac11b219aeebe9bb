"""Hints for proxies, from spec.trafficDistribution of a Service (`endpointslice/trafficdist`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.serviceendpoints.slices import Endpoint, Slice, SliceChanges

Object = Mapping[str, Any]

_CLOSE = ("PreferClose", "PreferSameZone", "PreferSameNode")


def distribution_of(service: Object) -> str | None:
    """The traffic distribution of a Service; None without one, or if its annotation asks for topology hints."""
    annotations = service["metadata"].get("annotations") or {}
    mode = annotations.get("service.kubernetes.io/topology-aware-hints") or annotations.get(
        "service.kubernetes.io/topology-mode"
    )
    found = service["spec"].get("trafficDistribution")
    return found if found in _CLOSE and mode not in ("Auto", "auto") else None


def hint(changes: SliceChanges, unchanged: Sequence[Object], distribution: str | None) -> None:
    """Give the endpoints of all slices their hints; slices whose hints change are updated."""
    for one in unchanged:
        hinted = _hinted(one, distribution)
        if hinted["endpoints"] != (one.get("endpoints") or []):
            changes.update.append(hinted)
    changes.create[:] = [_hinted(one, distribution) for one in changes.create]
    names = {one["metadata"]["name"] for one in unchanged}
    changes.update[:] = [
        one if one["metadata"]["name"] in names else _hinted(one, distribution) for one in changes.update
    ]


def _hinted(slice: Object, distribution: str | None) -> Slice:
    return {**slice, "endpoints": [_endpoint(one, distribution) for one in slice.get("endpoints") or ()]}


def _endpoint(endpoint: Object, distribution: str | None) -> Endpoint:
    if distribution is not None and not (endpoint.get("conditions") or {}).get("ready"):
        return dict(endpoint)
    plain = {name: value for name, value in endpoint.items() if name != "hints"}
    if distribution is None:
        return plain
    hints: dict[str, Any] = {}
    if endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if endpoint.get("nodeName") and distribution == "PreferSameNode":
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return {**plain, "hints": hints} if hints else plain
