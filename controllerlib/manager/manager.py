"""The manager: owns the shared cache, the client and the lifecycle of controllers (controller-runtime: pkg/manager)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from controllerlib.cache.cache import Cache
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.options import CacheOptions, Selection
from controllerlib.client.client import Client
from controllerlib.client.transport import Transport
from controllerlib.clock import Clock, Deadline, SystemClock
from controllerlib.controller.controller import Controller, ControllerOptions
from controllerlib.manager.builder import Builder
from controllerlib.manager.healthz import Checker
from controllerlib.manager.routing import GROUPS, GroupName, route
from controllerlib.manager.runnablegroup import RunnableGroup, RunnableGroupStopped, StartFunc
from controllerlib.metrics.registry import Registry
from controllerlib.metrics.requestmetrics import count_requests
from controllerlib.observer import NOOP_OBSERVER, Observer
from controllerlib.random import Random, SystemRandom
from controllerlib.record.provider import Provider
from controllerlib.tasks import OnceEvent, ended
from controllerlib.workqueue.queue import Gate

if TYPE_CHECKING:
    import ssl

    from controllerlib.leaderelection.leaderelection import Election
    from controllerlib.manager.metricsendpoint import ExtraHandler
    from controllerlib.manager.server import Endpoint, HttpServer
    from controllerlib.record import corev1, eventsv1
    from controllerlib.record.broadcaster import UniqueTimestamps

_log = logging.getLogger(__name__)


class GraceExpired(Exception):
    """Runnables have not ended within the grace period; the message names them (controller-runtime: manager)."""

    def __init__(self, grace: float, running: Sequence[str] = ()) -> None:
        left = f"; still running: {', '.join(running)}" if running else ""
        super().__init__(
            f"failed waiting for all runnables to end within grace period of {grace:g}s: "
            f"context deadline exceeded{left}"
        )


class LeaderElectionLost(Exception):
    """Another candidate leads now, so the process must end (controller-runtime: "leader election lost")."""

    def __init__(self) -> None:
        super().__init__("leader election lost")


class Manager:
    """Runs controllers and other runnables, in order, until cancelled (controller-runtime: manager.Manager)."""

    gate: Gate | None
    observer: Observer
    registry: Registry
    api_reader: Client
    cache: Cache
    client: Client
    user_agent: str
    handlers_after_sync: bool
    controller_defaults: ControllerOptions
    group_kind_concurrency: dict[str, int]
    elected: OnceEvent

    def __init__(
        self,
        transport: Transport | Client,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        gate: Gate | None = None,
        observer: Observer = NOOP_OBSERVER,
        user_agent: str = "controllerlib",
        sync_period: float = 36_000.0,
        sync_period_jitter: float = 0.1,
        namespaces: Mapping[str, Selection] | tuple[str, ...] = (),
        cache: CacheOptions | None = None,
        informers: InformerOptions | None = None,
        controllers: ControllerOptions | None = None,
        group_kind_concurrency: Mapping[str, int] | None = None,
        handlers_after_sync: bool = False,
        graceful_shutdown_timeout: float = 30.0,
        election: "Election | None" = None,
        registry: Registry | None = None,
        skip_handler_failures: bool = False,
        metrics_bind_address: str = "0",
        metrics_tls: "ssl.SSLContext | None" = None,
        health_probe_bind_address: str = "0",
        liveness_endpoint: str = "/healthz",
        readiness_endpoint: str = "/readyz",
    ) -> None:
        """Times are seconds.

        `sync_period`: the resync period, multiplied for each informer by a random factor of 1 ± `sync_period_jitter`.
        `namespaces`: those of the cache; empty means all. `cache` replaces these three. `controllers`: default options
        of controllers. `group_kind_concurrency`: number of workers by "Kind.group". `handlers_after_sync`: add handlers
        after their informer has synced, which is checked every 100 ms, as upstream does; the first resync is then
        delivered after two periods instead of one. `graceful_shutdown_timeout`: how long a shutdown waits for runnables
        (0: not at all, negative: no limit).

        `election`: leader election, see LeaderElection; None runs everything without one. `registry`: of the metrics.
        `metrics_bind_address`, `health_probe_bind_address`: addresses of /metrics and of the health checks, such as
        ":8080" for all interfaces; "0" or "" disables them. `metrics_tls`: serve /metrics over TLS.
        """
        self.clock: Clock = clock or SystemClock()
        self.random: Random = random or SystemRandom()
        self.gate, self.observer, self.registry = gate, observer, registry or Registry()
        live = transport if isinstance(transport, Client) else Client(transport)
        #: Reads and writes at the server.
        self.api_reader = live.with_options(user_agent=user_agent, observer=observer)
        names = namespaces if isinstance(namespaces, Mapping) else {name: Selection() for name in namespaces}
        options = cache or CacheOptions(sync_period, sync_period_jitter, names)
        self.cache = Cache(
            self.api_reader,
            options,
            clock=self.clock,
            random=self.random,
            observer=observer,
            informer_options=informers,
            skip_handler_failures=skip_handler_failures,
            poll=handlers_after_sync,
        )
        #: Reads from the cache, writes at the server.
        self.client = self.api_reader.with_options(reader=self.cache)
        self.user_agent, self.handlers_after_sync = user_agent, handlers_after_sync
        self.controller_defaults = controllers or ControllerOptions()
        self.group_kind_concurrency = dict(group_kind_concurrency or {})
        self.graceful_shutdown_timeout = graceful_shutdown_timeout
        #: The leader election; None without one.
        self.election = election
        self._events = Provider(self.api_reader, self.clock, self.random)
        #: Controllers by name.
        self.controllers: dict[str, Controller] = {}
        #: Names in use.
        self.controller_names: set[str] = set()
        self._groups: dict[GroupName, RunnableGroup] = {name: RunnableGroup(name, self._fail) for name in GROUPS}
        self._groups["caches"].add(self.cache.run, self._cache_ready, "cache")
        self._checks: dict[str, dict[str, Checker]] = {"healthz": {}, "readyz": {}}
        self._at_end: list[Callable[[], Awaitable[None]]] = []
        self._failure: asyncio.Future[None] | None = None
        self._leading: asyncio.Task[None] | None = None
        self._was_started = self._stopping = False
        #: Set when the runnables that need leader election were started.
        self.elected = OnceEvent()
        self._extra: dict[str, ExtraHandler] = {}
        #: The HTTP servers of this manager by name: "metrics", "health probe".
        self.servers: dict[str, HttpServer] = {}
        self._serve_metrics(metrics_bind_address, metrics_tls)
        self._serve_health(health_probe_bind_address, {liveness_endpoint: "healthz", readiness_endpoint: "readyz"})
        count_requests(self.registry, live.transport)

    def __repr__(self) -> str:
        return f"<Manager {', '.join(self.controllers) or 'without controllers'}>"

    @property
    def size(self) -> int:
        """The number of runnables, including the cache."""
        return sum(map(len, self._groups.values()))

    # --- building

    def controller(self, name: str = "") -> Builder:
        """Return a builder; the default name of the controller is its kind."""
        builder = Builder(self)
        return builder.named(name) if name else builder

    def add(self, runnable: Any) -> None:
        """Add a runnable: an object with a coroutine method `start`, or a coroutine function.

        For its group see routing.route. If the manager is running it is started at once; RunnableGroupStopped after
        that.
        """
        if self._stopping:
            raise RunnableGroupStopped
        where = route(runnable)
        run: StartFunc = getattr(runnable, "start", None) or getattr(runnable, "run", None) or runnable
        name = getattr(runnable, "name", "") or type(runnable).__name__
        if where.warmup:
            self._groups["warmup"].add(runnable.warmup, None, f"warmup {name}")
        self._groups[where.group].add(run, getattr(runnable, "wait_ready", None), name)

    def add_controller(self, controller: Controller) -> None:
        """Add a controller and register it by its name."""
        self.add(controller)
        self.controllers[controller.name] = controller

    def add_healthz_check(self, name: str, check: Checker) -> None:
        """Add a check that raises if the process is not alive; RuntimeError after the start."""
        self._add_check("healthz", name, check)

    def add_readyz_check(self, name: str, check: Checker) -> None:
        """Add a check that raises if the process is not ready; RuntimeError after the start."""
        self._add_check("readyz", name, check)

    def add_metrics_server_extra_handler(self, path: str, handler: "ExtraHandler") -> None:
        """Serve `path` beside /metrics, if that is served. ValueError if the path is in use, RuntimeError after the
        start.
        """
        if self._was_started:
            raise RuntimeError("unable to add new metrics handler because metrics endpoint has already been created")
        if path == "/metrics":
            raise ValueError("overriding builtin /metrics endpoint is not allowed")
        if path in self._extra:
            raise ValueError(f'can\'t register extra handler by duplicate path "{path}" on metrics http server')
        self._extra[path] = handler

    def checks(self, kind: str) -> Mapping[str, Checker]:
        """Return the checks of "healthz" or "readyz"."""
        return dict(self._checks[kind])

    def event_recorder(self, name: str) -> "eventsv1.EventRecorder":
        """Return a recorder of events.k8s.io/v1 Events reported by `name` (GetEventRecorder)."""
        return self._events.recorder(name)

    def event_recorder_for(self, name: str) -> "corev1.CoreEventRecorder":
        """Return a recorder of core/v1 Events from the component `name` (GetEventRecorderFor, deprecated upstream)."""
        return self._events.core_recorder(name)

    @property
    def event_timestamps(self) -> "UniqueTimestamps":
        """The timestamps of this manager's Events, for further broadcasters that write to the same server."""
        return self._events.timestamps

    def at_end(self, work: Callable[[], Awaitable[None]]) -> None:
        """Call `work` after all runnables have ended, before the queued events are written."""
        self._at_end.append(work)

    # --- running

    async def start(self) -> None:
        """Run until cancelled, or until a runnable fails: then stop everything and raise its exception.

        The first cancellation stops the runnables in order and waits for `graceful_shutdown_timeout`; a second one
        cancels the rest. Raises RuntimeError when started twice, GraceExpired (with the earlier failure as its cause)
        and LeaderElectionLost.
        """
        if self._was_started:
            raise RuntimeError("manager already started")
        self._was_started = True
        if self.election is not None:
            self.election.prepare(self)
        self._events.begin()
        loop = asyncio.get_running_loop()
        self._failure = loop.create_future()
        starting = loop.create_task(self._start_groups(), name="manager start")
        starting.add_done_callback(self._start_ended)
        outcome: list[BaseException] = []
        try:
            await self._failure
        except BaseException as error:  # raised after the stop procedure
            outcome.append(error)
        self._stopping = True
        starting.cancel()
        await ended(starting)
        late = await self._stop(0.0 if isinstance(outcome[0], LeaderElectionLost) else self.graceful_shutdown_timeout)
        if late is not None:
            raise late from outcome.pop()
        raise outcome.pop()  # popped: see tasks.Tasks

    async def wait_started(self) -> None:
        """Wait until all controllers have synced and their workers run; with leader election, until elected as well."""
        await self.elected.wait()
        for controller in list(self.controllers.values()):
            await controller.started.wait()

    async def _start_groups(self) -> None:
        for name in GROUPS[:-1]:
            await self._groups[name].start()
        if self.election is None:
            await self._lead()
        else:
            self._leading = asyncio.get_running_loop().create_task(
                self.election.run(self._lead), name="leader election"
            )
            self._leading.add_done_callback(self._leading_ended)

    async def _lead(self) -> None:
        await self._groups["leader_election"].start()
        self.elected.set()

    def _start_ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)

    def _leading_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled():
            error = task.exception()
            self._fail(error if error is not None else LeaderElectionLost())

    def _fail(self, error: BaseException) -> None:
        if self._failure is None or self._failure.done() or self._stopping:
            _log.error("error received after stop sequence was engaged", exc_info=error)
        else:
            self._failure.set_exception(error)

    # --- stopping

    async def _stop(self, grace: float) -> BaseException | None:
        """Stop everything; return the error of the stop procedure."""
        loop = asyncio.get_running_loop()
        if not self.elected.is_set():
            self._groups["leader_election"].refuse()
        stopping = loop.create_task(self._stop_groups(), name="manager stop")
        problem: BaseException | None = None
        deadline = None if grace < 0 else self.clock.monotonic() + grace
        try:
            if grace != 0:
                async with Deadline(self.clock, deadline):
                    await ended(stopping)
        except TimeoutError:
            problem = GraceExpired(grace, self._running())
        except asyncio.CancelledError as again:
            problem = again
        if not stopping.done():
            for group in self._groups.values():
                await group.kill()
            stopping.cancel()
            await ended(stopping)
        await self._end(-1.0 if deadline is None else max(0.0, deadline - self.clock.monotonic()))
        return problem

    def _running(self) -> Sequence[str]:
        """Return the runnables that were cancelled and have not ended, controllers with the requests in progress."""
        found = []
        for name in (name for group in self._groups.values() for name in group.ending):
            keys = self.controllers[name].under_way if name in self.controllers else ()
            found.append(f"{name} ({', '.join(keys)})" if keys else name)
        return found

    async def _stop_groups(self) -> None:
        groups = self._groups
        warmup = asyncio.get_running_loop().create_task(groups["warmup"].stop(), name="stop warmup")
        try:
            for name in ("others", "leader_election", "caches", "webhooks", "http"):
                await groups[name].stop()
            await ended(warmup)
        finally:
            warmup.cancel()

    async def _end(self, grace: float) -> None:
        """End leader election, then wait `grace` seconds (negative: no limit) until queued events are written."""
        if self._leading is not None and not self._leading.done():
            self._leading.cancel()
            await ended(self._leading)
        for work in self._at_end:
            await work()
        await self._events.stop(grace)

    async def _cache_ready(self) -> None:
        await self.cache.informers.started.wait()
        await self.cache.wait_synced()

    def _serve_metrics(self, address: str, tls: "ssl.SSLContext | None") -> None:
        if address not in ("", "0"):
            from controllerlib.manager.metricsendpoint import MetricsEndpoint

            self._serve("metrics", address, [MetricsEndpoint(self.registry, self._extra)], tls)

    def _serve_health(self, address: str, kinds: Mapping[str, str]) -> None:
        if address not in ("", "0"):
            from controllerlib.manager.server import HealthEndpoint

            self._serve(
                "health probe", address, [HealthEndpoint(path, self._checks[kind]) for path, kind in kinds.items()]
            )

    def _serve(
        self, name: str, address: str, endpoints: "Sequence[Endpoint]", tls: "ssl.SSLContext | None" = None
    ) -> None:
        from controllerlib.manager.server import HttpServer

        self.servers[name] = HttpServer(name, address, endpoints, tls=tls)
        self.add(self.servers[name])

    def _add_check(self, kind: str, name: str, check: Checker) -> None:
        if self._was_started:
            raise RuntimeError("unable to add new checker because manager has already been started")
        self._checks[kind][name] = check
