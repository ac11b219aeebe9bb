"""Sources: where the events of a controller come from (controller-runtime: pkg/source)."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from controllerlib.cache.informermap import CacheInformer, Form, Informers
from controllerlib.cache.process import Notification
from controllerlib.cache.resourceeventhandler import HandlerResult
from controllerlib.client.errors import REQUEST_ERRORS
from controllerlib.client.names import DeletedFinalStateUnknown, resource_version
from controllerlib.clock import Clock, SystemClock, sleep
from controllerlib.controller.event import CreateEvent, DeleteEvent, Event, GenericEvent, UpdateEvent
from controllerlib.controller.handler import EventHandler, RequestQueue
from controllerlib.controller.predicate import Predicate, passes
from controllerlib.tasks import OnceEvent, Tasks
from controllerlib.workqueue.cause import Cause, CauseKind

_log = logging.getLogger(__name__)

#: Seconds between attempts to get an informer, whose kind may not be served yet.
RETRY = 10.0


class Source(Protocol):
    """Adds requests to a controller's queue (controller-runtime: source.Source)."""

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Start the source and return; its background work runs in `tasks`."""
        ...

    async def wait_synced(self) -> None:
        """Wait until the objects that existed at the start have been handled."""
        ...


class SourceEventHandler:
    """An informer's handler that converts notifications to events for an EventHandler."""

    def __init__(self, handler: EventHandler, queue: RequestQueue, predicates: Sequence[Predicate] = ()) -> None:
        self._handler, self._queue, self._predicates = handler, queue, predicates

    def notify(self, notification: Notification) -> HandlerResult:
        """Handle a notification if the predicates accept it."""
        event = event_of(notification)
        if event is None or not passes(event, self._predicates):
            return None
        return self._handler.handle(event, self._queue.with_options(cause=cause_of(notification)))


def event_of(notification: Notification) -> Event | None:
    """Return the event of a notification; None for a deletion without a known object."""
    kind, obj, old, initial, _, _ = notification
    if kind == "added":
        return CreateEvent(obj, initial)
    if kind == "updated":
        return UpdateEvent(old, obj)
    if isinstance(obj, DeletedFinalStateUnknown):
        if not isinstance(obj.obj, Mapping):
            _log.error("deletion without an object", extra={"key": obj.key})
            return None
        return DeleteEvent(obj.obj, True)
    return DeleteEvent(obj, False)


def cause_of(notification: Notification) -> Cause:
    """Return the cause of the requests of a notification."""
    kind: CauseKind = notification.kind
    if notification.sync:
        kind = "resync" if notification.origin == "resync" else "relist"
    obj = notification.obj
    return _cause(kind, obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj)


def _cause(kind: CauseKind, obj: Any) -> Cause:
    if not isinstance(obj, Mapping):
        return Cause(kind)
    meta = obj.get("metadata") or {}
    return Cause(
        kind,
        obj.get("apiVersion") or "",
        obj.get("kind") or "",
        meta.get("namespace") or "",
        meta.get("name") or "",
        resource_version(obj),
    )


class KindSource:
    """The objects of a kind, through the informer of a cache (controller-runtime: source.Kind).

    `after_sync`: add the handler after the informer has synced, as controller-runtime does; the first resync is then
    delivered after two periods. Otherwise the handler is added first, and the first resync is delivered after one
    period.
    """

    api_version: str
    kind: str

    def __init__(
        self,
        cache: Informers,
        api_version: str,
        kind: str,
        handler: EventHandler,
        predicates: Sequence[Predicate] = (),
        *,
        form: Form = "structured",
        after_sync: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """ValueError if the kind is missing."""
        if not api_version or not kind:
            raise ValueError("must create Kind with a non-empty apiVersion and kind")
        self._cache, self.api_version, self.kind = cache, api_version, kind
        self.handler: EventHandler = handler
        self._predicates, self._form, self._after_sync = tuple(predicates), form, after_sync
        self._clock: Clock = clock or SystemClock()
        self._synced = OnceEvent()

    def __repr__(self) -> str:
        return f"kind source: {self.api_version} {self.kind}"

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Start to get the informer; retried every 10 s."""
        tasks.start(self._run(queue), f"source {self.kind}")

    async def wait_synced(self) -> None:
        """Wait until the handler has processed the initial list."""
        await self._synced.wait()

    async def _run(self, queue: RequestQueue) -> None:
        while True:
            try:
                informer = await self._find()
                break
            except REQUEST_ERRORS as error:
                _log.error(
                    "if kind is a CRD, it should be installed: %s %s, watched by controller %s: %s",
                    self.api_version,
                    self.kind,
                    queue.controller,
                    error,
                    extra={"kind": self.kind, "error": str(error)},
                )
            await sleep(self._clock, RETRY)
        registration = informer.add_handler(SourceEventHandler(self.handler, queue, self._predicates))
        try:
            await informer.wait_synced()
            await registration.wait_synced()
            self._synced.set()
        except BaseException:
            informer.remove_handler(registration)
            raise
        try:
            await asyncio.get_running_loop().create_future()  # until cancelled
        finally:
            informer.remove_handler(registration)

    async def _find(self) -> CacheInformer:
        prepare = getattr(self.handler, "prepare", None)
        if prepare is not None:
            await prepare(self._cache.mapper)
        return await self._cache.get_informer(
            self.api_version, self.kind, form=self._form, block_until_synced=self._after_sync
        )


class InformerSource:
    """The objects of an informer that is run elsewhere; does not wait for its sync (controller-runtime:
    source.Informer).
    """

    def __init__(self, informer: CacheInformer, handler: EventHandler, predicates: Sequence[Predicate] = ()) -> None:
        self._informer, self._handler, self._predicates = informer, handler, tuple(predicates)

    def __repr__(self) -> str:
        return f"informer source: {self._informer!r}"

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Add the handler."""
        self._informer.add_handler(SourceEventHandler(self._handler, queue, self._predicates))

    async def wait_synced(self) -> None:
        """Return immediately."""


class ChannelSource:
    """Events from outside the API, passed to `send`; those sent before the start are handled at the start.

    Source: controller-runtime, source.Channel.
    """

    def __init__(
        self,
        handler: EventHandler,
        predicates: Sequence[Predicate] = (),
        events: AsyncIterator[GenericEvent] | None = None,
    ) -> None:
        """`events`: a stream of further events; when it ends, the controller continues."""
        self._handler, self._predicates, self._events = handler, tuple(predicates), events
        self._early: deque[GenericEvent] = deque()
        self._queue: RequestQueue | None = None
        self._closed = False

    def __repr__(self) -> str:
        return "channel source"

    def send(self, event: GenericEvent) -> HandlerResult:
        """Handle an event; ignored after `close`."""
        if self._closed:
            return None
        if self._queue is None:
            self._early.append(event)
            return None
        return self._handle(event)

    def close(self) -> None:
        """Ignore further events."""
        self._closed = True

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Handle the events sent so far, and then further ones."""
        self._queue = queue
        while self._early:
            answer = self._handle(self._early.popleft())
            if answer is not None:
                await answer
        if self._events is not None:
            tasks.start(self._read(self._events), "source channel")

    async def wait_synced(self) -> None:
        """Return immediately."""

    async def _read(self, events: AsyncIterator[GenericEvent]) -> None:
        async for event in events:
            answer = self._handle(event)
            if answer is not None:
                await answer

    def _handle(self, event: GenericEvent) -> HandlerResult:
        assert self._queue is not None
        if not passes(event, self._predicates):
            return None
        return self._handler.handle(event, self._queue.with_options(cause=_cause("generic", event.obj)))


class FuncSource:
    """A function that is called with the queue; it may be a coroutine function, which must return soon.

    Source: controller-runtime, source.Func.
    """

    def __init__(self, func: Callable[[RequestQueue], Awaitable[None] | None]) -> None:
        self._func = func

    def __repr__(self) -> str:
        return f"func source: {getattr(self._func, '__name__', self._func)}"

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Call the function."""
        answer = self._func(queue.with_options(cause=Cause("generic")))
        if inspect.isawaitable(answer):
            await answer

    async def wait_synced(self) -> None:
        """Return immediately."""
