"""Which Services the changes of EndpointSlices concern (`onEndpointSliceAdd` and its relatives)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib.controller import HandlerFuncs, RequestQueue
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.serviceendpoints.slicetracker import SliceTracker, service_of

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"

Object = Mapping[str, Any]


class SliceEvents:
    """Enqueues the Service of a slice of one manager that another writer has changed.

    `delay`: seconds until it is reconciled, so that changes that come together are met by one reconcile.
    """

    def __init__(self, manager: str, tracker: SliceTracker, delay: float) -> None:
        self._manager, self._tracker, self._delay = manager, tracker, delay

    @property
    def handler(self) -> HandlerFuncs:
        """The event handler for the source of slices."""
        return object_events(created=self._created, updated=self._updated, deleted=self._deleted)

    def _is_mine(self, slice: Object) -> bool:
        return (slice["metadata"].get("labels") or {}).get(MANAGED_BY) == self._manager

    def _enqueue(self, slice: Object, queue: RequestQueue) -> None:
        service = service_of(slice)
        if service.name:
            queue.add_after(service, self._delay)

    def _created(self, endpoint_slice: Object, queue: RequestQueue) -> None:
        if self._is_mine(endpoint_slice) and self._tracker.is_foreign(endpoint_slice):
            self._enqueue(endpoint_slice, queue)

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if service_of(old) != service_of(new):
            self._enqueue(new, queue)
            self._enqueue(old, queue)
            return
        foreign = self._is_mine(new) and self._tracker.is_foreign(new)
        if foreign or self._is_mine(old) != self._is_mine(new):
            self._enqueue(new, queue)

    def _deleted(self, old: Object, queue: RequestQueue) -> None:
        if self._is_mine(old) and self._tracker.has(old) and not self._tracker.deleted(old):
            self._enqueue(old, queue)
