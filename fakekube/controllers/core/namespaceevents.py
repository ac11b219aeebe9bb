"""Handlers of controllers whose requests are namespaces."""

from __future__ import annotations

from collections.abc import Callable

from controllerlib import Request
from controllerlib.controller import CreateEvent, DeleteEvent, RequestQueue, UpdateEvent

#: The cause of the error of a creation in a namespace that is being deleted.
NAMESPACE_TERMINATING = "NamespaceTerminating"

ObjectEvent = CreateEvent | DeleteEvent | UpdateEvent


def enqueue_namespace(event: ObjectEvent, queue: RequestQueue) -> None:
    """Request the namespace that is new or has changed."""
    namespace = event.new if isinstance(event, UpdateEvent) else event.obj
    assert namespace is not None
    queue.add(Request("", namespace["metadata"]["name"]))


def enqueue_namespace_of(name: str = "") -> Callable[[ObjectEvent, RequestQueue], None]:
    """A handler that requests the namespace of each object, or of those named `name`."""

    def handle(event: ObjectEvent, queue: RequestQueue) -> None:
        obj = event.new if isinstance(event, UpdateEvent) else event.obj
        assert obj is not None
        if not name or obj["metadata"]["name"] == name:
            queue.add(Request("", obj["metadata"]["namespace"]))

    return handle
