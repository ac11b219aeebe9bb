"""The manager of an operator, and its builder (controller-runtime: pkg/manager, pkg/builder)."""

from typing import TYPE_CHECKING, Any

from controllerlib.manager.builder import Builder, BuilderContext
from controllerlib.manager.healthz import Checker, Reply
from controllerlib.manager.manager import GraceExpired, LeaderElectionLost, Manager
from controllerlib.manager.runnablegroup import RunnableGroupStopped
from controllerlib.manager.signals import run, until_signal

if TYPE_CHECKING:
    from controllerlib.manager.metricsendpoint import ExtraHandler, MetricsEndpoint
    from controllerlib.manager.server import Endpoint, HealthEndpoint, HttpServer, ping

__all__ = [
    "Builder",
    "BuilderContext",
    "Checker",
    "Endpoint",
    "ExtraHandler",
    "GraceExpired",
    "HealthEndpoint",
    "HttpServer",
    "LeaderElectionLost",
    "Manager",
    "MetricsEndpoint",
    "Reply",
    "RunnableGroupStopped",
    "ping",
    "run",
    "until_signal",
]

#: Imported on first use: they need aiohttp and prometheus_client.
_LAZY = {
    "Endpoint": "server",
    "ExtraHandler": "metricsendpoint",
    "HealthEndpoint": "server",
    "HttpServer": "server",
    "MetricsEndpoint": "metricsendpoint",
    "ping": "server",
}


if not TYPE_CHECKING:  # type checkers must report names that do not exist

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _LAZY:
            return getattr(import_module(f"controllerlib.manager.{_LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
