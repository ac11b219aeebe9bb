"""Which EndpointSlices a controller has written, so that changes by others are noticed (`EndpointSliceTracker`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controllerlib import Request

SERVICE_NAME = "kubernetes.io/service-name"

#: The generation of a slice whose deletion is expected.
_DELETED = -1

Object = Mapping[str, Any]


def service_of(slice: Object) -> Request:
    """The Service of a slice, by its label."""
    meta = slice["metadata"]
    return Request(meta["namespace"], (meta.get("labels") or {}).get(SERVICE_NAME) or "")


class SliceTracker:
    """The generations of the slices that were written, by Service and uid."""

    def __init__(self) -> None:
        self._generations: dict[Request, dict[str, int]] = {}

    def wrote(self, slice: Object) -> None:
        """A slice was created or updated."""
        meta = slice["metadata"]
        self._generations.setdefault(service_of(slice), {})[meta["uid"]] = meta.get("generation", 0)

    def expect_deletion(self, slice: Object) -> None:
        """A slice was deleted."""
        self._generations.setdefault(service_of(slice), {})[slice["metadata"]["uid"]] = _DELETED

    def has(self, slice: Object) -> bool:
        return slice["metadata"]["uid"] in self._generations.get(service_of(slice), {})

    def is_foreign(self, slice: Object) -> bool:
        """Whether a slice is of a later generation than was written here (ShouldSync)."""
        known = self._generations.get(service_of(slice), {}).get(slice["metadata"]["uid"])
        return known is None or slice["metadata"].get("generation", 0) > known

    def deleted(self, slice: Object) -> bool:
        """A slice is gone; returns whether that was expected."""
        known = self._generations.get(service_of(slice), {})
        return known.pop(slice["metadata"]["uid"], _DELETED) == _DELETED

    def is_stale(self, service: Request, slices: Iterable[Object]) -> bool:
        """Whether the slices in the cache are older than what was written (StaleSlices)."""
        known = self._generations.get(service)
        if known is None:
            return False
        seen = {one["metadata"]["uid"]: one["metadata"].get("generation", 0) for one in slices}
        for uid, generation in known.items():
            if generation == _DELETED:
                if uid in seen:
                    return True
            elif seen.get(uid, -1) < generation:
                return True
        return False

    def forget(self, service: Request) -> None:
        self._generations.pop(service, None)
