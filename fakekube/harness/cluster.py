"""FakeKube: the cluster of a test, with a clock, an API server, any number of operators, and records of what they did.

The class is a facade: it has the public methods and their documentation, and delegates to the other modules of this
package. That is why the module is longer than others.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import os
import sys
from bdb import BdbQuit
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar, TypeVarTuple, Unpack, overload

from controllerlib import Manager
from controllerlib.cache import CacheOptions, Selection
from controllerlib.client import Writable, parse_selector
from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.kubelet import ExecHandler, ForwardHandler, InteractiveHandler, LogHandler
from fakekube.apiserver.needs import Service
from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.user import ADMIN, User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.controllers.catalogue import named, selection
from fakekube.harness import arguments
from fakekube.harness.assertions import recorded
from fakekube.harness.assertions.invariants import Invariant, Invariants, Predicate
from fakekube.harness.assertions.readonly import ReadOnlyCluster
from fakekube.harness.audit import Audit
from fakekube.harness.background import Background
from fakekube.harness.callbacks import reported
from fakekube.harness.clustercontrollers import ClusterController, ClusterControllers, Settling, settings_for
from fakekube.harness.connecting.endpoint import Endpoint
from fakekube.harness.connecting.outside import Environment, OutsideConnection, OutsideConnections
from fakekube.harness.connecting.users import acting, user_of
from fakekube.harness.connecting.webhookserver import CONFIGURATIONS, WebhookServers, trusting
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.finalchecks import FinalChecks
from fakekube.harness.detectors.finding import Finding, FindingWarning
from fakekube.harness.detectors.known.requesting.faultuse import hit_summary, shown
from fakekube.harness.detectors.knowndetectors import levels_of
from fakekube.harness.detectors.remains.swallowed import Swallowed
from fakekube.harness.driving.again import factory_of
from fakekube.harness.driving.driver import Driver
from fakekube.harness.driving.externalwait import INTERVAL, Quiet, until
from fakekube.harness.driving.steps import Steps, calling
from fakekube.harness.faultinjection.deltaobserver import DeltaObserver
from fakekube.harness.faultinjection.disruptions import Disruptions
from fakekube.harness.faultinjection.leases import taken
from fakekube.harness.faultinjection.plannedkill import PlannedKill
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.harness.idempotence import IdempotenceCheck
from fakekube.harness.keywords import (
    DeleteOptions,
    EventFields,
    FaultOptions,
    ManagerOptions,
    NodeOptions,
    RequestFields,
    check_names,
)
from fakekube.harness.ledger import Ledger
from fakekube.harness.lifetime import CLOSED, NOT_OPEN, check_can_open, check_reachable
from fakekube.harness.managers import Build, Connection, Transport, build_into, manager_for, over_http, settings_of
from fakekube.harness.objects import TEST_AGENT, DirectRequests, Object, Objects, Source, key_in
from fakekube.harness.operator import Launch, Operator
from fakekube.harness.reconcileobserver import ReconcileObserver
from fakekube.harness.records.identity import CLUSTER
from fakekube.harness.state import loading
from fakekube.harness.state.clusterstate import ClusterState
from fakekube.harness.state.golden import GoldenFiles
from fakekube.harness.state.loading import Manifests
from fakekube.harness.state.snapshot import Snapshot
from fakekube.harness.state.versionhistory import VersionHistory
from fakekube.harness.timeline import Timeline
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble, Deadlock, HotLoop, NotQuiescent, VirtualClock
from fakekube.virtualtime.bubble import Done
from fakekube.virtualtime.durations import Duration, TimeUnits
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.processes import ProcessOptions
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.shutdown import end_loops_of_threads
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current_client, running_in
from fakekube.virtualtime.threads.scheduler import BubbleThread

if TYPE_CHECKING:
    from fakekube.controllers.kubelet.stage import Stage
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.harness.accessreport import AccessReport
    from fakekube.harness.pods.simulatednode import SimulatedNode
    from fakekube.harness.pods.simulatedpods import Scope, SimulatedPods

E = TypeVar("E", bound=Iterable[Any])
T = TypeVar("T")
Exec = TypeVar("Exec", bound=ExecHandler | InteractiveHandler)
Args = TypeVarTuple("Args")

#: What runs in a process of its own: an operator, or what `task` and `thread` return.
Target = Operator | asyncio.Task[None] | BubbleThread


class Perturbed(Protocol):
    """A run of the test under the faults of a plan (`fakekube.simulation`)."""

    @property
    def calm(self) -> bool:
        """Whether the plan has no faults."""

    async def recovered(self) -> None:
        """Wait until what a fault has broken is mended."""

    def awaited(self) -> None:
        """Called when the test waits for an operator."""

    def moves(self) -> None:
        """Called when a step of the test begins."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """A step of the test."""

    def skips(self) -> bool:
        """Whether the test's writes are left out."""

    def external(self, name: str, fake: Any) -> None:
        """An outside API, whose items are part of the final state."""

    def absorbs(self, error: BaseException) -> bool:
        """Whether a failure of an operator is part of the plan."""


#: Bearer token of the cluster's administrator, where access is checked.
ADMIN_TOKEN = "admin-token"

#: The least seconds that a watch of the cluster's own controllers lasts: a year, so that time passes without requests.
WATCH_TIMEOUT = 365 * 86_400.0


#: The default of `hold`, which is not None: that is what a forgotten operator would be.
_ALL_CLIENTS: Any = object()


class FakeKube:
    """A Kubernetes cluster under virtual time. A context manager; one at a time is open in a process.

    seed: the source of all randomness. rbac: whether access is checked, with the bootstrap roles.
    stepped: reconciles run only when the test settles or moves time (None: in sync tests, not in async ones).
    wall_clock: whether `datetime.now()`, `time.time()` and `time.sleep()` of the code under test read virtual time.
    "time-machine" makes them do so with that library instead of freezegun.
    transport: how operators that are started here reach the server.
    controllers: the cluster's own controllers that run: names, "*" for those of kube-controller-manager, "-name".
    nodes: the number of simulated nodes, which need the scheduler and the kubelet: they run too.
    history_window: the number of changes that watches can resume from.
    version: the Kubernetes minor version whose kinds and fields are served, like "1.31".
    service_cluster_ip_range: the range of the addresses of Services; two, of different families, for dual stack.
    authorization_mode: authorizers, as in kube-apiserver's option: "Node,RBAC"; `rbac=True` is short for "RBAC".
    enable_admission_plugins, disable_admission_plugins: by kube-apiserver's names, beside the default ones:
    ["ServiceAccount"].
    patience: real seconds after which a busy thread, task or connection is an error.
    real_connections: whether code under test may connect to other machines, and to clusters of the developer's
    kubeconfig. KUBECONFIG and the variables of a pod are hidden in any case; `configure` sets them.
    detect: levels of detectors, "error", "warn" or "off": `{"noop-write": "off"}`; "all" sets all others.
    Raises TypeError, ValueError naming the argument.

    Methods that move time (`settle`, `advance`, `start`, ...) block in a sync test and must be awaited in an async one.
    Methods that read and write objects (`get`, `apply`, ...) do not wait in either.
    """

    def __init__(
        self,
        *,
        seed: int | str = 0,
        rbac: bool = False,
        stepped: bool | None = None,
        wall_clock: bool | Literal["freezegun", "time-machine"] = True,
        transport: Transport = "direct",
        history_window: int = 20_000,
        patience: float = 30.0,
        detect: Mapping[str, str] | None = None,
        version: str | None = None,
        controllers: Sequence[str] = (),
        nodes: int | None = None,
        service_cluster_ip_range: str = DEFAULT_RANGE,
        authorization_mode: str | None = None,
        enable_admission_plugins: Sequence[str] = (),
        disable_admission_plugins: Sequence[str] = (),
        real_connections: bool = False,
    ) -> None:
        arguments.check_cluster(
            seed=seed,
            rbac=rbac,
            stepped=stepped,
            wall_clock=wall_clock,
            transport=transport,
            history_window=history_window,
            patience=patience,
            version=version,
            controllers=controllers,
            nodes=nodes,
            service_cluster_ip_range=service_cluster_ip_range,
            real_connections=real_connections,
        )
        levels = levels_of(detect or {})
        selected = [one.name for one in selection(controllers, nodes)]
        mode = arguments.authorization_mode_of(rbac, authorization_mode, kubelets="kubelet" in selected)
        plugins = arguments.admission_plugins_of(enable_admission_plugins, disable_admission_plugins, controllers)
        self.seed = seed
        drawn = Seed(seed) if isinstance(seed, int) else Seed.of_name(seed)
        kind: Literal["memory", "tcp"] = "tcp" if transport == "tcp" else "memory"
        self._bubble = Bubble(seed=drawn, stepped=stepped, wall_clock=wall_clock, transport=kind, patience=patience)
        self._bubble.loop.fatal_errors = _outcomes()
        self._transport: Transport = transport
        self._random = random = SeededRandom(drawn)
        apiserver = bootstrap.api_server(
            self.clock.now(),
            random,
            authorization_mode=mode,
            history_window=history_window,
            version=version or bootstrap.KUBERNETES_VERSION,
            admission_plugins=plugins,
            options=ClusterOptions(service_cluster_ip_range),
            fixed_uids=True,
        )
        tokens = {ADMIN_TOKEN: ADMIN} if mode != "AlwaysAllow" else {}
        self._runner = ServerRunner(
            apiserver,
            self.clock,
            random,
            tokens=tokens,
            rounds=self._bubble.gate,
            spawn=self._bubble.loop.create_own_task,
        )
        self._driver = Driver(self._bubble.loop)
        self._perturbed: Perturbed | None = None
        self._endpoint = Endpoint(
            self._runner,
            self._driver.now_or_driven,
            tokens,
            ADMIN_TOKEN if tokens else "",
            network=self._bubble.loop.network,
        )
        self._disruptions = Disruptions(self._bubble, self._runner, self._endpoint.disconnect)
        serials = self._runner.serials
        self.timeline: Timeline = Timeline(self.clock.epoch, serials, partial(key_in, apiserver.catalog))
        self.ledger: Ledger = Ledger(self.clock.now, self.timeline, serials)
        self.ledger.on_error = partial(_end_if_it_ends_the_test, self._bubble.loop)
        self._audit = Audit(self._runner, self.clock, self.timeline, self.ledger.identities, TEST_AGENT)
        self._objects = Objects(apiserver, DirectRequests(self._runner, self._driver.driven))
        self._detection = Detection(self._runner, self.clock.now, TEST_AGENT, levels)
        self._detection.scene.inspected = self.ledger.inspected
        self._read_only = ReadOnlyCluster(self._runner, self._objects.resource, self.clock.now)
        self._invariants = Invariants(self._read_only, self.timeline, self.clock.epoch, self._runner.on_write)
        secret = self._bubble.seed.random("certificate authority").getrandbits(256)
        self._background = Background(self._bubble, self._absorbs)
        self._webhooks = WebhookServers(self._runner, self._driver.now_or_driven, secret, self._background.failed)
        self._environment = Environment()
        self._real_connections = real_connections
        self._steps = Steps()
        self._state = ClusterState(self._runner, random, self._bubble, self._objects, self.timeline, self._background)
        self._transports: list[DirectTransport] = []
        self._faults_made = 0
        self._metrics: Metrics | None = None
        self._controllers = self._cluster_controllers(controllers, nodes) if selected else None
        self.__dict__.update(NOT_OPEN)

    def __enter__(self) -> Self:
        check_can_open(is_open=self._bubble.closer is not None, is_closed=self._bubble.loop.is_closed())
        self._bubble.open()
        for name in NOT_OPEN:
            del self.__dict__[name]
        self._bubble.closer = self.close
        self._environment.hide()
        if not self._real_connections:
            self._bubble.loop.network.outside = OutsideConnections(self._refused).check
        self._detection.open(self._bubble, self._background.has_threads)
        if self._controllers is not None:
            self._controllers.operator.begin(self._bubble.loop)
            if not self._driver.in_async_test():
                self.settle()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self.findings_at_exit:
                self.check_findings()
        finally:
            self.close()
        if error is None:
            self._background.raise_failure()
            self._steps.finish()

    def __repr__(self) -> str:
        store = self._runner.apiserver.store
        return (
            f"<FakeKube {self._endpoint!r} rev={store.revision} objects={store.size()} "
            f"watches={len(self._runner.watches)} faults={len(self._runner.apiserver.faults.rules)}>"
        )

    def close(self) -> None:
        """End operators, watches and connections, and restore the wall clock. May be called again.

        Operators and tasks are cancelled, and have 30 seconds of virtual time to clean up. Raises NotQuiescent naming
        those that do not end, after everything else is closed, and FindingError for what detectors find in operators
        that have ended, if the findings before that were checked and none was an error. The records can still be read.
        They are freed with the cluster, as nothing else refers to them.
        """
        loop = self._bubble.loop
        if loop.is_closed():
            return
        self.__dict__.update(CLOSED)
        background, own = self._background, self._controllers.operator if self._controllers is not None else None
        with ExitStack() as steps:  # callbacks run in reverse order, each even if those before it failed
            for transport in self._transports:
                steps.callback(transport.retire)
            steps.callback(self._disruptions.retire)
            steps.callback(self.ledger.retire)
            steps.callback(self._audit.retire)
            steps.callback(self._runner.retire)
            steps.callback(self._detection.retire)
            steps.callback(self._bubble.close)
            steps.callback(self._environment.show)
            steps.callback(self._endpoint.forget_clients)
            steps.callback(lambda: loop.drive(self._end()))
            steps.callback(self._detection.closed)
            steps.callback(lambda: loop.drive(background.end(own, Swallowed(self._detection.report))))
            steps.callback(loop.threads.close)  # before the server, which they call, is closed
            steps.callback(end_loops_of_threads, loop)
            steps.callback(loop.processes.thaw_all)
        self._detection.raise_late()

    async def _end(self) -> None:
        self._runner.end_watches()
        await self._runner.aclose()
        await self._endpoint.aclose()
        await self._webhooks.aclose()

    def finish(self) -> None:
        """Called when the test has ended, before the tear-down of its fixtures.

        Raises NotAwaited naming what an async test had to await and did not.
        """
        self._steps.finish()

    @property
    def backend(self) -> str:
        """Which API server this is: "fakekube"; the fixtures also offer "envtest" and "cluster"."""
        return "fakekube"

    @property
    def namespace(self) -> str:
        """The namespace of objects that name none: "default". On other backends each test has one of its own."""
        return "default"

    @property
    def is_busy(self) -> bool:
        """Whether an operator, a task or a thread runs beside the test."""
        return self._background.is_busy

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> VirtualClock:
        """The cluster's clock: `now()`, `time()`, `monotonic()`, `hold(reason)`, `next_timers()`."""
        return self._bubble.clock

    @property
    def bubble(self) -> Bubble:
        """The bubble of virtual time: threads, processes, the seed and the trace of external clients."""
        return self._bubble

    def settle(self) -> Awaitable[None]:
        """Wait until the cluster is quiescent. Raises NotQuiescent, HotLoop, or what an operator failed with."""
        return self._step(self._bubble.settle)

    def advance(self, duration: Duration = 0, **units: Unpack[TimeUnits]) -> Awaitable[None]:
        """Move time (`advance(60)`, `advance("1h30m")`, `advance(hours=10)`); stops and settles at each timer."""
        return self._step(lambda: self._bubble.advance(duration, **units))

    def advance_to(self, moment: datetime | str) -> Awaitable[None]:
        """Move time to `moment`, an aware datetime or text in ISO format (`2026-01-01T12:00:00Z`)."""
        goal = arguments.moment_of(moment)
        return self._step(lambda: self._bubble.advance_to(goal))

    def advance_until(self, predicate: Callable[[], object], timeout: Duration) -> Awaitable[None]:
        """Move time until `predicate()` is true. Raises TimeoutError after `timeout`."""
        if not callable(predicate):
            raise TypeError(f"advance_until() takes a function, like `lambda: ...`, not {predicate!r}")
        if self._perturbed is not None:
            self._perturbed.awaited()
        return self._step(lambda: self._bubble.advance_until(predicate, timeout))

    def _step(self, move: Callable[[], Awaitable[None]]) -> Awaitable[None]:
        if self._driver.in_async_test():
            self._refuse_callback()
            return self._awaited(self._checked(move), "step")
        with self._reporting():
            done = move()
            if self._perturbed is not None:
                self._bubble.loop.drive(self._perturbed.recovered())
            return done

    def _refuse_callback(self) -> None:
        """Raises RuntimeError for a step in code that the event loop runs in a sync test."""
        if not self._bubble.loop.runs_test():
            raise RuntimeError(
                "a step (settle(), advance(), ...) in a callback, for example `before` of a fault, a predicate or a "
                "coroutine of task(): only the test itself settles or moves time"
            )

    def _awaited(self, work: Coroutine[Any, Any, T], name: str) -> Coroutine[Any, Any, T]:
        """`work`, which an async test must await: the test fails if it does not."""
        try:
            self._steps.check()
        except BaseException:
            work.close()
            raise
        return self._steps.make(work, name)

    async def _checked(self, move: Callable[[], Awaitable[None]]) -> None:
        with self._reporting():
            await move()
            if self._perturbed is not None:
                await self._perturbed.recovered()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raises what failed in the background instead of its consequences; names the writes of a hot loop."""
        if self._perturbed is not None:
            self._perturbed.moves()
        try:
            try:
                with self._detection.step():
                    yield
            except (Deadlock, HotLoop, NotQuiescent) as error:
                self._background.raise_failure(error)
                raise
            self._background.raise_failure()
            self._invariants.raise_violation()
        except HotLoop as error:
            for writer in self._audit.busiest():
                error.add_note(f"writes within this virtual second: {writer}")
            raise

    def why(self) -> str:
        """What is runnable, what waits and where, what holds time, and the work queues: one fact a line."""
        return "\n".join([self._bubble.why(), *self._background.facts(), *self._disruptions.facts()])

    # --- reaching the server ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address of the server, which listens on a free port of 127.0.0.1 when this is first read."""
        check_reachable("url", is_closed=self._bubble.loop.is_closed())
        return self._endpoint.url

    @property
    def kubeconfig(self) -> Path:
        """The path of a kubeconfig file for this cluster, which is removed when it closes."""
        check_reachable("kubeconfig", is_closed=self._bubble.loop.is_closed())
        return self._endpoint.kubeconfig

    def configure(self, *, service_account: str = "", user: User | str | None = None) -> None:
        """Point the configuration that operators load themselves at this cluster, until it closes.

        For every client: `KUBECONFIG`, also where a client has read it already; the files and the address that
        `load_incluster_config()` reads; default configurations are restored. As a service account
        (`namespace/name`), as a user, or by default as the administrator.
        """
        self._endpoint.configure(acting(service_account, user))

    def api_client(self, *, user: User | str | None = None) -> Any:
        """An official `kubernetes.client.ApiClient` for this cluster, as `user` (with `rbac=True`); closed with it."""
        return self._endpoint.api_client(user_of(user))

    def transport(self, *, user: User | str = ADMIN) -> DirectTransport:
        """A direct transport, as `user`: `controllerlib.Client(fakekube.transport(), user_agent="mine/1.0")`."""
        return DirectTransport(self._runner, user=user_of(user) or ADMIN, headers={"User-Agent": TEST_AGENT})

    # --- webhooks ----------------------------------------------------------------------------------------------------

    @property
    def ca_bundle(self) -> str:
        """The `caBundle` for webhooks that are served here: the CA's certificate, PEM in base64."""
        return self._webhooks.ca_bundle

    def serve_webhook(self, handler: Any, *, service: str, namespace: str = "default", port: int = 443) -> str:
        """Serve an aiohttp handler or `web.Application` over HTTPS, as a Service that webhook configurations can name.

        Returns its URL, which they can name instead. Raises ValueError if a webhook is served as that Service already.
        """
        return self._webhooks.serve(handler, Service(namespace, service, port))

    def map_service(self, service: str, url: str, *, namespace: str = "default") -> None:
        """Reach the webhooks and the aggregated APIs of a Service at `url`, like `https://127.0.0.1:9443`.

        Without it they are reached at a ready endpoint of the Service. The server there is verified as usual: its
        certificate is for `SERVICE.NAMESPACE.svc`, and signed by the caBundle of the configuration. Raises ValueError
        for another URL.
        """
        self._webhooks.map(Service(namespace, service, 0), url)

    def inject_ca_bundle(self) -> None:
        """Set the caBundle of webhooks and APIServices that name a Service and have none, as cert-manager does."""
        for api_version, kind in CONFIGURATIONS:
            for obj in self.list(api_version, kind, None):
                changed = trusting(dict(obj), self.ca_bundle)
                if changed is not None:
                    self.update(changed)

    def run_process(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Any:
        """Run a command (`kubectl apply ...`) to completion with KUBECONFIG and FAKEKUBE_URL set; time is held.

        An operator, which does not end, is started with `subprocess.Popen(..., env={**os.environ, "KUBECONFIG":
        str(fakekube.kubeconfig)})` instead, and `wait_for` waits for what it does.
        `options` are those of `subprocess.run`. Returns a CompletedProcess with the output as text; in an async test it
        must be awaited.
        """
        if isinstance(argv, str):
            raise TypeError(f"run_process({argv!r}): pass a list, {argv.split()!r}")
        if not argv:
            raise ValueError("run_process([]): the list names a program and its arguments")
        reached = {"KUBECONFIG": str(self.kubeconfig), "FAKEKUBE_URL": self.url}
        env = {**os.environ, **(options.get("env") or {}), **reached}
        options["env"] = env
        if self._driver.in_async_test():
            return self._awaited(self._bubble.run_process(argv, **options), "run_process")
        return self._bubble.run_process(argv, **options)

    def wait_for(
        self,
        condition: Callable[[], object] | None = None,
        *,
        times: int = 1,
        timeout: float = 10.0,
        **wanted: Unpack[RequestFields],
    ) -> Awaitable[None]:
        """Wait in real time for an operator in another process: for `times` requests with these fields, in the whole
        test (`wait_for(verb="create", resource="pods")`), or until `condition()` is true, which is checked after each
        request and each change, and ten times a second: `wait_for(lambda: process.poll() is not None)`.

        Virtual time is held. Raises TimeoutError after `timeout` real seconds. In an async test it must be awaited.
        """
        if condition is None and not wanted:
            raise TypeError("wait_for() needs a condition, or the fields of requests, as requests() takes them")
        self._requests(wanted)  # checks the fields

        def is_done() -> object:
            return condition() if condition is not None else len(self._audit.requests(wanted)) >= times

        what = f"waiting for {wanted}" if condition is None else "waiting for a condition"
        interval = None if condition is None else INTERVAL
        return self._in_real_time(until(is_done, self._bubble, self._runner, timeout, what, interval=interval))

    def wait_until_quiet(self, seconds: float = 0.5, *, timeout: float = 10.0) -> Awaitable[None]:
        """Wait in real time until operators in other processes have nothing left to do, as far as the server can see:
        each open watch has been sent what it selects, and no request but of the test itself was made for `seconds`.

        Virtual time is held. Raises TimeoutError after `timeout` real seconds, with what happened last. In an async
        test it must be awaited.
        """
        if not 0 < seconds < timeout:
            raise ValueError(f"wait_until_quiet(seconds={seconds:g}, timeout={timeout:g}): 0 < seconds < timeout")
        quiet = Quiet(self._runner, seconds, TEST_AGENT)
        what = f"waiting until nothing happens for {seconds:g} s"
        return self._in_real_time(self._quiet(quiet, until(
            quiet.is_so, self._bubble, self._runner, timeout, what, interval=seconds / 5, why=quiet.why_not
        )))  # fmt: skip

    async def _quiet(self, quiet: Quiet, wait: Coroutine[Any, Any, None]) -> None:
        forget = self._runner.on_request(quiet.note)
        try:
            await wait
        finally:
            forget()

    def _in_real_time(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        if self._driver.in_async_test():
            return work
        self._bubble.loop.drive(work)
        return Done()

    # --- what runs beside the test -----------------------------------------------------------------------------------

    def start(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        """Start an operator: `build(manager)` adds its controllers. Returns when they have synced and are quiescent.

        `name`: of the operator in records; by default that of its first controller, made unique ("db", "db-2").
        It acts as a service account (`namespace/name`), as a user, or by default as the administrator. `options` are
        those of `controllerlib.Manager`. In an async test it must be awaited. Raises what the manager fails with, and
        TypeError or ValueError for a `build` that adds nothing; warns about a kind that the cluster does not have.
        """
        operator = self.operator(build, name=name, service_account=service_account, user=user, **options)
        operator.begin(self._bubble.loop)
        if self._driver.in_async_test():
            self._steps.check()
            number = self._steps.expect(calling("start"))
            operator.when_awaited(lambda: self._steps.awaited(number))
        else:
            self.settle()
            operator.warn_of_unserved()
        return operator

    def operator(
        self,
        build: Build,
        *,
        name: str = "",
        service_account: str = "",
        user: User | str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Operator:
        """As `start`, but without starting it."""
        return self._launched(Launch(build, acting(service_account, user), options, name))

    def _launched(self, launch: Launch, restarts: str = "") -> Operator:
        """An operator, or the next incarnation of the one that is named `restarts`."""
        process, clock = SimulatedProcess(launch.name or "operator"), SkewedClock(self.clock)
        recording = ReconcileObserver(self.ledger, self.clock.now)
        transport = self._operator_transport(launch.user, recording.trace)
        observed, observer = self._detection.observe(process, recording)
        if self._disruptions.injector is not None:
            observer = DeltaObserver(
                observer, self._disruptions.injector, process, clock, partial(self._disruptions.kill, process)
            )
        with running_in(process):
            manager = manager_for(self._bubble, transport, observer, launch.options, process, clock)
            build_into(manager, launch.build, launch.options.get("election") is not None)
        identities, default = self.ledger.identities, next(iter(manager.controllers), "operator")
        identity = identities.next_incarnation(restarts) if restarts else identities.claim(launch.name, default)
        recording.identify(identity, manager.controllers)
        self._detection.built(observed, manager, identity.operator)
        operator = self._operated(manager, recording, process, clock)
        operator.launch = launch
        self._background.add(operator)
        return operator

    def _operated(
        self, manager: Manager, observer: ReconcileObserver, process: SimulatedProcess, clock: SkewedClock
    ) -> Operator:
        catalog, monotonic = self._runner.apiserver.catalog, self.clock.monotonic
        failed = self._background.operator_failed
        process.name = str(observer.identity)
        return Operator(
            manager, observer.identity, self.ledger, monotonic, self.settle, failed, catalog, process, clock
        )

    def _operator_transport(self, user: User | None, trace: Callable[[], str]) -> Connection:
        if self._transport == "direct":
            self._transports.append(DirectTransport(self._runner, user=user or ADMIN, trace=trace))
            return self._transports[-1]
        token = self._endpoint.admin if user is None else self._endpoint.token_of(user)
        return over_http(self.url, self._bubble, token, trace)

    def _cluster_controllers(self, names: Sequence[str], nodes: int | None) -> ClusterControllers:
        from fakekube.controllers.componentusers import component_user
        from fakekube.controllers.controllermanager import controller_manager
        from fakekube.controllers.nodespec import numbered

        observer = ReconcileObserver(self.ledger, self.clock.now)

        def connect(user: str) -> DirectTransport:
            self._transports.append(DirectTransport(self._runner, user=component_user(user), trace=observer.trace))
            return self._transports[-1]

        settings = settings_for(names, self._runner.apiserver.issuer, lambda: self._webhooks.authority)
        settings = replace(settings, metrics=self.metrics, nodes=None if nodes is None else numbered(nodes))
        cache = CacheOptions(
            sync_period_jitter=0.0, min_watch_timeout=WATCH_TIMEOUT, default=Selection(bookmarks=False)
        )
        process, clock = SimulatedProcess(CLUSTER), SkewedClock(self.clock)
        observer.identify(self.ledger.identities.claim(CLUSTER, CLUSTER))
        options = {**settings_of(self._bubble, observer, process, clock), "cache": cache}
        running = controller_manager(names, connect, settings, **options)
        if "kubelet" in running.parts:
            running.parts["kubelet"].answers.install(self._runner.apiserver.kubelet)
        operator = self._operated(running.manager, observer, process, clock)
        return ClusterControllers(running, operator, Settling(self.settle, self._driver.in_async_test, self._awaited))

    @property
    def metrics(self) -> Metrics:
        """The metrics that HorizontalPodAutoscalers read, which a test sets."""
        if self._metrics is None:
            from fakekube.controllers.scalingmetrics import Metrics

            self._metrics = Metrics()
        return self._metrics

    # --- simulated nodes and pods ---------------------------------------------------------------------------------

    def add_node(self, name: str, **options: Unpack[NodeOptions]) -> SimulatedNode:
        """Add a simulated node: `add_node("big", cpu=64, memory="256Gi", pods=500, labels={...}, taints=[...])`.

        It is registered when the cluster settles, which this does in a sync test. Taints are mappings, or text like
        `key=value:NoSchedule`. Raises RuntimeError if no kubelet runs, TypeError or ValueError for
        an invalid option, ValueError for a name in use.
        """
        from fakekube.harness.pods.simulatednode import SimulatedNode
        from fakekube.harness.pods.simulationarguments import node_spec

        scope = self._simulated("add_node()")
        agent = scope.kubelets.nodes.add_node(node_spec(name, dict(options)))
        if not self._driver.in_async_test():
            self.settle()
        return SimulatedNode(scope, agent)

    def node(self, name: str) -> SimulatedNode:
        """A simulated node, which a test can lose and recover. Raises KeyError for an unknown name."""
        from fakekube.harness.pods.simulatednode import SimulatedNode

        scope = self._simulated("node()")
        agents = scope.kubelets.agents
        if name not in agents:
            raise KeyError(f"no simulated node {name!r} (nodes: {', '.join(agents) or 'none'})")
        return SimulatedNode(scope, agents[name])

    def pods(
        self, label_selector: str | Mapping[str, str] = "", *, namespace: str | None = "default", name: str = ""
    ) -> SimulatedPods:
        """The pods on simulated nodes that match: `pods("app=web").crash()`. `name` may be a shell pattern.

        `namespace` None: those of all namespaces. Raises RuntimeError if no kubelet runs.
        """
        from fakekube.controllers.kubelet.stage import PodSelector
        from fakekube.harness.pods.simulatedpods import SimulatedPods
        from fakekube.harness.pods.simulationarguments import check_pods

        check_pods(namespace, name)
        text = arguments.selector("label_selector", label_selector)
        selector = PodSelector(parse_selector(text), namespace or "", name)
        return SimulatedPods(self._simulated("pods()"), selector, text or name)

    def add_stages(self, source: str | Path | Stage) -> None:
        """Add stages, which decide before those that were added earlier: a Stage, YAML, or the path of a YAML file."""
        from fakekube.controllers.kubelet.stagedocument import stages_of
        from fakekube.harness.pods.simulationarguments import check_stage

        scope = self._simulated("add_stages()")
        stages = stages_of(source) if isinstance(source, str | Path) else [source]
        for stage in reversed(stages):
            check_stage(stage)
            scope.kubelets.stages.add(stage)

    def _simulated(self, caller: str) -> Scope:
        kubelets = self._controllers.part("kubelet") if self._controllers is not None else None
        if kubelets is None:
            raise RuntimeError(f"{caller}: no kubelet runs; pass nodes=1, or controllers=['scheduler', 'kubelet']")
        from fakekube.controllers.kubelet.podscripts import PodScripts
        from fakekube.harness.pods.simulatedpods import Scope

        return Scope(kubelets, PodScripts(kubelets), self.settle, self._detection.scene.scripts.append)

    def controller(self, name: str) -> ClusterController:
        """One of the cluster's own controllers, by its name in kube-controller-manager or its alias: "deployment".

        It can be held and stepped, and asserted on like a controller of an operator. Raises KeyError if it does not
        run.
        """
        if self._controllers is None:
            try:
                named(name)
            except ValueError as problem:
                raise KeyError(str(problem)) from None
            raise KeyError(f"no controller {name!r} of the cluster runs: select it with controllers=[{name!r}]")
        return self._controllers.named(name)

    def stop(self, operator: Operator) -> Awaitable[None]:
        """Stop an operator as SIGTERM would: reconciles that run are finished first."""
        if not isinstance(operator, Operator):
            raise TypeError(f"stop() takes an operator as start() returns it, not {operator!r}")
        operator = self._background.present(operator, "stop")
        if self._driver.in_async_test():
            return self._awaited(self._stopped(operator), "stop")
        self._bubble.loop.drive(operator.end())
        return self.settle()

    async def _stopped(self, operator: Operator) -> None:
        await operator.end()
        await self.settle()

    @overload
    def kill(self, operator: Target) -> Awaitable[None]: ...
    @overload
    def kill(self, operator: Target, *, after_write: int) -> PlannedKill: ...
    @overload
    def kill(self, operator: Target, *, at: str) -> PlannedKill: ...

    def kill(
        self, operator: Target, *, after_write: int | None = None, at: str | None = None
    ) -> Awaitable[None] | PlannedKill:
        """Kill an operator, as SIGKILL does: at once, after its nth write from now on, or after the write of an anchor.

        Its connections break first, so that code which runs while its tasks end writes nothing. The last write is
        stored, and its answer is lost. `at`: `verb kind/name{field}#occurrence`, like
        `update statefulset/default/db{spec.replicas}#2`. An operator is what `start`, `task` or `thread` returned.
        """
        process = self._background.process_of(operator, "kill")
        if after_write is not None or at is not None:
            return self._disruptions.plan_kill(process, after_write, at)
        self._disruptions.kill(process)
        return self.settle()

    def _absorbs(self, error: BaseException) -> bool:
        return self._perturbed is not None and self._perturbed.absorbs(error)

    def _refused(self, error: OutsideConnection) -> None:
        """A connection to a server outside of the test was refused: the next step raises it, unless the test itself
        has made the connection."""
        if current_client() is not None or self._bubble.loop.threads.current() is not None:
            self._background.failed(error)

    def _relaunched(self, operator: Operator) -> Operator:
        """The next incarnation of an operator, which is killed if it still runs."""
        assert operator.launch is not None, "it was started by the test"
        if operator.is_alive:
            self._disruptions.kill(operator.process)
        operator.successor = self._launched(operator.launch, operator.name)
        return operator.successor

    def restart(self, operator: Operator) -> Operator:
        """Start an operator again, as a new process with new caches: its `build` is called with a new manager.

        It is killed first if it still runs. Its history remains that of `operator`, which no other method accepts any
        more: pass what this returns. In an async test the result must be awaited. For what `task` or `thread`
        runs, call these again.
        """
        if not isinstance(operator, Operator) or operator.launch is None:
            raise TypeError(f"restart() takes an operator as start() returns it, not {operator!r}")
        operator = self._background.present(operator, "restart")
        started = self._relaunched(operator)
        operator.replaced = True
        started.begin(self._bubble.loop)
        if not self._driver.in_async_test():
            self.settle()
            started.warn_of_unserved()
        return started

    def pause(self, operator: Target) -> None:
        """Stop an operator, as SIGSTOP does: none of its code runs, and its connections stay open."""
        self._disruptions.stop(self._background.process_of(operator, "pause"))

    def resume(self, operator: Target) -> Awaitable[None]:
        """Let a paused operator run on, as SIGCONT does. Timers that were due meanwhile fire at once."""
        self._disruptions.resume(self._background.process_of(operator, "resume"))
        return self.settle()

    def task(
        self, work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], *, name: str = ""
    ) -> asyncio.Task[None]:
        """Run a coroutine beside the test, for example a hand-written controller, until the cluster closes.

        `work` may be a function without arguments that returns the coroutine. Where an exploration kills the task, it
        is called again; for a coroutine its function is, with the same arguments. The next step of the test raises what
        it raises.
        """
        coroutine = work() if callable(work) else work
        if not asyncio.iscoroutine(coroutine):
            raise TypeError(f"task() takes a coroutine: call the async function, task(work()), not {work!r}")
        start = work if callable(work) else factory_of(coroutine)
        return self._background.task(coroutine, name, start)

    @overload
    def thread(self, function: Callable[[*Args], object], *args: *Args, name: str | None = None) -> BubbleThread: ...
    @overload
    def thread(
        self, function: Callable[..., object], *args: object, name: str | None = None, kwargs: Mapping[str, Any]
    ) -> BubbleThread: ...
    def thread(
        self,
        function: Callable[..., object],
        *args: object,
        name: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> BubbleThread:
        """Run sync code beside the test, for example an operator of the official client, under the same clock.

        The function gets `args` and the keyword arguments `kwargs`, as in `threading.Thread`. It may install handlers
        of signals, as in a process of its own (`signal`), and run an event loop. The next step of the test raises what
        it raises; `fakekube.bubble.join(thread)` waits for its end.
        """
        if not callable(function):
            raise TypeError(f"thread() takes a function, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"thread() takes a sync function: use task({function.__name__}()) for a coroutine")
        work = partial(function, *args, **(kwargs or {}))
        return self._background.thread(work, name or getattr(function, "__qualname__", None))

    def signal(self, thread: BubbleThread, number: int) -> Awaitable[None]:
        """Send a signal to an operator that `thread` has started: `signal(thread, signal.SIGTERM)`.

        The handler that it has installed runs in its thread, where that waits; without one the operator is killed, with
        all of its threads, but SIGINT raises KeyboardInterrupt in its thread. Then the cluster settles. Raises
        TypeError for a task: `cancel()` ends it as SIGTERM does.
        """
        if not isinstance(thread, BubbleThread):
            raise TypeError(
                f"signal({thread!r}): pass what thread() has returned; cancel a task instead: task.cancel()"
            )
        if thread.is_alive() and thread.process is not None and thread.dies_of(number):
            self._disruptions.kill(thread.process)
        else:
            self._bubble.signal(thread, number)
        return self.settle()

    # --- objects ---------------------------------------------------------------------------------------------------

    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Create objects, or replace existing ones, from files, directories and objects.

        Labels, annotations, finalizers and owner references that others have set are kept unless the new object sets
        them. For server-side apply use a client: `controllerlib.Client.apply`, or the official one. Raises
        ManifestError naming the object and the problem.
        """
        if self._perturbed is not None and self._perturbed.skips():
            return []
        return self._objects.apply(*sources)

    def create(self, obj: Writable) -> Object:
        """Create an object. Raises ApiError, or LookupError for a kind that the cluster does not have."""
        if self._perturbed is not None and self._perturbed.skips():
            return dict(arguments.written("create", obj))
        return self._objects.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object:
        """Get an object. Raises ApiError (NotFound)."""
        return self._objects.get(api_version, kind, name, namespace)

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        """Whether an object exists."""
        return self._objects.exists(api_version, kind, name, namespace)

    def list(
        self, api_version: str, kind: str, namespace: str | None = "default", *,
        label_selector: str | Mapping[str, str] = "", field_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:  # fmt: skip
        """The objects of a namespace, or of all (None), each with its apiVersion and kind.

        A selector is text (`"app=web,tier!=db"`) or a mapping of equal values.
        """
        return self._objects.list(api_version, kind, namespace, label_selector, field_selector)

    def update(self, obj: Writable, *, subresource: str = "") -> Object:
        """Replace an object, or its status with `subresource="status"`. Raises ApiError."""
        if self._perturbed is not None and self._perturbed.skips():
            return dict(arguments.written("update", obj))
        return self._objects.update(obj, subresource)

    def patch(
        self, api_version: str, kind: str, name: str, patch: Any, namespace: str = "default", *, subresource: str = ""
    ) -> Object:
        """Merge `patch` into an object; a list is a JSON Patch. Raises ApiError."""
        if self._perturbed is not None and self._perturbed.skips():
            return self._objects.get(api_version, kind, name, namespace)
        return self._objects.patch(api_version, kind, name, patch, namespace, subresource)

    def delete(
        self, api_version: str, kind: str, name: str, namespace: str = "default", **options: Unpack[DeleteOptions]
    ) -> Object:
        """Delete an object, with DeleteOptions (`propagationPolicy="Foreground"`). Raises ApiError."""
        if self._perturbed is not None and self._perturbed.skips():
            return {}
        return self._objects.delete(api_version, kind, name, namespace, options)

    # --- state -----------------------------------------------------------------------------------------------------

    @property
    def golden(self) -> GoldenFiles:
        """Where `assert_state` looks for golden files, and whether it writes them; the fixtures set both."""
        return self._state.golden

    def snapshot(self) -> Snapshot:
        """The state of the cluster, to return to with `restore`: objects, revision and random counters.

        It takes microseconds, because stored objects are immutable and shared. It can be restored as often as needed,
        also in other clusters with the same settings. Records, operators, faults and time are not part of it.
        """
        return self._state.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot, as a server that is restarted from a backup: every watch ends.

        If nothing runs beside the test, the cluster is exactly as it was, its resourceVersion included. Otherwise the
        resourceVersion continues above the present one and the history is compacted, so that operators list again.
        Time does not move backwards. Raises TypeError, and ValueError if the clusters have different settings.
        """
        self._state.restore(snapshot)

    def load(self, *sources: Manifests) -> builtins.list[Object]:
        """Create or replace the objects of manifests: files, directories, kustomizations, open files, or text.

        Namespaces and CustomResourceDefinitions are first. Otherwise as `apply`. A directory with a kustomization is
        built with `kustomize` or `kubectl`, one of which must be installed. Raises ManifestError.
        """
        objects = loading.read(sources)
        return self._objects.apply(objects) if objects else []

    def force_state(self, obj: Writable) -> Object:
        """Store an object as it is, even if no request could: without admission, validation and immutability.

        Its status, uid, creationTimestamp, deletionTimestamp and managedFields are kept; the server sets those that are
        missing, and always the resourceVersion. Watches receive the change. Raises ValueError for an object that
        has no name or fields that its schema does not have, LookupError for an unknown kind.
        """
        return self._state.force(obj)

    def export(
        self,
        path: str | Path | None = None,
        *,
        kinds: Sequence[str] | None = None,
        namespace: str | None = None,
        clean: bool = False,
    ) -> str:
        """The objects as YAML that `load` and kubectl accept; written to `path` if given.

        `kinds`: like ["Deployment", "v1 ConfigMap"]; by default all but Events, Leases, and what the server creates for
        others. `namespace`: only its objects, and the namespace. Objects of a new server that have not changed are left
        out. `clean`: without status and what servers set and allocate. Raises LookupError for an unknown kind.
        """
        return self._state.export(path, kinds, namespace, clean=clean)

    def assert_state(
        self,
        path: str | Path,
        *,
        kinds: Sequence[str] | None = None,
        namespace: str | None = None,
        ignore: Sequence[str] = (),
        unmasked: Sequence[str] = (),
    ) -> None:
        """Compare the objects with a golden file, which `pytest --fakekube-update-golden` writes.

        `path` is relative to the test's file. `kinds` and `namespace` are those of `export`. `ignore`: paths of fields,
        like ["status.conditions", "metadata.annotations[example.com/time]"]. Uids, times, resourceVersions, generated
        names and managedFields are masked, except those named in `unmasked` ("uids", "times", "resource_versions",
        "generated_names", "managed_fields"). Raises AssertionError with the differences.
        """
        self._state.check_golden(path, kinds, namespace, ignore, unmasked)

    # --- exploration -----------------------------------------------------------------------------------------------

    @property
    def calm(self) -> bool:
        """Whether nothing perturbs this run of the test: always, unless it is explored (docs/simulation.md)."""
        return self._perturbed is None or self._perturbed.calm

    def step(self, name: str) -> AbstractContextManager[None]:
        """A named part of the test, `with fakekube.step("resize"):`, which the shrinking of a failure may leave out.

        What the test writes in a step that is left out is not written.
        """
        if not isinstance(name, str) or not name:
            raise TypeError(f"step(name={name!r}): pass a text")
        return nullcontext() if self._perturbed is None else self._perturbed.step(name)

    def external(self, name: str, fake: E) -> E:
        """An outside API of which the operator makes and removes items: `fakekube.external("buckets", buckets)`.

        `fake` is iterable. An exploration crashes operators after they have changed it; what it has at the end of a run
        must be what it has without faults, and nothing is made more often. Returns `fake`.
        """
        iter(fake)
        if self._perturbed is not None:
            self._perturbed.external(name, fake)
        return fake

    # --- what happened ---------------------------------------------------------------------------------------------

    def requests(self, **wanted: Unpack[RequestFields]) -> Sequence[RequestRecord]:
        """The answered requests with these fields (verb, resource, name, code, ...), oldest first.

        Text may be a shell pattern: `user_agent="kubectl*"`. The test's own requests are left out unless `user_agent`
        is given. Raises TypeError for a field that a RequestRecord does not have, or a value of another type, and
        ValueError for a verb or a resource that no request has.
        """
        return self._requests(wanted)

    def _requests(self, wanted: RequestFields) -> Sequence[RequestRecord]:
        found = self._audit.requests(wanted)  # checks the types
        if not found and ("verb" in wanted or "resource" in wanted):
            log = self._runner.log
            resources = self._runner.apiserver.catalog.resources()
            arguments.check_requests(wanted, resources, lambda name: any(one.resource == name for one in log))
        return found

    def versions(self, api_version: str, kind: str, name: str, namespace: str = "default") -> VersionHistory:
        """The history of an object: the time and the new version of each change (None: deleted).

        `str()` of it shows the differences.
        """
        found = self._audit.versions(self._objects.resource(api_version, kind), name, namespace)
        return VersionHistory(f"{kind} {namespace}/{name}", found, self.clock.epoch, found.dropped)

    def diff(self, api_version: str, kind: str, name: str, namespace: str = "default") -> str:
        """What each change of an object has changed, field by field: `~ spec.replicas: 1 -> 2`."""
        return str(self.versions(api_version, kind, name, namespace))

    def events(self, **wanted: Unpack[EventFields]) -> Sequence[Object]:
        """The Events with these fields (`reason="Synced"`), in the order in which they were written.

        Raises TypeError for a field that an Event does not have.
        """
        check_names("events", wanted, EventFields)
        found = sorted(self.list("v1", "Event", None), key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [event for event in found if all(event.get(key) == value for key, value in wanted.items())]

    def log(self) -> str:
        """All reconciles, requests and stored changes, one a line, in the order in which they happened.

        A line begins with the time in microseconds since the cluster's start; a reconcile is where it began.
        The same test with the same seed, and the same versions of all libraries, gives the same log.
        """
        return "\n".join(line for _, line in sorted([*self.ledger.lines(self.clock.epoch), *self._audit.lines()]))

    def rbac_report(self, *, service_account: str = "", user: User | str | None = None) -> AccessReport:
        """Compares what a service account (`namespace/name`) or a user did with the roles that are bound to it.

        The report has used, missing and unused permissions, and minimal roles. It also works without `rbac=True`: then
        no request is denied, and the report has all missing permissions at once.
        """
        from fakekube.harness import accessreport

        found = acting(service_account, user)
        if found is None:
            raise ValueError("rbac_report() needs service_account= or user=")
        self.ledger.inspect_errors(found.name)
        return accessreport.report(self._runner.apiserver.store, self._runner.log, found)

    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing, and that an operator could save."""
        return self._audit.noop_writes()

    def assert_no_writes_at_rest(self, *, noops_allowed: bool = False) -> Awaitable[None]:
        """Advances by a second and reconciles everything again; raises AssertionError naming what was written.

        `noops_allowed`: ignore writes that change nothing, as of an operator that applies its objects each time.
        """
        check = self._idempotence_check(noops_allowed)
        if self._driver.in_async_test():
            return self._awaited(self._check_idempotence(check), "assert_no_writes_at_rest")
        self.advance(1)
        check.begin()
        done = self.settle()
        check.end()
        return done

    def _idempotence_check(self, noops_allowed: bool) -> IdempotenceCheck:
        return IdempotenceCheck(self._background.operators, self._audit, self.ledger, noops_allowed)

    async def _check_idempotence(self, check: IdempotenceCheck) -> None:
        await self.advance(1)
        check.begin()
        await self.settle()
        check.end()

    # --- assertions ----------------------------------------------------------------------------------------------

    def assert_reconciled(
        self,
        key: str,
        *,
        controller: str = "",
        times: int | None = None,
        causes: Sequence[str] | None = None,
        results: Sequence[str] | None = None,
        within: Duration | None = None,
    ) -> None:
        """Assert that a key was reconciled: `times`, for these `causes`, with these `results`; else at least once.

        `within`: only the reconciles that have started in the last so much virtual time count. Raises AssertionError
        with all reconciles, and LookupError if several controllers have reconciled the key and none is named.
        """
        done = [one for one in self.ledger if one.key == key and controller in ("", one.controller)]
        if not done:
            self._check_key(key, controller)
        names = list(dict.fromkeys(one.controller for one in done))
        if len(names) > 1:
            raise LookupError(f"{key} was reconciled by {', '.join(names)}: pass controller=")
        if results is not None:
            for one in done:
                self.ledger.inspect_errors(f"{one.operator}/{one.controller}")
        since = None if within is None else timedelta(seconds=arguments.seconds_of("within", within))
        recorded.check_reconciled(
            key, recorded.recent(done, self.clock.now(), since), self.clock.epoch,
            times=times, causes=causes, results=results,
        )  # fmt: skip

    def _check_key(self, key: str, controller: str) -> None:
        """Raises TypeError, ValueError for a key that no controller (with this name) can reconcile."""
        key = arguments.key_of(key)
        operators = [*self._background.operators, *([self._controllers.operator] if self._controllers else [])]
        views = [view for operator in operators for view in operator.views() if controller in ("", view.name)]
        problems = [view.problem_of(key) for view in views]
        if problems and all(problems):
            raise ValueError(problems[0])

    def assert_requests(self, times: int | None = None, **wanted: Unpack[RequestFields]) -> None:
        """Assert that there were `times` requests with these fields, by default at least one; see `requests`."""
        recorded.check_requests(self.requests(**wanted), self.requests(), wanted, times)

    def assert_written(
        self,
        api_version: str,
        kind: str,
        name: str,
        fields: Mapping[str, Any],
        namespace: str = "default",
        *,
        by: str = "*",
    ) -> None:
        """Assert that one version of an object had all these fields: `{"spec.replicas": 3, "status.phase": callable}`.

        A field is a path and a value, or a function that returns whether the value is as wanted. `by`: a shell pattern
        for the User-Agent of its writer. Raises AssertionError with these fields in all versions.
        """
        writers = {str(record.revision): record.user_agent or record.user for record in self._audit.writes_since(0)}
        writers.update({str(record.revision): TEST_AGENT for record in self.requests(user_agent=TEST_AGENT)})
        recorded.check_written(
            f"{kind} {namespace}/{name}", self.versions(api_version, kind, name, namespace), writers, fields, by,
            self.clock.epoch,
        )  # fmt: skip

    def always(self, predicate: Predicate, text: str) -> Invariant:
        """Check `predicate(cluster)` after each stored change: the next step raises AssertionError if it was false.

        `cluster` is a ReadOnlyCluster. It is checked until `stop()`, or the end of a `with` block.
        """
        return self._invariants.add(predicate, text, wanted=True)

    def never(self, predicate: Predicate, text: str) -> Invariant:
        """As `always`, for a predicate that must never be true."""
        return self._invariants.add(predicate, text, wanted=False)

    def eventually(self, predicate: Predicate, text: str = "", *, within: Duration) -> Awaitable[None]:
        """Move time until `predicate(cluster)` is true. Raises AssertionError with the timeline after `within`."""
        if not callable(predicate):
            raise TypeError(f"{predicate!r}: pass a function of the cluster, like `lambda cluster: ...`")
        if self._driver.in_async_test():
            return self._eventually(predicate, text, within)
        try:
            return self.advance_until(partial(predicate, self._read_only), within)
        except TimeoutError:
            raise self._not_so(text, within) from None

    async def _eventually(self, predicate: Predicate, text: str, within: Duration) -> None:
        try:
            await self.advance_until(partial(predicate, self._read_only), within)
        except TimeoutError:
            raise self._not_so(text, within) from None

    def _not_so(self, text: str, within: Duration) -> AssertionError:
        what = f"eventually: {text}\n" if text else ""
        # the pytest plugin, which also checks the findings, adds the timeline to the report
        story = f"\n\n{self.timeline.render(30)}" if self.findings_at_exit else ""
        return AssertionError(f"{what}not so within {within} of virtual time{story}")

    # --- detectors ---------------------------------------------------------------------------------------------------

    #: Whether the end of the `with` block checks for findings; the pytest plugin does that itself.
    findings_at_exit: bool = True

    #: Whether its test is run many times, by an exploration: then it ends as it has ended.
    is_explored: bool = False

    @property
    def findings(self) -> Sequence[Finding]:
        """What the detectors have found so far and the test has not allowed, oldest first."""
        return self._detection.findings

    def allow(self, detector: str, *, reason: str, match: str = "") -> None:
        """Ignore the findings of a detector whose text matches: `allow("noop-write", reason="applies each time")`.

        `match` is a regular expression. Raises TypeError without a reason, ValueError for an unknown detector.
        """
        self._detection.allow(detector, reason, match)

    def check_findings(self, *, raising: bool = True, warn: Callable[[FindingWarning], None] | None = None) -> None:
        """Let the detectors finish; raise FindingError if one at level `error` has found something, warn of the others.

        Called when the test or the `with` block ends. Later calls do nothing. `raising` False, for a test that has
        failed already: only complete `findings`.
        """
        if self._detection.is_over:
            return
        if not raising:
            self._detection.finish()
        else:
            self._invariants.raise_violation()
            driven = self.is_explored or self._disruptions.injector is not None
            disturbed = driven or bool(self._disruptions.facts())
            FinalChecks(self._detection, self._bubble, self._background.operators, disturbed).run()
            self._detection.raise_findings(warn)

    # --- fault injection -------------------------------------------------------------------------------------------

    def fault(self, **rule: Unpack[FaultOptions]) -> FaultRule:
        """Make matching requests fail, wait or break: `fault(verb="update", resource="backups", error=409, times=1)`.

        The fault lasts until `disarm()`, or until the end of a `with` block. The arguments are those of
        `fakekube.FaultRule`, which raises TypeError, ValueError; delays are seconds, a timedelta or text like "8s". The
        test's own requests are not affected unless `user_agent` matches them.
        """
        check_names("fault", rule, FaultOptions)
        self._faults_made += 1
        purpose = f"fault {self._faults_made}"
        rule.setdefault("except_agent", TEST_AGENT)
        rule.setdefault("draw", partial(self._bubble.seed.float, purpose))
        made = FaultRule(**arguments.in_seconds(rule))
        arguments.check_fault(made, self._runner.apiserver.catalog.resources())
        if made.before is not None:
            made.before = reported(made.before, self._background.failed)
        if made.draw is not None:
            made.draw = reported(made.draw, self._background.failed)
        made.on_hit = partial(_note_hit, self.timeline, self.clock, shown(made))
        self._runner.apiserver.faults.arm(made)
        self._detection.fault_made(made)
        return made

    def compact(self) -> None:
        """Drop the history: watches that resume from an earlier resourceVersion get 410 Gone."""
        self._runner.apiserver.store.compact()

    def hold(
        self,
        operator: Target = _ALL_CLIENTS,
        *,
        resource: str = "*",
        namespace: str = "*",
        user_agent: str = "*",
        at: int | str | None = None,
    ) -> Hold:
        """Hold watches: they deliver nothing after the resourceVersion `at` (None: the present one) until `release()`.

        Those of an operator (one of its informers, if `resource` names a plural), or of clients whose User-Agent
        matches. All others go on. A context manager releases at the end of the block.
        """
        process = None if operator is _ALL_CLIENTS else self._background.process_of(operator, "hold")
        return self._disruptions.hold(process, resource, namespace, user_agent, at)

    def restart_server(self, *, down: Duration = 0) -> Awaitable[None]:
        """Restart the API server: connections break and are refused while it is `down`; stored objects stay.

        Watches that resume from a resourceVersion before the restart get 410, as the watch cache is empty. The test's
        own reads and writes work meanwhile.
        """
        self._disruptions.restart_server(down)
        return self.settle()

    def jump(self, by: Duration, operator: Operator | None = None) -> None:
        """Move the wall clock of the API server's machine, or of an operator's; a number may be negative.

        Other clocks, timers and monotonic time do not move. For an operator it is the clock of its Manager:
        `datetime.now()` and `time.time()` are those of the test's process.
        """
        if operator is not None and not isinstance(operator, Operator):
            raise TypeError(f"jump() takes an operator as start() returns it, not {operator!r}")
        clock = None if operator is None else self._background.present(operator, "jump").clock
        self._disruptions.jump(clock, by)

    def take_lease(
        self, name: str, namespace: str = "default", *, holder: str = "another", unrealistic: bool = False
    ) -> Object:
        """Another candidate takes a Lease over, which must have expired. Raises ValueError, ApiError."""
        lease = self.get("coordination.k8s.io/v1", "Lease", name, namespace)
        return self.update(taken(lease, holder, self.clock.now(), unrealistic=unrealistic))

    def cut_watches(self) -> None:
        """End every open watch, as a restart of the server does; clients may watch again."""
        self._runner.end_watches()

    # --- kubelet: logs, exec, attach and port-forward --------------------------------------------------------------

    def on_logs(self, handler: LogHandler) -> LogHandler:
        """`handler` returns the log of a container (LogRequest -> text or bytes). Usable as a decorator."""
        self._runner.apiserver.kubelet.logs = reported(handler, self._background.failed)
        return handler

    def on_exec(self, handler: Exec) -> Exec:
        """`handler` runs a command in a container (ExecRequest -> its output, or an ExecResult).

        A generator function is interactive: it yields output, and the value of `yield` is the client's next input
        (`b""` at its end).
        """
        self._runner.apiserver.kubelet.exec = reported(handler, self._background.failed)
        return handler

    def on_attach(self, handler: Exec) -> Exec:
        """`handler` answers an attach to a container (ExecRequest without a command -> output)."""
        self._runner.apiserver.kubelet.attach = reported(handler, self._background.failed)
        return handler

    def on_port_forward(self, handler: ForwardHandler) -> ForwardHandler:
        """`handler` answers data that is sent to a port of a pod (ForwardRequest -> bytes)."""
        self._runner.apiserver.kubelet.forward = reported(handler, self._background.failed)
        return handler


def _outcomes() -> tuple[type[BaseException], ...]:
    """What ends a test of pytest wherever it is raised, for example by pytest-timeout in a task of an operator."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return (outcomes.OutcomeException, outcomes.Exit) if outcomes is not None else ()


def _end_if_it_ends_the_test(loop: VirtualTimeLoop, error: BaseException) -> None:
    """Raise from the loop what ends a test, and no reconcile: the debugger was left, or `pytest.exit()` was called."""
    if isinstance(error, (*loop.fatal_errors, BdbQuit)):
        loop.fail_with(error)


def _note_hit(timeline: Timeline, clock: VirtualClock, fault: str, info: RequestInfo) -> None:
    """Add a row for a fault that affects a request."""
    timeline.add(clock.now(), hit_summary, fault, info)
