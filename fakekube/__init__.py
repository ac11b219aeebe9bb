"""A Kubernetes API server for tests: it answers as kube-apiserver answers, owns time, and knows why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakekube.cluster import FakeKube
    from fakekube.controlplane import WouldWait
    from fakekube.core.authentication import User
    from fakekube.core.faults import FaultRule
    from fakekube.core.requestlog import RequestRecord
    from fakekube.ledger import Reconcile
    from fakekube.manifests import ManifestError
    from fakekube.operator import ControllerView, Operator
    from fakekube.virtualtime.errors import Deadlock, HotLoop, NotQuiescent

__all__ = [
    "ControllerView",
    "Deadlock",
    "FakeKube",
    "FaultRule",
    "HotLoop",
    "ManifestError",
    "NotQuiescent",
    "Operator",
    "Reconcile",
    "RequestRecord",
    "User",
    "WouldWait",
]

#: Doors, not imports: this package is imported by every pytest run on the machine.
_HOMES = {
    "ControllerView": "fakekube.operator",
    "Deadlock": "fakekube.virtualtime.errors",
    "FakeKube": "fakekube.cluster",
    "FaultRule": "fakekube.core.faults",
    "HotLoop": "fakekube.virtualtime.errors",
    "ManifestError": "fakekube.manifests",
    "NotQuiescent": "fakekube.virtualtime.errors",
    "Operator": "fakekube.operator",
    "Reconcile": "fakekube.ledger",
    "RequestRecord": "fakekube.core.requestlog",
    "User": "fakekube.core.authentication",
    "WouldWait": "fakekube.controlplane",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
