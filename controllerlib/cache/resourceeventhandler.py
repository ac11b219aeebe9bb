"""Handlers of informers (client-go: tools/cache/controller.go, ResourceEventHandler)."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from controllerlib.cache.process import Notification
from controllerlib.client.names import DeletedFinalStateUnknown

#: The result of a handler; an awaitable is awaited before the next notification.
HandlerResult = Awaitable[None] | None


class ResourceEventHandler(Protocol):
    """Handles the changes of an informer, in order. It must not modify the objects.

    Plain methods must not block; coroutine functions may wait.

    Source: client-go, cache.ResourceEventHandler.
    """

    def on_add(self, obj: Any, is_in_initial_list: bool) -> HandlerResult:
        """Handle a new object, or one that existed when the handler was added."""
        ...

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        """Handle a change, or a resync, in which both resourceVersions are equal."""
        ...

    def on_delete(self, obj: Any) -> HandlerResult:
        """Handle a deletion: the last state of the object, or a DeletedFinalStateUnknown."""
        ...


@runtime_checkable
class NotificationHandler(Protocol):
    """A handler that receives the notification itself, including its origin."""

    def notify(self, notification: Notification) -> HandlerResult:
        """Handle a notification."""
        ...


InformerHandler = ResourceEventHandler | NotificationHandler


class ResourceEventHandlerFuncs:
    """A handler of up to three functions; omitted ones do nothing.

    Source: client-go, cache.ResourceEventHandlerDetailedFuncs.
    """

    def __init__(
        self,
        add: Callable[[Any, bool], HandlerResult] | None = None,
        update: Callable[[Any, Any], HandlerResult] | None = None,
        delete: Callable[[Any], HandlerResult] | None = None,
    ) -> None:
        self._add, self._update, self._delete = add, update, delete

    def on_add(self, obj: Any, is_in_initial_list: bool) -> HandlerResult:
        """See ResourceEventHandler."""
        return self._add(obj, is_in_initial_list) if self._add else None

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        """See ResourceEventHandler."""
        return self._update(old, new) if self._update else None

    def on_delete(self, obj: Any) -> HandlerResult:
        """See ResourceEventHandler."""
        return self._delete(obj) if self._delete else None


class FilteringResourceEventHandler:
    """Filters the events of a handler: an object that starts to match is added, one that ceases to match is deleted.

    Source: client-go, cache.FilteringResourceEventHandler.
    """

    def __init__(self, wanted: Callable[[Any], bool], handler: ResourceEventHandler) -> None:
        self._wanted, self._handler = wanted, handler

    def on_add(self, obj: Any, is_in_initial_list: bool) -> HandlerResult:
        """See ResourceEventHandler."""
        return self._handler.on_add(obj, is_in_initial_list) if self._wanted(obj) else None

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        """See ResourceEventHandler."""
        before, after = self._wanted(old), self._wanted(new)
        if before and after:
            return self._handler.on_update(old, new)
        if after:
            return self._handler.on_add(new, False)
        return self._handler.on_delete(old) if before else None

    def on_delete(self, obj: Any) -> HandlerResult:
        """See ResourceEventHandler."""
        return self._handler.on_delete(obj) if self._wanted(obj) else None


def notifier(handler: InformerHandler) -> Callable[[Notification], HandlerResult]:
    """Return the function that calls `handler` with a notification."""
    if hasattr(handler, "notify"):
        return handler.notify  # `isinstance` with a protocol takes longer than the rest of an informer's start
    assert not isinstance(handler, type)
    add, update, delete = handler.on_add, handler.on_update, handler.on_delete

    def call(notification: Notification) -> HandlerResult:
        if notification.kind == "added":
            return add(notification.obj, notification.initial)
        if notification.kind == "updated":
            return update(notification.old, notification.obj)
        return delete(notification.obj)

    return call


def last_state(obj: Any) -> Any:
    """Return the object of a deletion, taken from its tombstone if it is one; may be None."""
    return obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
