"""The desks of a real cluster: members that need more than its API skip the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fakekube.apiserver.user import User
from fakekube.harness.backends.activity import Activity, ObservedTransport
from fakekube.harness.backends.connection import Connection
from fakekube.harness.backends.reaching import Reaching
from fakekube.harness.backends.realloop import RealLoop
from fakekube.harness.desks import (
    Access,
    Controllers,
    Exploration,
    Faults,
    Findings,
    Nodes,
    Pods,
    Processes,
    State,
    Webhooks,
)
from fakekube.harness.detectors.finding import Finding, FindingWarning
from fakekube.harness.members import limited_to, skipped_on
from fakekube.harness.objects import Objects
from fakekube.harness.perturbation import Perturbation

#: What a desk reads in members that skip the test on a real cluster.
_ABSENT: Any = None


class RealAddress:
    """Implements `fakekube.harness.desks.access.Address`; users are impersonated."""

    def __init__(self, connection: Connection, reaching: Reaching, activity: Activity) -> None:
        self._connection, self._reaching, self._activity = connection, reaching, activity
        self.transports: list[ObservedTransport] = []

    @property
    def url(self) -> str:
        return self._connection.transport().url

    @property
    def kubeconfig(self) -> Path:
        return self._reaching.kubeconfig

    def configure(self, user: User | None) -> None:
        """Never called: the member of the desk skips the test."""

    def api_client(self, user: User | None) -> Any:
        return self._reaching.api_client(user)

    def transport(self, user: User | None) -> ObservedTransport:
        self.transports.append(self.observed(user))
        return self.transports[-1]

    def observed(self, user: User | None) -> ObservedTransport:
        """A transport that its user closes."""
        return ObservedTransport(self._connection.transport(**Reaching.impersonation(user)), self._activity)

    def access_report(self, user: User) -> Any:
        """Never called: the member of the desk skips the test."""


class NoDetection:
    """No detectors: they observe fakekube's own server."""

    findings: Sequence[Finding] = ()

    def allow(self, detector: str, reason: str, match: str = "") -> None:
        """There is nothing to ignore."""


class RealEngine:
    """The engine of a real cluster; see `fakekube.harness.engine.Driven`."""

    def __init__(self, bubble: RealLoop, seed: str) -> None:
        self.bubble, self.seed = bubble, seed

    def finish(self) -> None:
        """Does nothing: steps run when they are called."""

    def check_findings(self, *, raising: bool = True, warn: Callable[[FindingWarning], None] | None = None) -> None:
        """Does nothing: there is nothing to find."""


class RealDesks:
    """The desks of a cluster, of which only `access`, `findings`, `exploration` and `state.load` do anything."""

    def __init__(self, backend: str, address: RealAddress, objects: Objects) -> None:
        self.access: Access = limited_to(backend, Access(backend, address))
        self.state: State = limited_to(backend, State(objects, _ABSENT, _ABSENT, _ABSENT))
        found: Any = NoDetection()
        self.findings: Findings = limited_to(
            backend, Findings(_ABSENT, found, _ABSENT, _ABSENT, _ABSENT, _ABSENT, lambda: None)
        )
        self.exploration: Exploration = Exploration(Perturbation())
        self.faults: Faults = skipped_on(backend, Faults)
        self.webhooks: Webhooks = skipped_on(backend, Webhooks)
        self.nodes: Nodes = skipped_on(backend, Nodes)
        self.pods: Pods = skipped_on(backend, Pods)
        self.controllers: Controllers = skipped_on(backend, Controllers)
        self.processes: Processes = skipped_on(backend, Processes)
