"""Export of a Registry through `prometheus_client` (controller-runtime: pkg/metrics)."""

import math
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controllerlib.metrics.registry import Family, Histogram, Registry, number_text


class RegistryCollector(Collector):
    """A `prometheus_client` collector of a Registry: `REGISTRY.register(RegistryCollector(manager.registry))`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family with current values."""
        self._registry.collect()
        for family in self._registry.families.values():
            yield _metric(family)


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
