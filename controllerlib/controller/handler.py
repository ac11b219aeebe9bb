"""Event handlers: the requests that follow from an event (controller-runtime: pkg/handler)."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from controllerlib.cache.resourceeventhandler import HandlerResult
from controllerlib.client.resource import split_api_version
from controllerlib.client.restmapper import RESTMapper
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent, is_unchanged
from controllerlib.controller.owners import OwnerKind
from controllerlib.controller.reconcile import Request
from controllerlib.observer import NOOP_OBSERVER, Observer, overrides
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.prioritystate import LOW_PRIORITY
from controllerlib.workqueue.queue import WorkQueue

_log = logging.getLogger(__name__)

#: Returns the requests for an object; may be a coroutine function.
MapFunc = Callable[[Mapping[str, Any]], Sequence[Hashable] | Awaitable[Sequence[Hashable]]]


class RequestQueue:
    """The queue of a controller for sources and handlers; adds the cause to each request.

    Source: controller-runtime, priorityqueue as handlers see it.
    """

    cause: Cause | None
    controller: str
    priority: int | None
    queue: WorkQueue[Any]

    __slots__ = ("_observe", "cause", "controller", "priority", "queue")

    def __init__(
        self,
        queue: WorkQueue[Any],
        controller: str = "",
        observer: Observer = NOOP_OBSERVER,
        *,
        cause: Cause | None = None,
        priority: int | None = None,
    ) -> None:
        """`priority` is the default of added requests."""
        self.queue, self.controller, self.cause, self.priority = queue, controller, cause, priority
        self._observe = observer.enqueued if overrides(observer, "enqueued") else None

    def add(
        self, request: Hashable, *, after: float = 0.0, rate_limited: bool = False, priority: int | None = None
    ) -> None:
        """Add `request`: now, after `after` seconds, or with the delay of the rate limiter."""
        if priority is None:
            priority = self.priority
        self.queue.add(request, after=after, rate_limited=rate_limited, priority=priority, cause=self.cause)
        if self._observe is not None:
            self._observe(self.controller, request, self.cause, None if rate_limited else after, priority)

    def add_after(self, request: Hashable, seconds: float) -> None:
        """Add `request` after `seconds`."""
        self.add(request, after=seconds)

    def add_rate_limited(self, request: Hashable) -> None:
        """Add `request` with the delay of the rate limiter."""
        self.add(request, rate_limited=True)

    def with_options(self, *, cause: Cause | None = None, priority: int | None = None) -> "RequestQueue":
        """Return the same queue with another cause or default priority."""
        other = RequestQueue.__new__(RequestQueue)
        other.queue, other.controller, other._observe = self.queue, self.controller, self._observe
        other.cause = cause or self.cause
        other.priority = self.priority if priority is None else priority
        return other


class EventHandler(Protocol):
    """Adds the requests of events to a queue. It must not block; a coroutine function may wait.

    Source: controller-runtime, handler.EventHandler.
    """

    def handle(self, event: Event, queue: RequestQueue) -> HandlerResult:
        """Add the requests of an event to `queue`."""
        ...


class LowPriorityWhenUnchanged:
    """Sets the default priority of a handler's requests to -100 for initial lists and unchanged objects."""

    def __init__(self, handler: EventHandler) -> None:
        self._handler = handler

    def handle(self, event: Event, queue: RequestQueue) -> HandlerResult:
        """See EventHandler."""
        return self._handler.handle(event, low_priority(event, queue))


def low_priority(event: Event, queue: RequestQueue) -> RequestQueue:
    """Return `queue` with a default priority of -100 if the event is part of an initial list or without a change."""
    if queue.priority is None and is_unchanged(event):
        return queue.with_options(priority=LOW_PRIORITY)
    return queue


class EnqueueRequestForObject:
    """Requests the object of the event; for an update the new one (controller-runtime:
    handler.EnqueueRequestForObject).
    """

    def handle(self, event: Event, queue: RequestQueue) -> None:
        """See EventHandler."""
        obj = (event.new or event.old) if isinstance(event, UpdateEvent) else event.obj
        if obj is None:
            _log.error("event without an object", extra={"event": type(event).__name__})
            return
        low_priority(event, queue).add(Request.of(obj))


class EnqueueRequestForOwner:
    """Requests the owners of the object that are of one kind: the controlling one, or all of them.

    The namespace of the request is that of the object, or "" if the owner's kind is cluster-scoped.

    Source: controller-runtime, handler.EnqueueRequestForOwner.
    """

    def __init__(
        self, api_version: str, kind: str, *, only_controller: bool = False, namespaced: bool | None = None
    ) -> None:
        """`namespaced` None: read from discovery when the watch starts. ValueError if the kind is missing."""
        if not api_version or not kind:
            raise ValueError("the owner needs an apiVersion and a kind")
        self._api_version, self._kind = api_version, kind
        self._known = namespaced is not None
        group = split_api_version(api_version)[0]
        #: The kind of the owners.
        self.owner: OwnerKind = OwnerKind(group, kind, namespaced is not False, only_controller)

    async def prepare(self, mapper: RESTMapper) -> None:
        """Read from discovery whether the owner's kind is namespaced; raises ApiError."""
        if not self._known:
            resource = await mapper.resource(self._api_version, self._kind)
            owner = self.owner
            self.owner = OwnerKind(owner.group, owner.kind, resource.namespaced, owner.only_controller)
            self._known = True

    def handle(self, event: Event, queue: RequestQueue) -> None:
        """See EventHandler."""
        objs = (event.old, event.new) if isinstance(event, UpdateEvent) else (event.obj,)
        names = {name: None for obj in objs for name in self.owner.names_in(obj)}
        queue = low_priority(event, queue)
        for name in names:
            queue.add(Request(name.namespace, name.name))


class EnqueueRequestsFromMapFunc:
    """Requests what a function returns for the object; for an update, for the old and the new one, without duplicates.

    `handle` raises TypeError if the function does not return a sequence of requests.

    Source: controller-runtime, handler.EnqueueRequestsFromMapFunc.
    """

    def __init__(self, func: MapFunc, request_type: type | None = None) -> None:
        """`request_type`: the type of the requests; None accepts any hashable type, or the one that the builder
        sets.
        """
        if not callable(func):
            raise TypeError(f"EnqueueRequestsFromMapFunc needs a function, not {func!r}")
        self._func, self._type = func, request_type

    def of_type(self, request_type: type) -> "EnqueueRequestsFromMapFunc":
        """Return the handler with this request type, unless it has one."""
        return EnqueueRequestsFromMapFunc(self._func, self._type or request_type)

    def handle(self, event: Event, queue: RequestQueue) -> HandlerResult:
        """See EventHandler."""
        objs = (event.old, event.new) if isinstance(event, UpdateEvent) else (event.obj,)
        queue = low_priority(event, queue)
        answers = [self._func(obj) for obj in objs if obj is not None]
        if any(inspect.isawaitable(answer) for answer in answers):
            return self._gather(answers, queue)
        self._add_each(answers, queue)
        return None

    def _add_each(self, answers: Sequence[Any], queue: RequestQueue) -> None:
        for request in dict.fromkeys(request for answer in answers for request in self._checked(answer)):
            queue.add(request)

    async def _gather(self, answers: Sequence[Any], queue: RequestQueue) -> None:
        self._add_each([await answer if inspect.isawaitable(answer) else answer for answer in answers], queue)

    def _checked(self, answer: Any) -> Sequence[Any]:
        if not answer:
            return ()
        name = getattr(self._func, "__qualname__", repr(self._func))
        wanted = self._type.__name__ if self._type else "request"
        if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
            raise TypeError(f"map function {name} must return a sequence of {wanted} objects, not {answer!r}")
        requests = list(answer)
        for request in requests:
            if not isinstance(request, self._type or Hashable):
                raise TypeError(f"map function {name} must return {wanted} objects, not {request!r}")
        return requests


class HandlerFuncs:
    """One function per type of event, called with the event and the queue; omitted ones do nothing.

    Source: controller-runtime, handler.Funcs.
    """

    def __init__(
        self,
        create: Callable[[CreateEvent, RequestQueue], HandlerResult] | None = None,
        update: Callable[[UpdateEvent, RequestQueue], HandlerResult] | None = None,
        delete: Callable[[DeleteEvent, RequestQueue], HandlerResult] | None = None,
        generic: Callable[[GenericEvent, RequestQueue], HandlerResult] | None = None,
    ) -> None:
        self._create, self._update, self._delete, self._generic = create, update, delete, generic

    def handle(self, event: Event, queue: RequestQueue) -> HandlerResult:
        """See EventHandler."""
        queue = low_priority(event, queue)
        if isinstance(event, CreateEvent):
            return self._create(event, queue) if self._create else None
        if isinstance(event, UpdateEvent):
            return self._update(event, queue) if self._update else None
        if isinstance(event, DeleteEvent):
            return self._delete(event, queue) if self._delete else None
        return self._generic(event, queue) if self._generic else None
