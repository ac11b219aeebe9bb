"""Metrics as Prometheus scrapes them, through `prometheus_client` (controller-runtime: pkg/metrics)."""

import inspect
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from controllerlib.manager.healthz import Reply
from controllerlib.metrics.registry import Family, Histogram, Registry, number_text

PATH = "/metrics"


class RegistryCollector(Collector):
    """A Registry for `prometheus_client`: `REGISTRY.register(RegistryCollector(manager.registry))`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Every family, brought up to date."""
        self._registry.collect()
        for family in self._registry.families.values():
            yield _metric(family)


class _Everything(Collector):
    """A manager's metrics, and whatever else this process registered (its own, and the default ones)."""

    def __init__(self, registry: Registry) -> None:
        self._own = RegistryCollector(registry)

    def collect(self) -> Iterator[Metric]:
        own = {metric.name: metric for metric in self._own.collect()}
        yield from own.values()
        yield from (metric for metric in REGISTRY.collect() if metric.name not in own)


#: Serves one path beside the metrics.
ExtraHandler = Callable[[], Awaitable[Reply] | Reply]


class Metrics:
    """The endpoint /metrics: a manager's families, and those of `prometheus_client.REGISTRY`; and extra paths."""

    def __init__(self, registry: Registry, extra: Mapping[str, ExtraHandler] | None = None) -> None:
        self._everything, self._extra = _Everything(registry), {} if extra is None else extra

    async def reply(self, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Reply | None:
        """In the text format, or as OpenMetrics where that is asked for."""
        if path in self._extra:
            answer = self._extra[path]()
            return await answer if inspect.isawaitable(answer) else answer
        if path != PATH:
            return None
        encode, content_type = choose_encoder(headers.get("Accept", ""))
        return Reply(200, encode(self._everything), content_type)


def _metric(family: Family) -> Metric:
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
        for labels, values in family.histograms.items():
            histogram.add_metric(labels, _buckets(values), values.sum)
        return histogram
    found = (CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily)(
        family.name, family.help, labels=family.labels
    )
    for labels, series in family.series.items():
        found.add_metric(labels, series.value)
    return found


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    bounds = (*histogram.buckets, math.inf)
    counts = accumulate(histogram.counts)
    return [(number_text(bound), float(count)) for bound, count in zip(bounds, counts, strict=True)]
