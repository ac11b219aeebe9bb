"""Makes the parts of a cluster from its settings, and opens and closes them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal

from fakekube.apiserver.user import ADMIN, User
from fakekube.clustersettings import ClusterSettings
from fakekube.controllers.catalogue import selection
from fakekube.harness import arguments
from fakekube.harness.assertions.invariants import Invariants
from fakekube.harness.assertions.readonly import ReadOnlyCluster
from fakekube.harness.audit import Audit
from fakekube.harness.clustercontrollers import ControllerSimulation
from fakekube.harness.connecting.endpoint import Endpoint
from fakekube.harness.connecting.outside import Environment, OutsideConnection, OutsideConnections
from fakekube.harness.connecting.realservers import RealServers
from fakekube.harness.connecting.webhookserver import WebhookServers
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.knowndetectors import levels_of
from fakekube.harness.detectors.remains.swallowed import Swallowed
from fakekube.harness.driving.driver import Driver
from fakekube.harness.faultinjection.disruptions import Disruptions
from fakekube.harness.launching import Operators
from fakekube.harness.ledger import Ledger
from fakekube.harness.objects import TEST_AGENT, DirectRequests, Objects, key_in
from fakekube.harness.operators.background import Background
from fakekube.harness.perturbation import Perturbation
from fakekube.harness.state.clusterstate import ClusterState
from fakekube.harness.stepping import Stepping
from fakekube.harness.timeline import Timeline, note_row
from fakekube.harness.unhandled import end_if_it_ends_the_test, outcomes
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.seeds import Seed
from fakekube.virtualtime.shutdown import end_loops_of_threads
from fakekube.virtualtime.simulatedprocess import current_client

#: Bearer token of the cluster's administrator, where access is checked.
ADMIN_TOKEN = "admin-token"


class Assembly:
    """The parts of a cluster under virtual time. Raises TypeError, ValueError naming the setting."""

    def __init__(self, settings: ClusterSettings) -> None:
        arguments.check_cluster(settings)
        self.settings = settings
        levels = levels_of(settings.detect or {})
        self.selected: list[str] = [one.name for one in selection(settings.controllers, settings.nodes)]
        mode = arguments.authorization_mode_of(
            settings.rbac, settings.authorization_mode, kubelets="kubelet" in self.selected
        )
        plugins = arguments.admission_plugins_of(
            settings.enable_admission_plugins, settings.disable_admission_plugins, settings.controllers
        )
        seed = settings.seed
        drawn = Seed(seed) if isinstance(seed, int) else Seed.of_name(seed)
        kind: Literal["memory", "tcp"] = "tcp" if settings.transport == "tcp" else "memory"
        self.bubble: Bubble = Bubble(
            seed=drawn, stepped=settings.stepped, wall_clock=settings.wall_clock, transport=kind,
            patience=settings.patience,
        )  # fmt: skip
        loop, clock = self.bubble.loop, self.bubble.clock
        loop.fatal_errors = outcomes()
        random = SeededRandom(drawn)
        apiserver = bootstrap.api_server(
            clock.now(),
            random,
            authorization_mode=mode,
            history_window=settings.history_window,
            version=settings.version or bootstrap.KUBERNETES_VERSION,
            admission_plugins=plugins,
            feature_gates=settings.feature_gates,
            options=ClusterOptions(settings.service_cluster_ip_range),
            fixed_uids=True,
        )
        tokens = {ADMIN_TOKEN: ADMIN} if mode != "AlwaysAllow" else {}
        self.server: ServerRunner = ServerRunner(
            apiserver, clock, random, tokens=tokens, rounds=self.bubble.gate, spawn=loop.create_own_task
        )
        self.server.webhooks.limit = RealServers(loop).limit
        driver = Driver(loop)
        self.perturbation: Perturbation = Perturbation()
        self.endpoint: Endpoint = Endpoint(
            self.server, driver.now_or_driven, tokens, ADMIN_TOKEN if tokens else "", network=loop.network
        )
        self.disruptions: Disruptions = Disruptions(self.bubble, self.server, self.endpoint.disconnect)
        serials = self.server.serials
        self.timeline: Timeline = Timeline(clock.epoch, serials, partial(key_in, apiserver.catalog))
        self.ledger: Ledger = Ledger(clock.now, self.timeline, serials)
        self.ledger.on_error = partial(end_if_it_ends_the_test, loop)
        self.audit: Audit = Audit(self.server, clock, self.timeline, self.ledger.identities, TEST_AGENT)
        self.objects: Objects = Objects(apiserver, DirectRequests(self.server, driver.driven))
        self.detection: Detection = Detection(self.server, clock.now, TEST_AGENT, levels)
        self.detection.scene.inspected = self.ledger.inspected
        self.detection.scene.note = partial(note_row, self.timeline, clock.now)
        self.ledger.waiting_for = self.detection.waiting_for
        self.read_only: ReadOnlyCluster = ReadOnlyCluster(self.server, self.objects.resource, clock.now)
        self.invariants: Invariants = Invariants(self.read_only, self.timeline, clock.epoch, self.server.on_write)
        secret = self.bubble.seed.random("certificate authority").getrandbits(256)
        self.background: Background = Background(self.bubble, self.perturbation.absorbs)
        self.webhooks: WebhookServers = WebhookServers(
            self.server, driver.now_or_driven, secret, self.background.failed
        )
        self.stepping: Stepping = Stepping(
            self.bubble, driver, self.perturbation, self.detection, self.background, self.invariants, self.audit
        )
        self.operators: Operators = Operators(
            self.bubble, self.server, self.endpoint, self.ledger, self.detection, self.disruptions, self.background,
            self.stepping, settings.transport, self.perturbation.released,
        )  # fmt: skip
        self.controllers: ControllerSimulation = ControllerSimulation(
            self.bubble, self.server, self.ledger, self.operators, self.stepping, self.detection.scene.scripts.append
        )
        self.state: ClusterState = ClusterState(
            self.server, random, self.bubble, self.objects, self.timeline, self.background
        )
        if self.selected:
            self.controllers.make(settings.controllers, settings.nodes, self._authority)
        self._environment = Environment()

    def _authority(self) -> Any:
        return self.webhooks.authority

    def is_closed(self) -> bool:
        """Whether the cluster was closed."""
        return self.bubble.loop.is_closed()

    def transport(self, user: User | None) -> DirectTransport:
        """A transport without HTTP, for a user or the administrator."""
        return DirectTransport(self.server, user=user or ADMIN, headers={"User-Agent": TEST_AGENT})

    def open(self, close: Callable[[], None]) -> None:
        """Open the bubble, and start the cluster's own controllers. `close` closes the cluster."""
        self.bubble.open()
        self.bubble.closer = close
        self._environment.hide()
        if not self.settings.real_connections:
            self.bubble.loop.network.outside = OutsideConnections(self._refused).check
        self.detection.open(self.bubble, self.background.has_threads)

    def start_controllers(self) -> None:
        """Start the cluster's own controllers, if any is selected."""
        own = self.controllers.operator
        if own is not None:
            own.begin(self.bubble.loop)
            if not self.stepping.in_async_test():
                self.stepping.settle()

    def _refused(self, error: OutsideConnection) -> None:
        """A connection to a server outside of the test was refused: the next step raises it, unless the test itself
        has made the connection."""
        if current_client() is not None or self.bubble.loop.threads.current() is not None:
            self.background.failed(error)

    def close(self) -> None:
        """End everything; see `Cluster.close`."""
        loop, background, own = self.bubble.loop, self.background, self.controllers.operator
        with ExitStack() as steps:  # callbacks run in reverse order, each even if those before it failed
            for transport in self.operators.transports:
                steps.callback(transport.retire)
            steps.callback(self.disruptions.retire)
            steps.callback(self.ledger.retire)
            steps.callback(self.audit.retire)
            steps.callback(self.server.retire)
            steps.callback(self.detection.retire)
            steps.callback(self.bubble.close)
            steps.callback(self._environment.show)
            steps.callback(self.endpoint.forget_clients)
            steps.callback(lambda: loop.drive(self._end()))
            steps.callback(self.detection.closed)
            steps.callback(lambda: loop.drive(background.end(own, Swallowed(self.detection.report))))
            steps.callback(loop.threads.close)  # before the server, which they call, is closed
            steps.callback(end_loops_of_threads, loop)
            steps.callback(loop.processes.thaw_all)
            steps.callback(self.bubble.end_processes)  # threads and coroutines may wait for them
        self.detection.raise_late()

    async def _end(self) -> None:
        self.server.end_watches()
        await self.server.aclose()
        await self.endpoint.aclose()
        await self.webhooks.aclose()
