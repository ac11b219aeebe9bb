"""Which Services the changes of EndpointSlices concern (`onEndpointSliceAdd` and its relatives)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib.controller import CreateEvent, DeleteEvent, HandlerFuncs, RequestQueue, UpdateEvent
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
        return HandlerFuncs(create=self._created, update=self._updated, delete=self._deleted)

    def _is_mine(self, slice: Object) -> bool:
        return (slice["metadata"].get("labels") or {}).get(MANAGED_BY) == self._manager

    def _enqueue(self, slice: Object, queue: RequestQueue) -> None:
        service = service_of(slice)
        if service.name:
            queue.add_after(service, self._delay)

    def _created(self, event: CreateEvent, queue: RequestQueue) -> None:
        assert event.obj is not None
        if self._is_mine(event.obj) and self._tracker.is_foreign(event.obj):
            self._enqueue(event.obj, queue)

    def _updated(self, event: UpdateEvent, queue: RequestQueue) -> None:
        assert event.old is not None
        assert event.new is not None
        if service_of(event.old) != service_of(event.new):
            self._enqueue(event.new, queue)
            self._enqueue(event.old, queue)
            return
        foreign = self._is_mine(event.new) and self._tracker.is_foreign(event.new)
        if foreign or self._is_mine(event.old) != self._is_mine(event.new):
            self._enqueue(event.new, queue)

    def _deleted(self, event: DeleteEvent, queue: RequestQueue) -> None:
        assert event.obj is not None
        if self._is_mine(event.obj) and self._tracker.has(event.obj) and not self._tracker.deleted(event.obj):
            self._enqueue(event.obj, queue)
