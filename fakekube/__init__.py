"""A Kubernetes API server for tests: kube-apiserver's semantics, virtual time, and the cause of every reconcile."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakekube.apiserver.faults import FaultRule
    from fakekube.apiserver.requestlog import RequestRecord
    from fakekube.apiserver.user import User
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.ledger import Reconcile
    from fakekube.harness.operator import ControllerView, Operator
    from fakekube.server.manifests import ManifestError
    from fakekube.server.runner import WouldWait
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

#: Imported on first use, because every pytest run on the machine imports this package.
_HOMES = {
    "ControllerView": "fakekube.harness.operator",
    "Deadlock": "fakekube.virtualtime.errors",
    "FakeKube": "fakekube.harness.cluster",
    "FaultRule": "fakekube.apiserver.faults",
    "HotLoop": "fakekube.virtualtime.errors",
    "ManifestError": "fakekube.server.manifests",
    "NotQuiescent": "fakekube.virtualtime.errors",
    "Operator": "fakekube.harness.operator",
    "Reconcile": "fakekube.harness.ledger",
    "RequestRecord": "fakekube.apiserver.requestlog",
    "User": "fakekube.apiserver.user",
    "WouldWait": "fakekube.server.runner",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
