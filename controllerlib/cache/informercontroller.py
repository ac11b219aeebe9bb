"""The controller of an informer: a reflector, a queue and the loop that fills the store (tools/cache/controller.go)."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllerlib.cache.delta import Batch, QueueClosed
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.deltaqueue import DeltaQueue
from controllerlib.cache.identity import InformerMetrics
from controllerlib.cache.listwatch import ListerWatcher
from controllerlib.cache.process import Notification, process_deltas
from controllerlib.cache.realfifo import RealFIFO, RealFIFOOptions
from controllerlib.cache.reflector import Reflector, ReflectorOptions, default_watch_error_handler
from controllerlib.cache.resourceeventhandler import InformerHandler, notifier
from controllerlib.cache.store import Indexer, IndexFunc, TransformFunc
from controllerlib.clock import Clock
from controllerlib.observer import NOOP_OBSERVER, Observer, overrides
from controllerlib.random import Random
from controllerlib.tasks import OnceEvent, Tasks

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InformerOptions:
    """Options of an informer.

    `fifo` "real" is the queue of informers since client-go 0.33, "delta" the DeltaFIFO before. `batches` False
    processes one delta per step (before 0.35).
    """

    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    fifo: str = "real"
    real_fifo: RealFIFOOptions = field(default_factory=RealFIFOOptions)
    batches: bool = True


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of an InformerController (client-go: cache.Config).

    `process` is called with each batch and may be a coroutine function. If it raises, `run` ends.
    """

    queue: DeltaQueue
    source: ListerWatcher
    process: Callable[[Batch], Awaitable[None] | None]
    name: str = ""
    expected: tuple[str, str] | None = None
    options: InformerOptions = field(default_factory=InformerOptions)
    transform: TransformFunc | None = None
    should_resync: Callable[[], bool] | None = None
    on_error: Callable[[BaseException], None] = default_watch_error_handler
    clock: Clock | None = None
    random: Random | None = None
    observer: Observer = NOOP_OBSERVER


class InformerController:
    """Runs a reflector and processes its queue (client-go: cache.Controller)."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._reflector = Reflector(
            config.source,
            config.queue,
            name=config.name,
            expected=config.expected,
            options=config.options.reflector,
            clock=config.clock,
            random=config.random,
            transform=config.transform,
            should_resync=config.should_resync,
            on_error=config.on_error,
            observer=config.observer,
        )

    @property
    def synced(self) -> OnceEvent:
        """Set when the first list was processed."""
        return self._config.queue.synced

    def has_synced(self) -> bool:
        """Return whether the first list was processed."""
        return self._config.queue.has_synced()

    @property
    def resource_version(self) -> str:
        """The last resourceVersion of the reflector; "" initially."""
        return self._reflector.resource_version

    async def run(self) -> None:
        """Run until cancelled; queued deltas are dropped then."""
        try:
            async with Tasks() as tasks:
                tasks.start(self._reflector.run(), f"reflector {self._config.name}")
                await self._process()
                tasks.cancel()
        finally:
            self._config.queue.close()

    async def _process(self) -> None:
        queue, process = self._config.queue, self._config.process
        limit = None if self._config.options.batches else 1
        while True:
            try:
                batch = await queue.take(limit)
            except QueueClosed:
                return
            try:
                answer = process(batch)
                if answer is not None and inspect.isawaitable(answer):
                    await answer
            finally:
                queue.finish(batch)


def delta_queue(
    options: InformerOptions,
    indexer: Indexer,
    transform: TransformFunc | None = None,
    *,
    metrics: InformerMetrics | None = None,
    clock: Clock | None = None,
) -> DeltaQueue:
    """Return the queue that `options` select, in front of `indexer`; `metrics` record its length and the store's
    version.
    """
    state: DeltaFIFO | RealFIFO
    if options.fifo == "delta":
        state = DeltaFIFO(known=indexer, transform=transform, emit_replaced=True)
    else:
        known = None if options.real_fifo.atomic else indexer
        state = RealFIFO(options.real_fifo, known=known, transform=transform)
    if metrics is None:
        return DeltaQueue(state, clock=clock)

    def stepped(seconds: float) -> None:
        metrics.processed(seconds)
        metrics.stored(indexer.resource_version)

    return DeltaQueue(state, clock=clock, on_length=metrics.queued, on_step=stepped)


def processor(
    indexer: Indexer, deliver: Callable[[Sequence[Notification]], Awaitable[None] | None], name: str, observer: Observer
) -> Callable[[Batch], Awaitable[None] | None]:
    """Return the function that applies a batch to `indexer` and then delivers the notifications; store errors are
    logged.
    """

    def process(batch: Batch) -> Awaitable[None] | None:
        notifications, error = process_deltas(indexer, batch)
        if error is not None:
            _log.error("deltas not processed", extra={"informer": name, "error": str(error)})
        return deliver(notifications)

    if not overrides(observer, "before_delta"):
        return process

    async def held(batch: Batch) -> None:
        for delta in batch.deltas:
            await observer.before_delta(name, delta)
        answer = process(batch)
        if inspect.isawaitable(answer):
            await answer

    return held


def new_informer(
    source: ListerWatcher,
    handler: InformerHandler,
    *,
    name: str = "",
    resync_period: float = 0.0,
    indexers: Mapping[str, IndexFunc] | None = None,
    transform: TransformFunc | None = None,
    options: InformerOptions | None = None,
    expected: tuple[str, str] | None = None,
    clock: Clock | None = None,
    random: Random | None = None,
    observer: Observer = NOOP_OBSERVER,
) -> tuple[Indexer, InformerController]:
    """Create a store and the controller that fills it and calls one handler in the same loop.

    A slow handler delays the store, and an exception of the handler ends `run` (client-go: NewInformerWithOptions).
    """
    options = options or InformerOptions()
    if resync_period:
        reflector = ReflectorOptions(**{**_fields(options.reflector), "resync_period": resync_period})
        options = InformerOptions(reflector, options.fifo, options.real_fifo, options.batches)
    indexer = Indexer(indexers=indexers)
    notify = notifier(handler)

    async def deliver(notifications: Sequence[Notification]) -> None:
        for notification in notifications:
            answer = notify(notification)
            if answer is not None:
                await answer

    config = Config(
        delta_queue(options, indexer, transform),
        source,
        processor(indexer, deliver, name, observer),
        name=name,
        expected=expected,
        options=options,
        transform=transform,
        clock=clock,
        random=random,
        observer=observer,
    )
    return indexer, InformerController(config)


def _fields(options: ReflectorOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__dataclass_fields__}
