"""What an informer tells: handlers of its changes (client-go: tools/cache/controller.go, ResourceEventHandler)."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from controllerlib.cache.process import Notification
from controllerlib.client.names import DeletedFinalStateUnknown

#: What a handler may return: nothing, or something to wait for before it is told the next.
HandlerResult = Awaitable[None] | None


class ResourceEventHandler(Protocol):
    """Told each change in order; must not change the objects. Plain methods must not block, coroutine ones may wait.

    Source: client-go, cache.ResourceEventHandler.
    """

    def on_add(self, obj: Any, is_in_initial_list: bool) -> HandlerResult:
        """An object appeared, or was there when the handler came."""
        ...

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        """An object changed, or (with equal resourceVersions) is told once more."""
        ...

    def on_delete(self, obj: Any) -> HandlerResult:
        """An object went: its last state, or a DeletedFinalStateUnknown."""
        ...


class NotificationHandler(Protocol):
    """A handler that wants to know how the informer came to know, too."""

    def notify(self, notification: Notification) -> HandlerResult:
        """Something changed."""
        ...


InformerHandler = ResourceEventHandler | NotificationHandler


class ResourceEventHandlerFuncs:
    """A handler of up to three functions; the ones left out do nothing.

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
        return self._add(obj, is_in_initial_list) if self._add else None

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        return self._update(old, new) if self._update else None

    def on_delete(self, obj: Any) -> HandlerResult:
        return self._delete(obj) if self._delete else None


class FilteringResourceEventHandler:
    """Passes on what `wanted` lets through: an object that comes into it is added, one that leaves it deleted.

    Source: client-go, cache.FilteringResourceEventHandler.
    """

    def __init__(self, wanted: Callable[[Any], bool], handler: ResourceEventHandler) -> None:
        self._wanted, self._handler = wanted, handler

    def on_add(self, obj: Any, is_in_initial_list: bool) -> HandlerResult:
        return self._handler.on_add(obj, is_in_initial_list) if self._wanted(obj) else None

    def on_update(self, old: Any, new: Any) -> HandlerResult:
        before, after = self._wanted(old), self._wanted(new)
        if before and after:
            return self._handler.on_update(old, new)
        if after:
            return self._handler.on_add(new, False)
        return self._handler.on_delete(old) if before else None

    def on_delete(self, obj: Any) -> HandlerResult:
        return self._handler.on_delete(obj) if self._wanted(obj) else None


def notifier(handler: InformerHandler) -> Callable[[Notification], HandlerResult]:
    """The function that tells `handler` a notification."""
    notify: Callable[[Notification], HandlerResult] | None = getattr(handler, "notify", None)
    if notify is not None:
        return notify
    assert not isinstance(handler, type)
    add, update, delete = handler.on_add, handler.on_update, handler.on_delete  # type: ignore[union-attr]

    def tell(told: Notification) -> HandlerResult:
        if told.kind == "added":
            return add(told.obj, told.initial)
        if told.kind == "updated":
            return update(told.old, told.obj)
        return delete(told.obj)

    return tell


def last_state(obj: Any) -> Any:
    """The object of a deletion, out of its tombstone if it came in one; may be None."""
    return obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
