"""The controller: sources fill its queue, workers call the reconciler (controller-runtime: pkg/internal/controller)."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from controllerlib.client.client import Client
from controllerlib.clock import Clock, Deadline, SystemClock
from controllerlib.controller.handler import RequestQueue
from controllerlib.controller.invocation import (
    Caller,
    Reconciler,
    RecoveredPanic,
    UnexpectedCancellation,
    is_panic,
)
from controllerlib.controller.outcome import Decision, decide
from controllerlib.controller.reconcile import Outcome, ReconcileError, Result, Run, is_terminal
from controllerlib.controller.source import Source
from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.reconcilemetrics import ControllerMetrics
from controllerlib.metrics.registry import Registry
from controllerlib.observer import NOOP_OBSERVER, Observer, set_current
from controllerlib.random import Random, SystemRandom
from controllerlib.tasks import ENDINGS, OnceEvent, Tasks, is_from_outside
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.item import WorkItem
from controllerlib.workqueue.queue import Gate, WorkQueue, priority_queue, work_queue
from controllerlib.workqueue.ratelimiters import (
    ItemExponentialFailureRateLimiter,
    RateLimiter,
    default_controller_rate_limiter,
)

#: What a controller logs to: a logger, or an adapter of one.
Log = logging.Logger | logging.LoggerAdapter[logging.Logger]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Options of a controller. None means the manager's value, or else the default in brackets. Times are seconds.

    `max_concurrent_reconciles` [1] · `cache_sync_timeout` [120]: for each source · `recover_panic` [True]: retry after
    bugs and after what is no Exception, instead of failing · `need_leader_election` [True] · `use_priority_queue`
    [True] · `enable_warmup` [False]: fill the queue before being elected · `reconciliation_timeout` [none] ·
    `rate_limiter`: creates the queue's rate limiter [5 ms..1000 s per item; with the plain queue also 10 per second in
    total] · `skip_name_validation` [False]

    Source: controller-runtime, controller.Options.
    """

    max_concurrent_reconciles: int | None = None
    cache_sync_timeout: float | None = None
    recover_panic: bool | None = None
    need_leader_election: bool | None = None
    use_priority_queue: bool | None = None
    enable_warmup: bool | None = None
    reconciliation_timeout: float | None = None
    rate_limiter: Callable[[], RateLimiter[Any]] | None = None
    skip_name_validation: bool | None = None

    def over(self, wider: "ControllerOptions") -> "ControllerOptions":
        """Return these options, completed by those of `wider` where they are None."""
        mine = {name: value for name in _OPTIONS if (value := getattr(self, name)) is not None}
        if mine.get("max_concurrent_reconciles", 1) <= 0:
            del mine["max_concurrent_reconciles"]
        return ControllerOptions(**{name: getattr(wider, name) for name in _OPTIONS} | mine)


#: `fields` and `replace` take longer than all else that a controller is made with.
_OPTIONS = tuple(field.name for field in fields(ControllerOptions))

#: controller-runtime's defaults.
DEFAULTS = ControllerOptions(
    max_concurrent_reconciles=1,
    cache_sync_timeout=120.0,
    recover_panic=True,
    need_leader_election=True,
    use_priority_queue=True,
    enable_warmup=False,
    skip_name_validation=False,
)


class Controller:
    """Reconciles requests: each by one worker at a time, up to `max_concurrent_reconciles` concurrently.

    Source: controller-runtime, controller.Controller.
    """

    options: ControllerOptions
    registry: Registry
    started: OnceEvent

    def __init__(
        self,
        name: str,
        reconcile: Reconciler,
        *,
        client: Client | None = None,
        options: ControllerOptions | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        gate: Gate | None = None,
        observer: Observer = NOOP_OBSERVER,
        registry: Registry | None = None,
        taken: set[str] | None = None,
        log: Log | None = None,
    ) -> None:
        """`client` is passed to the reconciler. `taken` contains the names in use (per manager; in Go, per process).
        Reconciles that fail are logged to `log`, by default the logger `controllerlib.controller.controller`.

        ValueError if the name is missing or in use, TypeError if there is no reconciler.
        """
        if not name:
            raise ValueError("must specify Name for Controller")
        self.name = name
        self.options = (options or ControllerOptions()).over(DEFAULTS)
        self._workers = self.options.max_concurrent_reconciles or 1
        self._caller = Caller(reconcile, client, self._workers)
        if taken is not None and not self.options.skip_name_validation:
            if name in taken:
                raise ValueError(
                    f"controller with name {name} already exists. Controller names must be unique to avoid multiple "
                    "controllers reporting the same metric. This validation can be disabled with "
                    "ControllerOptions(skip_name_validation=True)"
                )
            taken.add(name)
        self.registry = registry or Registry()
        self._clock: Clock = clock or SystemClock()
        self._random: Random = random or SystemRandom()
        self._gate, self._observer = gate, observer
        self._log: Log = log or _log
        self._metrics = ControllerMetrics(self.registry, name)
        self._queue_metrics = WorkQueueMetrics(self.registry, name, priorities=bool(self.options.use_priority_queue))
        self.registry.collectors.append(self._collect)
        self._sources: list[Source] = []
        self._runs = itertools.count(1)
        drawn = int(self._random.fraction("reconcile-id", name, 0) * _DRAWS)
        #: The first part of its reconcile ids, which have the form of a random UUID (version 4).
        self._id_head = f"{drawn >> 20:08x}-{drawn >> 4 & 0xFFFF:04x}-400{drawn & 0xF:x}-8000-"
        self.reconciled_kind: tuple[str, str] | None = None
        """The apiVersion and kind of the reconciled objects, if a Builder has made the controller for one."""
        self._queue: WorkQueue[Any] | None = None
        self._own_requests: RequestQueue | None = None
        self._tasks: Tasks | None = None
        self._main: asyncio.Task[Any] | None = None
        self._worker_tasks: list[asyncio.Task[Any]] = []
        self._was_started = self._sources_begun = False
        self._synced = OnceEvent()
        #: Set when the workers run.
        self.started = OnceEvent()
        self._stopping = OnceEvent()

    def __repr__(self) -> str:
        return f"<Controller {self.name} {self._queue!r}>"

    @property
    def reconciler(self) -> Callable[..., Any]:
        """The function or method that reconciles a request."""
        return self._caller.function

    @property
    def need_leader_election(self) -> bool:
        """Whether it runs on the leader only."""
        return self.options.need_leader_election is not False

    @property
    def warmup_enabled(self) -> bool:
        """Whether `warmup` starts the sources."""
        return self.options.enable_warmup is True

    @property
    def under_way(self) -> Sequence[str]:
        """The requests being reconciled."""
        return [] if self._queue is None else [str(request) for request in self._queue.processing()]

    @property
    def unsynced_sources(self) -> Sequence[Source]:
        """The sources that were added, until all of them have synced."""
        return tuple(self._sources)

    @property
    def queue(self) -> WorkQueue[Any]:
        """The queue; RuntimeError before the start."""
        if self._queue is None:
            raise RuntimeError(f"controller {self.name} has no queue before it is started")
        return self._queue

    def worker(self, number: int) -> "asyncio.Task[Any] | None":
        """Return the task of a worker, counted from 0; None before it was started."""
        return self._worker_tasks[number] if number < len(self._worker_tasks) else None

    async def watch(self, source: Source) -> None:
        """Add a source; if the controller has started, start the source without waiting until it has synced."""
        if self._tasks is None:
            self._sources.append(source)
        else:
            await source.start(self._requests(), self._tasks)

    def add_source(self, source: Source) -> None:
        """As `watch`, before the start."""
        self._sources.append(source)

    async def warmup(self) -> None:
        """Start the sources without the workers and run them until cancelled; does nothing unless warmup is enabled."""
        if self.warmup_enabled and not self._sources_begun:
            await self._host_sources()

    async def start(self) -> None:
        """Start the sources, wait until they have synced, and reconcile until cancelled.

        The first cancellation ends the sources and waits for the reconciles in progress; a second one cancels these.
        Raises RuntimeError when started twice, TimeoutError if a source does not sync, and the exceptions of sources.
        """
        if self._was_started:
            raise RuntimeError(
                "controller was started more than once. This is likely to be caused by being added to a manager "
                "multiple times"
            )
        self._was_started = True
        self._main = asyncio.current_task()
        self._metrics.begin(self._workers)
        cancelled: list[asyncio.CancelledError] = []
        try:
            async with Tasks() as workers:
                try:
                    async with Tasks() as others:
                        if not self._sources_begun:
                            others.start(self._host_sources(), f"sources {self.name}")
                        await self._synced.wait()
                        for number in range(self._workers):
                            task = workers.start(self._work(number), f"worker {self.name}/{number}")
                            self._worker_tasks.append(task)
                        self.started.set()
                        await asyncio.get_running_loop().create_future()  # until cancelled
                except asyncio.CancelledError as error:
                    cancelled.append(error)  # the workers may finish the reconciles in progress
                finally:
                    self._stopping.set()
                    if self._queue is not None:
                        self._queue.shut_down()
        finally:
            self._worker_tasks.clear()
            self._caller.close()
        if cancelled:
            raise cancelled.pop()  # popped: see tasks.Tasks

    # --- sources

    async def _host_sources(self) -> None:
        self._sources_begun = True
        self._make_queue()
        async with Tasks() as tasks:
            self._tasks = tasks
            async with Tasks() as starting:
                for source in self._sources:
                    starting.start(self._start_source(source, tasks), f"start {source!r}")
            self._sources.clear()
            self._synced.set()
            await asyncio.get_running_loop().create_future()  # until cancelled

    async def _start_source(self, source: Source, tasks: Tasks) -> None:
        limit = self.options.cache_sync_timeout
        deadline = None if limit is None else self._clock.monotonic() + limit
        begun = False
        try:
            async with Deadline(self._clock, deadline):
                await source.start(self._requests(), tasks)
                begun = True
                await source.wait_synced()
        except TimeoutError:
            if begun:
                raise TimeoutError(
                    f"failed to wait for {self.name} caches to sync {source!r}: "
                    f"timed out waiting for cache to be synced for {source!r}"
                ) from None
            raise TimeoutError(
                f"timed out waiting for source {source!r} to Start. Please ensure that its Start() method is "
                "non-blocking"
            ) from None

    def _make_queue(self) -> None:
        limiter = self.options.rate_limiter() if self.options.rate_limiter else None
        if self.options.use_priority_queue:
            self._queue = priority_queue(
                limiter or ItemExponentialFailureRateLimiter(),
                clock=self._clock,
                gate=self._gate,
                name=self.name,
                metrics=self._queue_metrics,
            )
        else:
            self._queue = work_queue(
                limiter or default_controller_rate_limiter(),
                clock=self._clock,
                gate=self._gate,
                name=self.name,
                metrics=self._queue_metrics,
            )

    def _requests(self) -> RequestQueue:
        if self._own_requests is None:
            self._own_requests = RequestQueue(self.queue, self.name, self._observer)
        return self._own_requests

    def _collect(self) -> None:
        if self._queue is not None and not self._queue.is_shut_down:
            self._queue_metrics.refresh(self._queue.processing(), self._clock.monotonic())

    # --- work

    async def _work(self, worker: int) -> None:
        queue, task = self.queue, asyncio.current_task()
        try:
            while (work := await queue.take()) is not None:
                try:
                    await self._process(worker, work, task)
                finally:
                    queue.done(work.item)
        except asyncio.CancelledError as error:
            if self._stopping.is_set() or (self._main is not None and self._main.cancelling()):
                raise
            raise RuntimeError(
                f"worker {worker} of controller {self.name} was cancelled, but the controller was not"
            ) from error

    async def _process(self, worker: int, work: WorkItem, task: "asyncio.Task[Any] | None") -> None:
        run = self._run(worker, work)
        set_current(run)
        self._observer.reconcile_started(run)
        self._metrics.started()
        result, timed_out = _NOTHING, False
        error: Exception | None = None
        try:
            limit = self.options.reconciliation_timeout
            due = None if limit is None else run.started + limit
            # threads cannot be cancelled
            deadline = Deadline(self._clock, due) if due is not None and self._caller.is_async else None
            try:
                if deadline is None:
                    result = await self._caller.call(work.item)
                else:
                    async with deadline:
                        result = await self._caller.call(work.item)
            finally:
                if due is not None:
                    timed_out = self._clock.monotonic() >= due if deadline is None else deadline.expired
        except BaseException as failure:
            if is_from_outside(failure, task):
                raise
            error = self._recovered(failure)
            if error is None:
                self._crashed(run, work, failure)
                raise
        finally:
            set_current(None)
        self._finish(run, work, result, error, timed_out)
        del error  # breaks the reference cycle of the traceback and this frame

    def _recovered(self, failure: BaseException) -> Exception | None:
        """Return the error after which the request is retried; None if `failure` ends the worker, and the manager."""
        if isinstance(failure, asyncio.CancelledError):
            stray = UnexpectedCancellation("the reconciler raised CancelledError but was not cancelled")
            stray.__cause__ = failure
            return stray
        if not is_panic(failure):
            return failure if isinstance(failure, Exception) else None
        return None if self.options.recover_panic is False else RecoveredPanic(failure)

    def _crashed(self, run: Run, work: WorkItem, failure: BaseException) -> None:
        """Note that a reconcile ends the manager."""
        if not isinstance(failure, ENDINGS):
            self._metrics.panics.add(self.name)
            self._log.error("Observed a panic in reconciler: %s, %s: %r", self.name, work.item, failure)
        self._observer.reconcile_finished(run, Outcome("error", _NOTHING, failure, None, self._clock.monotonic()))

    def _finish(self, run: Run, work: WorkItem, result: Result, error: Exception | None, timed_out: bool) -> None:
        terminal = error is not None and is_terminal(error)
        decision = decide(
            failed=error is not None, terminal=terminal, requeue=result.requeue, requeue_after=result.requeue_after
        )
        finished = self._clock.monotonic()
        if error is not None:
            item = str(work.item)
            place = {"controller": self.name, "request": item}
            self._log.error("Reconciler error: %s, %s", self.name, item, exc_info=error, extra=place)
        self._metrics.finished(
            decision.label,
            finished - run.started,
            terminal=terminal,
            panicked=isinstance(error, RecoveredPanic),
            timed_out=timed_out,
        )
        priority = error.priority if isinstance(error, ReconcileError) else result.priority
        after = self._requeue(work, decision, work.priority if priority is None else priority)
        self._observer.reconcile_finished(run, Outcome(decision.label, result, error, after, finished))

    def _requeue(self, work: WorkItem, decision: Decision, priority: int) -> float | None:
        """Requeue the item as decided; return the seconds until it is due, or None."""
        queue, item = self.queue, work.item
        if decision.forget:
            queue.forget(item)
        if decision.rate_limited:
            cause = _RETRY if decision.label == "error" else _REQUEUE
            self._requests().with_options(cause=cause, priority=priority).add(item, rate_limited=True)
        elif decision.after is not None:
            self._requests().with_options(cause=_REQUEUE_AFTER, priority=priority).add(item, after=decision.after)
        else:
            return None
        due = queue.due(item)
        return 0.0 if due is None else due - self._clock.monotonic()

    def _run(self, worker: int, work: WorkItem) -> Run:
        return Run(
            controller=self.name,
            request=work.item,
            id=f"{self._id_head}{next(self._runs):012x}",
            worker=worker,
            failures=self.queue.num_requeues(work.item),
            priority=work.priority,
            causes=work.causes,
            queued_since=work.since,
            started=self._clock.monotonic(),
            stopping=self._stopping,
        )


#: 13 hexadecimal digits, the precision of a fraction.
_DRAWS = 1 << 52

_NOTHING = Result()

_RETRY, _REQUEUE, _REQUEUE_AFTER = Cause("retry"), Cause("requeue"), Cause("requeue_after")
