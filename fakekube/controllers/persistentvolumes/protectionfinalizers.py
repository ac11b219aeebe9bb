"""Finalizers that keep objects in use (`pkg/controller/util/protectionutil`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client, Request
from controllerlib.controller import HandlerFuncs, RequestQueue
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.objectfinalizers import has_finalizer, is_deletion_candidate, with_finalizers

Object = Mapping[str, Any]


def needs_finalizer(obj: Object, finalizer: str) -> bool:
    """Whether the object is not being deleted and lacks the finalizer."""
    return not obj["metadata"].get("deletionTimestamp") and not has_finalizer(obj, finalizer)


def _is_concerned(obj: Object, finalizer: str) -> bool:
    """Whether the finalizer may have to be added or removed."""
    return is_deletion_candidate(obj, finalizer) or needs_finalizer(obj, finalizer)


def protection_events(finalizer: str) -> HandlerFuncs:
    """The event handler that requests each object to which the finalizer may have to be added or removed."""

    def seen(obj: Object, queue: RequestQueue) -> None:
        if _is_concerned(obj, finalizer):
            queue.add(Request.of(obj))

    return object_events(seen)


async def add_finalizer(client: Client, obj: Object, finalizer: str) -> None:
    """Write the object with the finalizer. Raises ApiError."""
    await client.update(with_finalizers(obj, [*(obj["metadata"].get("finalizers") or ()), finalizer]))


async def remove_finalizer(client: Client, obj: Object, finalizer: str) -> None:
    """Write the object without the finalizer. Raises ApiError."""
    kept = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
    await client.update(with_finalizers(obj, kept))
