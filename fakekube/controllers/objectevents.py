"""Event handlers made of functions that take the object instead of the event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from controllerlib import Request
from controllerlib.controller import CreateEvent, DeleteEvent, HandlerFuncs, RequestQueue, UpdateEvent

Object = Mapping[str, Any]

#: Adds the requests that follow from an object that was created, updated or deleted.
OfObject = Callable[[Object, RequestQueue], Awaitable[None] | None]

#: Adds the requests that follow from an update, given the old and the new object.
OfUpdate = Callable[[Object, Object, RequestQueue], Awaitable[None] | None]


def object_events(
    seen: OfObject | None = None,
    *,
    created: OfObject | None = None,
    updated: OfUpdate | None = None,
    deleted: OfObject | None = None,
) -> HandlerFuncs:
    """Return a handler that calls one function per type of event; omitted ones do nothing.

    `seen` is called with each created object and with the new state of each updated one, unless `created` or `updated`
    is given.
    """
    created = created or seen
    if updated is None and seen is not None:
        updated = of_new(seen)
    return HandlerFuncs(
        _of_create_or_delete(created) if created else None,
        _of_update(updated) if updated else None,
        _of_create_or_delete(deleted) if deleted else None,
    )


def enqueue(obj: Object, queue: RequestQueue) -> None:
    """Request the object."""
    queue.add(Request.of(obj))


def _of_create_or_delete(func: OfObject) -> Callable[[CreateEvent | DeleteEvent, RequestQueue], Awaitable[None] | None]:
    def handle(event: CreateEvent | DeleteEvent, queue: RequestQueue) -> Awaitable[None] | None:
        assert event.obj is not None
        return func(event.obj, queue)

    return handle


def _of_update(func: OfUpdate) -> Callable[[UpdateEvent, RequestQueue], Awaitable[None] | None]:
    def handle(event: UpdateEvent, queue: RequestQueue) -> Awaitable[None] | None:
        assert event.old is not None
        assert event.new is not None
        return func(event.old, event.new, queue)

    return handle


def of_new(func: OfObject) -> OfUpdate:
    """Return the function that calls `func` with the new state of an updated object."""
    return lambda old, new, queue: func(new, queue)
