"""A Kubernetes API server for tests: kube-apiserver's semantics, virtual time, and the cause of every reconcile.

A test takes the fixture `fakekube`, which is an open cluster of its own; without pytest, `with FakeKube() as fakekube:`
opens one. `FakeKube` has the members that a test uses, and the desks that group the others. `fakekube serve` is the
same server for clients in other processes.

(For pytest, which need not rewrite the assertions of this package: PYTEST_DONT_REWRITE)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakekube.apiserver.faults import FaultRule
    from fakekube.apiserver.kubelet import ExecResult
    from fakekube.apiserver.requestlog import RequestRecord
    from fakekube.apiserver.user import User
    from fakekube.clustersettings import ClusterSettings
    from fakekube.controllers.kubelet.stage import (
        CreateError,
        Exit,
        Hang,
        PodSelector,
        ProbeResult,
        PullError,
        Readiness,
        Run,
        Stage,
        Start,
    )
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.detectors.finding import Finding, FindingError, FindingWarning
    from fakekube.harness.face import Cluster
    from fakekube.harness.operators.operator import ControllerView, Operator
    from fakekube.harness.pods.simulatednode import SimulatedNode
    from fakekube.harness.pods.simulatedpods import SimulatedPods
    from fakekube.harness.records.kept import Records
    from fakekube.harness.records.reconciles import Reconcile
    from fakekube.harness.records.timelinecomparison import compare_timelines
    from fakekube.server.manifests import ManifestError
    from fakekube.server.runner import WouldWait
    from fakekube.virtualtime.errors import Deadlock, HotLoop, NotQuiescent

#: The only place of the version: the build reads it from here.
__version__ = "0.1.0.dev0"

__all__ = [
    "Cluster",
    "ClusterSettings",
    "ControllerView",
    "CreateError",
    "Deadlock",
    "ExecResult",
    "Exit",
    "FakeKube",
    "FaultRule",
    "Finding",
    "FindingError",
    "FindingWarning",
    "Hang",
    "HotLoop",
    "ManifestError",
    "NotQuiescent",
    "Operator",
    "PodSelector",
    "ProbeResult",
    "PullError",
    "Readiness",
    "Reconcile",
    "Records",
    "RequestRecord",
    "Run",
    "SimulatedNode",
    "SimulatedPods",
    "Stage",
    "Start",
    "User",
    "WouldWait",
    "compare_timelines",
]

#: Imported on first use, because every pytest run on the machine imports this package.
_HOMES = {
    "Cluster": "fakekube.harness.face",
    "ClusterSettings": "fakekube.clustersettings",
    "ControllerView": "fakekube.harness.operators.operator",
    "CreateError": "fakekube.controllers.kubelet.stage",
    "Deadlock": "fakekube.virtualtime.errors",
    "ExecResult": "fakekube.apiserver.kubelet",
    "Exit": "fakekube.controllers.kubelet.stage",
    "FakeKube": "fakekube.harness.cluster",
    "FaultRule": "fakekube.apiserver.faults",
    "Finding": "fakekube.harness.detectors.finding",
    "FindingError": "fakekube.harness.detectors.finding",
    "FindingWarning": "fakekube.harness.detectors.finding",
    "Hang": "fakekube.controllers.kubelet.stage",
    "HotLoop": "fakekube.virtualtime.errors",
    "ManifestError": "fakekube.server.manifests",
    "NotQuiescent": "fakekube.virtualtime.errors",
    "Operator": "fakekube.harness.operators.operator",
    "PodSelector": "fakekube.controllers.kubelet.stage",
    "ProbeResult": "fakekube.controllers.kubelet.stage",
    "PullError": "fakekube.controllers.kubelet.stage",
    "Readiness": "fakekube.controllers.kubelet.stage",
    "Reconcile": "fakekube.harness.records.reconciles",
    "Records": "fakekube.harness.records.kept",
    "RequestRecord": "fakekube.apiserver.requestlog",
    "Run": "fakekube.controllers.kubelet.stage",
    "SimulatedNode": "fakekube.harness.pods.simulatednode",
    "SimulatedPods": "fakekube.harness.pods.simulatedpods",
    "Stage": "fakekube.controllers.kubelet.stage",
    "Start": "fakekube.controllers.kubelet.stage",
    "User": "fakekube.apiserver.user",
    "WouldWait": "fakekube.server.runner",
    "compare_timelines": "fakekube.harness.records.timelinecomparison",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
