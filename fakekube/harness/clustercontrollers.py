"""The cluster's own controllers in a test: started with the cluster, and held, stepped and asserted on by the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from controllerlib.cache import CacheOptions, Selection
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.launching import Operators
from fakekube.harness.ledger import Ledger
from fakekube.harness.operators.managers import settings_of
from fakekube.harness.operators.operator import ControllerView, Operator
from fakekube.harness.operators.reconcileobserver import ReconcileObserver
from fakekube.harness.records.identity import CLUSTER
from fakekube.harness.records.reconciles import Reconcile
from fakekube.harness.stepping import Stepping
from fakekube.server.direct import DirectTransport
from fakekube.server.runner import ServerRunner
from fakekube.struct import replace
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

if TYPE_CHECKING:
    from fakekube.apiserver.auth.serviceaccounttoken import Issuer
    from fakekube.controllers.controllermanager import ControllerManager
    from fakekube.controllers.dormancy import Alarm
    from fakekube.controllers.hold import HoldGate
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.controllers.settings import Settings
    from fakekube.harness.pods.simulatedpods import LaterScript, Scope
    from fakekube.server.certificates import Authority


#: The least seconds that a watch of the cluster's own controllers lasts: a year, so that time passes without requests.
WATCH_TIMEOUT = 365 * 86_400.0

#: The controllers that need the CA of the cluster.
WITH_CA = frozenset({
    "certificatesigningrequest-signing-controller", "root-ca-certificate-publisher-controller",
    "serviceaccount-token-controller",
})  # fmt: skip


def settings_for(names: Sequence[str], issuer: Issuer, authority: Callable[[], Authority]) -> Settings:
    """The settings of the controllers that `names` select; `authority` makes the CA, which few of them need."""
    from fakekube.controllers.catalogue import select
    from fakekube.controllers.settings import Settings

    if not any(one.name in WITH_CA for one in select(names)):
        return Settings()
    ca = authority()
    return Settings(ca.certificate.decode(), issuer.keys.sign, (ca.certificate, ca.key))


class ClusterController(ControllerView):
    """One of the cluster's own controllers, as a test sees it."""

    def __init__(self, view: ControllerView, gate: HoldGate, stepping: Stepping) -> None:
        super().__init__(view._operator, view.name, view._ledger, view._now, view._catalog)
        self._gate, self._stepping = gate, stepping

    def __repr__(self) -> str:
        return (
            f"<ClusterController {self.name} reconciles={self.reconciles()}{' suspended' if self.is_suspended else ''}>"
        )

    @property
    def is_suspended(self) -> bool:
        """Whether it reconciles only by `reconcile_next`."""
        return self._gate.held

    def suspend(self) -> None:
        """Let it reconcile nothing further, while its queue fills, until `resume`."""
        self._gate.hold()

    def resume(self) -> Awaitable[None]:
        """Let it reconcile again, and settle. In an async test it must be awaited."""
        self._gate.release()
        return self._stepping.settle()

    def reconcile_next(self) -> Any:
        """Let it reconcile one key that is due, and settle; it is suspended from then on.

        Returns the Reconcile, or None if no key was due. In an async test it must be awaited.
        """
        self._gate.hold()
        before = self.reconciles()
        self._gate.permit()
        if self._stepping.in_async_test():
            return self._stepping.awaited(self._after(before), "reconcile_next")
        self._stepping.settle()
        return self._reconciled(before)

    async def _after(self, before: int) -> Reconcile | None:
        await self._stepping.settle()
        return self._reconciled(before)

    def _reconciled(self, before: int) -> Reconcile | None:
        self._gate.withdraw()
        made = self.reconciles() - before
        return self.history()[-made] if made else None


class ClusterControllers:
    """The running controllers of the cluster."""

    operator: Operator

    def __init__(self, running: ControllerManager, operator: Operator, stepping: Stepping, alarm: Alarm) -> None:
        self._running, self.operator, self._stepping, self._alarm = running, operator, stepping, alarm

    def part(self, name: str) -> Any:
        """What a controller offers to the harness, or None."""
        return self._running.parts.get(name)

    def named(self, name: str) -> ClusterController:
        """A controller by its name or alias, which does not sleep from now on. Raises KeyError."""
        name = self._running.queue_name(name)
        if self._alarm.wake(name) and not self._stepping.in_async_test():
            self._stepping.settle()
        return ClusterController(self.operator[name], self._running.gates[name], self._stepping)

    def names(self) -> Sequence[str]:
        """The names of those that run."""
        return tuple(self._running.gates)


class ControllerSimulation:
    """The cluster's own controllers with their metrics, and the kubelets that tests script."""

    def __init__(
        self,
        bubble: Bubble,
        runner: ServerRunner,
        ledger: Ledger,
        operators: Operators,
        stepping: Stepping,
        note_script: Callable[[LaterScript], None],
    ) -> None:
        """`note_script` is called with each script for pods that are created later."""
        self._bubble, self._runner, self._ledger = bubble, runner, ledger
        self._operators, self._stepping = operators, stepping
        self._note_script = note_script
        self._metrics: Metrics | None = None
        self.running: ClusterControllers | None = None

    @property
    def operator(self) -> Operator | None:
        """The operator that all of them belong to; None if none runs."""
        return self.running.operator if self.running is not None else None

    def metrics(self) -> Metrics:
        """The metrics that HorizontalPodAutoscalers read."""
        if self._metrics is None:
            from fakekube.controllers.scalingmetrics import Metrics

            self._metrics = Metrics()
        return self._metrics

    def make(self, names: Sequence[str], nodes: int | None, authority: Callable[[], Authority]) -> None:
        """Make the controllers that `names` select, not started. `authority` makes the CA, which few of them need."""
        from fakekube.controllers.componentusers import component_user
        from fakekube.controllers.controllermanager import controller_manager
        from fakekube.controllers.nodespec import numbered
        from fakekube.controllers.waking import alarm_of, watch

        clock = self._bubble.clock
        observer = ReconcileObserver(self._ledger, clock.now)

        def connect(user: str) -> DirectTransport:
            return self._operators.directly_connected(component_user(user), observer.trace, shared=True)

        settings = settings_for(names, self._runner.apiserver.issuer, authority)
        settings = replace(
            settings,
            metrics=self.metrics(),
            nodes=None if nodes is None else numbered(nodes),
            feature_gates=self._runner.apiserver.features.states,
        )
        cache = CacheOptions(
            sync_period_jitter=0.0, min_watch_timeout=WATCH_TIMEOUT, default=Selection(bookmarks=False)
        )
        process, skewed = SimulatedProcess(CLUSTER), SkewedClock(clock)
        observer.identify(self._ledger.identities.claim(CLUSTER, CLUSTER))
        options = {**settings_of(self._bubble, observer, process, skewed), "cache": cache}
        alarm = alarm_of(self._runner)
        running = controller_manager(names, connect, settings, alarm=alarm, **options)
        watch(self._runner, alarm)
        if "kubelet" in running.parts:
            running.parts["kubelet"].answers.install(self._runner.apiserver.kubelet)
        operator = self._operators.operated(running.manager, observer, process, skewed)
        self.running = ClusterControllers(running, operator, self._stepping, alarm)

    def scope(self, caller: str) -> Scope:
        """The kubelets for scripts. Raises RuntimeError if none runs."""
        kubelets = self.running.part("kubelet") if self.running is not None else None
        if kubelets is None:
            raise RuntimeError(f"{caller}: no kubelet runs; pass nodes=1, or controllers=['scheduler', 'kubelet']")
        from fakekube.controllers.kubelet.podscripts import PodScripts
        from fakekube.harness.pods.simulatedpods import Scope

        return Scope(kubelets, PodScripts(kubelets), self._stepping.settle, self._note_script)
