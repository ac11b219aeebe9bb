"""Metrics with the names of client-go and controller-runtime."""

from typing import TYPE_CHECKING, Any

from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.reconcilemetrics import ControllerMetrics
from controllerlib.metrics.registry import Family, Histogram, Registry, Series
from controllerlib.metrics.requestmetrics import count_requests

if TYPE_CHECKING:
    from controllerlib.metrics.prometheus import RegistryCollector

__all__ = [
    "ControllerMetrics",
    "Family",
    "Histogram",
    "Registry",
    "RegistryCollector",
    "Series",
    "WorkQueueMetrics",
    "count_requests",
]

#: Imported on first use, because they need prometheus_client.
_LAZY = {
    "RegistryCollector": "prometheus",
}


if not TYPE_CHECKING:  # type checkers must report names that do not exist

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _LAZY:
            return getattr(import_module(f"controllerlib.metrics.{_LAZY[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
