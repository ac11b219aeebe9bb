"""The endpoint /metrics (controller-runtime: pkg/metrics/server)."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping

from prometheus_client import REGISTRY
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from controllerlib.manager.healthz import Reply
from controllerlib.metrics.prometheus import RegistryCollector
from controllerlib.metrics.registry import Registry

PATH = "/metrics"


class _AllCollectors(Collector):
    """The metrics of a manager and those registered with `prometheus_client`."""

    def __init__(self, registry: Registry) -> None:
        self._own = RegistryCollector(registry)

    def collect(self) -> Iterator[Metric]:
        own = {metric.name: metric for metric in self._own.collect()}
        yield from own.values()
        yield from (metric for metric in REGISTRY.collect() if metric.name not in own)


#: Serves an additional path.
ExtraHandler = Callable[[], Awaitable[Reply] | Reply]


class MetricsEndpoint:
    """Serves /metrics, with a manager's metrics and those of `prometheus_client.REGISTRY`, and additional paths."""

    def __init__(self, registry: Registry, extra: Mapping[str, ExtraHandler] | None = None) -> None:
        self._everything, self._extra = _AllCollectors(registry), {} if extra is None else extra

    async def reply(self, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply | None:
        """Reply in the text format, or in the OpenMetrics format if the client accepts it."""
        if path in self._extra:
            answer = self._extra[path]()
            return await answer if inspect.isawaitable(answer) else answer
        if path != PATH:
            return None
        encode, content_type = choose_encoder(headers.get("Accept", ""))
        return Reply(200, encode(self._everything), content_type)
