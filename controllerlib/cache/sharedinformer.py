"""The shared informer: one list and watch for several handlers (client-go: tools/cache/shared_informer.go)."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from controllerlib.cache.identity import InformerMetrics
from controllerlib.cache.informercontroller import Config, InformerController, InformerOptions, delta_queue, processor
from controllerlib.cache.listwatch import ListerWatcher
from controllerlib.cache.process import Notification
from controllerlib.cache.processorlistener import ProcessorListener, ResourceEventHandlerRegistration
from controllerlib.cache.reflector import default_watch_error_handler
from controllerlib.cache.resourceeventhandler import InformerHandler
from controllerlib.cache.resync import effective_period, period_for_new_handler
from controllerlib.cache.store import Indexer, IndexFunc, TransformFunc
from controllerlib.clock import Clock, SystemClock
from controllerlib.observer import NOOP_OBSERVER, Observer, overrides
from controllerlib.random import Random
from controllerlib.tasks import OnceEvent, Tasks

_log = logging.getLogger(__name__)


class SharedIndexInformer:
    """A store that is kept up to date, and handlers that are called for every change.

    Handlers are independent: each has its own queue and may have its own resync period. Unchanged objects (same
    resourceVersion, from a resync or a relist) are delivered only to handlers whose resync is due.

    Source: client-go, cache.SharedIndexInformer.
    """

    name: str
    indexer: Indexer

    def __init__(
        self,
        source: ListerWatcher,
        *,
        name: str = "",
        expected: tuple[str, str] | None = None,
        resync_period: float = 0.0,
        indexers: Mapping[str, IndexFunc] | None = None,
        options: InformerOptions | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        observer: Observer = NOOP_OBSERVER,
        skip_handler_failures: bool = False,
        metrics: InformerMetrics | None = None,
    ) -> None:
        """`resync_period` (seconds, 0: no resync at all) is how often handlers' periods are checked, and their default.

        `skip_handler_failures`: a failed notification is skipped after a delay of one second; otherwise `run` fails.
        """
        self._source, self.name, self._expected = source, name, expected
        self.indexer = Indexer(indexers=indexers)
        self._options = options or InformerOptions()
        self._clock: Clock = clock or SystemClock()
        self._random, self._observer = random, observer
        self._skip_failures, self._metrics = skip_handler_failures, metrics
        self._check_period = self._default_period = resync_period
        self._listeners: dict[ProcessorListener, None] = {}
        self._ids = itertools.count(1)
        self._controller: InformerController | None = None
        self._tasks: Tasks | None = None
        self._transform: TransformFunc | None = None
        self._on_error: Callable[[BaseException], None] = default_watch_error_handler
        self._started = self._stopped = False
        self._synced = OnceEvent()

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "running" if self._started else "new"
        return (
            f"<SharedInformer {self.name or '-'} {state} objects={len(self.indexer)} handlers={len(self._listeners)}>"
        )

    @property
    def synced(self) -> OnceEvent:
        """Set when the first list is in the store; handlers may lag behind."""
        return self._synced

    @property
    def is_started(self) -> bool:
        """Whether it was started."""
        return self._started

    @property
    def is_stopped(self) -> bool:
        """Whether it has ended; it cannot be started again."""
        return self._stopped

    @property
    def resource_version(self) -> str:
        """The last resourceVersion of the reflector; "" initially."""
        return self._controller.resource_version if self._controller else ""

    @property
    def check_period(self) -> float:
        """How often resync periods are checked (seconds)."""
        return self._check_period

    def has_synced(self) -> bool:
        """Return whether the first list is in the store."""
        return self._synced.is_set()

    def set_transform(self, transform: TransformFunc) -> None:
        """Store the result of `transform` instead of each object; RuntimeError once started."""
        self._refuse_started()
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[BaseException], None]) -> None:
        """Call `handler` with errors of lists and watches; RuntimeError once started."""
        self._refuse_started()
        self._on_error = handler

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Add indices; RuntimeError when stopped, ValueError if a name is in use."""
        if self._stopped:
            raise RuntimeError("indexer was not added because it has stopped already")
        self.indexer.add_indexers(indexers)

    def add_handler(
        self, handler: InformerHandler, *, resync_period: float | None = None, name: str = ""
    ) -> ResourceEventHandlerRegistration:
        """Call `handler` for every change, after an add for each object that exists already.

        `resync_period` (seconds, default that of the informer) is rounded up to the check period; 0: no resync.
        RuntimeError when the informer has stopped.
        """
        if self._stopped:
            raise RuntimeError(f"handler {handler!r} was not added to shared informer because it has stopped already")
        requested = self._default_period if resync_period is None else resync_period
        now = self._clock.monotonic()
        requested, check = period_for_new_handler(requested, self._check_period, started=self._started)
        self._check_period = check
        there = self.indexer.list() if self._started else ()
        replay = [Notification("added", obj, None, True, "list", False) for obj in there]
        listener = ProcessorListener(
            handler,
            self._synced,
            name=name or f"{self.name}#{next(self._ids)}",
            period=effective_period(requested, check),
            now=now,
            clock=self._clock,
            skip_failures=self._skip_failures,
            observe=self._observe if overrides(self._observer, "handled") else None,
            replay=replay,
        )
        self._listeners[listener] = None
        if self._started:
            self._start(listener)
        return ResourceEventHandlerRegistration(listener, self)

    def remove_handler(self, registration: ResourceEventHandlerRegistration) -> None:
        """Remove a handler: a call in progress is finished, queued notifications are dropped. Unknown ones are
        ignored.
        """
        if not isinstance(registration, ResourceEventHandlerRegistration):
            raise TypeError(f"not a registration: {registration!r}")
        if registration.owner is self and registration.listener in self._listeners:
            del self._listeners[registration.listener]
            registration.listener.stop()

    async def shut_down_handler(self, registration: ResourceEventHandlerRegistration) -> None:
        """Remove a handler and wait until its last call has ended; must not be called by the handler itself."""
        self.remove_handler(registration)
        if registration.owner is self and self._started:
            await registration.listener.ended.wait()

    async def run(self) -> None:
        """Run until cancelled; a second call returns immediately. Raises the exceptions of handlers."""
        if self._started:
            _log.warning("the shared informer has started, run more than once is not allowed")
            return
        self._started = True
        options = self._options
        if options.reflector.resync_period != self._check_period:
            options = replace(options, reflector=replace(options.reflector, resync_period=self._check_period))
        queue = delta_queue(options, self.indexer, self._transform, metrics=self._metrics, clock=self._clock)
        config = Config(
            queue,
            self._source,
            processor(self.indexer, self._distribute, self.name, self._observer),
            name=self.name,
            expected=self._expected,
            options=options,
            transform=self._transform,
            should_resync=self._should_resync,
            on_error=self._on_error,
            clock=self._clock,
            random=self._random,
            observer=self._observer,
        )
        self._controller = InformerController(config)
        queue.synced.add_callback(self._synced.set)
        try:
            await self._run(self._controller)
        finally:
            self._stopped = True

    async def _run(self, controller: InformerController) -> None:
        cancelled: list[asyncio.CancelledError] = []
        async with Tasks() as tasks:
            self._tasks = tasks
            for listener in self._listeners:
                self._start(listener)
            try:
                await controller.run()
            except asyncio.CancelledError as error:
                cancelled.append(error)  # handlers finish the call in progress
            finally:
                self._stopped = True
                for listener in self._listeners:
                    listener.stop()
        if cancelled:
            raise cancelled.pop()  # popped: see tasks.Tasks

    def _start(self, listener: ProcessorListener) -> None:
        assert self._tasks is not None
        self._tasks.start(listener.run(), f"handler {listener.name}")

    def _distribute(self, notifications: Sequence[Notification]) -> None:
        initial = sync = 0
        for notification in notifications:
            if notification.sync:
                sync += 1
            elif notification.initial and notification.kind == "added":
                initial += 1
        for listener in self._listeners:
            if not sync or listener.syncing:
                listener.add(notifications, initial)
            elif sync < len(notifications):
                listener.add([notification for notification in notifications if not notification.sync], initial)

    def _should_resync(self) -> bool:
        now = self._clock.monotonic()
        for listener in self._listeners:
            listener.syncing = listener.is_due(now)
        return any(listener.syncing for listener in self._listeners)

    def _observe(self, handler: str, notification: Notification) -> None:
        self._observer.handled(self.name, handler, notification)

    def _refuse_started(self) -> None:
        if self._started:
            raise RuntimeError("informer has already started")
