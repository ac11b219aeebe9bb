"""Handlers of controllers whose requests are namespaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controllerlib import Request
from controllerlib.controller import RequestQueue

#: The cause of the error of a creation in a namespace that is being deleted.
NAMESPACE_TERMINATING = "NamespaceTerminating"

Object = Mapping[str, Any]


def enqueue_namespace(namespace: Object, queue: RequestQueue) -> None:
    """Request the namespace that is new or has changed."""
    queue.add(Request("", namespace["metadata"]["name"]))


def enqueue_namespace_of(name: str = "") -> Callable[[Object, RequestQueue], None]:
    """A function that requests the namespace of each object, or of those named `name`."""

    def handle(obj: Object, queue: RequestQueue) -> None:
        if not name or obj["metadata"]["name"] == name:
            queue.add(Request("", obj["metadata"]["namespace"]))

    return handle
