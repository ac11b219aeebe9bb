"""Engine: the port of a cluster for its drivers: the pytest plugin, explorations, benchmarks and the project's tests.

A test uses the cluster and its desks instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from fakekube.apiserver.user import User
from fakekube.harness.detectors.finalchecks import FinalChecks
from fakekube.harness.detectors.finding import FindingWarning

if TYPE_CHECKING:
    from fakekube.clustersettings import ClusterSettings
    from fakekube.harness.assertions.invariants import Invariants
    from fakekube.harness.clustercontrollers import ControllerSimulation
    from fakekube.harness.detectors.detection import Detection
    from fakekube.harness.faultinjection.disruptions import Disruptions
    from fakekube.harness.launching import Operators
    from fakekube.harness.objects import Objects
    from fakekube.harness.operators.background import Background
    from fakekube.harness.perturbation import Perturbation
    from fakekube.harness.state.golden import GoldenFiles
    from fakekube.harness.stepping import Stepping
    from fakekube.server.direct import DirectTransport
    from fakekube.server.runner import ServerRunner
    from fakekube.virtualtime import Bubble


class Driven(Protocol):
    """The port of any cluster for the pytest plugin. seed: of its randomness, or the name of its test."""

    @property
    def bubble(self) -> Any: ...

    @property
    def seed(self) -> int | str: ...

    def finish(self) -> None: ...

    def check_findings(self, *, raising: bool = True, warn: Callable[[FindingWarning], None] | None = None) -> None: ...


class Engine:
    """The parts of a FakeKube.

    settings: of the cluster. bubble: its virtual time. server: its API server. objects: reads and writes of the test.
    stepping: the steps of the test. operators, background: what runs beside the test. controllers: the cluster's own.
    disruptions: faults that are not rules. invariants: predicates of `always` and `never`. detection: its detectors.
    golden: where golden files are. perturbation: the run of an exploration, which an explorer sets.
    findings_at_exit: whether the end of the `with` block checks for findings; the pytest plugin does that itself.
    is_explored: whether its test is run many times, by an exploration: then it ends as it has ended.
    """

    def __init__(
        self,
        settings: ClusterSettings,
        bubble: Bubble,
        server: ServerRunner,
        objects: Objects,
        stepping: Stepping,
        operators: Operators,
        background: Background,
        controllers: ControllerSimulation,
        disruptions: Disruptions,
        invariants: Invariants,
        detection: Detection,
        golden: GoldenFiles,
        perturbation: Perturbation,
        connect: Callable[[User | None], DirectTransport],
    ) -> None:
        self.settings, self.bubble, self.server, self.objects = settings, bubble, server, objects
        self.stepping, self.operators, self.background = stepping, operators, background
        self.controllers, self.disruptions, self.invariants = controllers, disruptions, invariants
        self.detection, self.golden, self.perturbation, self.connect = detection, golden, perturbation, connect
        self.findings_at_exit: bool = True
        self.is_explored: bool = False

    @property
    def seed(self) -> int | str:
        """The source of the cluster's randomness."""
        return self.settings.seed

    @property
    def is_busy(self) -> bool:
        """Whether an operator, a task or a thread runs beside the test."""
        return self.background.is_busy

    def finish(self) -> None:
        """Called when the test has ended, before the tear-down of its fixtures.

        Raises NotAwaited naming what an async test had to await and did not.
        """
        self.stepping.finish()

    def check_findings(self, *, raising: bool = True, warn: Callable[[FindingWarning], None] | None = None) -> None:
        """Let the detectors finish; raise FindingError if one at level `error` has found something, warn of the others.

        Called when the test or the `with` block ends. Later calls do nothing. `raising` False, for a test that has
        failed already: only complete the findings.
        """
        if self.detection.is_over:
            return
        if not raising:
            self.detection.finish()
        else:
            self.invariants.raise_violation()
            driven = self.is_explored or self.disruptions.injector is not None
            disturbed = driven or bool(self.disruptions.facts())
            FinalChecks(self.detection, self.bubble, self.background.operators, disturbed).run()
            self.detection.raise_findings(warn)


def engine_of(cluster: object) -> Engine:
    """The engine of a FakeKube, or of the present cluster of a shared one. Raises TypeError for another object."""
    found = getattr(cluster, "_engine", None)
    if not isinstance(found, Engine):
        raise TypeError(f"{cluster!r} has no engine: pass a FakeKube")
    return found


def driven(cluster: object) -> Driven:
    """The port of any cluster, also of a real one."""
    found: Driven | None = getattr(cluster, "_engine", None)
    if found is None:
        raise TypeError(f"{cluster!r} has no engine: pass a cluster")
    return found
