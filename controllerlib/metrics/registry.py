"""Counters, gauges and histograms that can be read back, and their text format.

`prometheus_client` is not used here for speed: its counters take a lock and a label look-up at each increment, and it
is not imported before metrics are served. `metrics.prometheus` exports a Registry through it.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Labels = tuple[str, ...]


@dataclass(slots=True)
class Histogram:
    """The observations of one label set, counted in buckets."""

    buckets: Sequence[float]
    counts: list[int] = field(init=False)
    sum: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.buckets) + 1)

    def observe(self, value: float) -> None:
        """Add an observation."""
        self.counts[bisect_left(self.buckets, value)] += 1
        self.sum += value
        self.count += 1


@dataclass(slots=True)
class Series:
    """A counter or gauge of one label set. Hot paths keep a reference to it."""

    value: float = 0.0


@dataclass(slots=True)
class Family:
    """One metric with all its label sets."""

    name: str
    help: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: Labels
    buckets: Sequence[float] = ()
    series: dict[Labels, Series] = field(default_factory=dict)
    histograms: dict[Labels, Histogram] = field(default_factory=dict)

    def of(self, *labels: str) -> Series:
        """Return the series of these label values; it is created on first use."""
        found = self.series.get(labels)
        if found is None:
            found = self.series[labels] = Series()
        return found

    def add(self, *labels: str) -> None:
        """Increment a counter by 1."""
        self.of(*labels).value += 1.0

    def set(self, value: float, *labels: str) -> None:
        """Set a gauge."""
        self.of(*labels).value = value

    def observe(self, value: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        self.histogram(*labels).observe(value)

    def histogram(self, *labels: str) -> Histogram:
        """Return the histogram of these label values; it is created on first use."""
        found = self.histograms.get(labels)
        if found is None:
            found = self.histograms[labels] = Histogram(self.buckets)
        return found

    def value(self, *labels: str) -> float:
        """Return the value of these label values; 0 if there is no such series."""
        found = self.series.get(labels)
        return found.value if found is not None else 0.0

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text format."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, series in self.series.items():
            yield f"{self.name}{_braces(self.labels, labels)} {number_text(series.value)}"
        for labels, histogram in self.histograms.items():
            total = 0
            for bound, count in zip((*histogram.buckets, math.inf), histogram.counts, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces((*self.labels, 'le'), (*labels, number_text(bound)))} {total}"
            yield f"{self.name}_sum{_braces(self.labels, labels)} {number_text(histogram.sum)}"
            yield f"{self.name}_count{_braces(self.labels, labels)} {histogram.count}"


def number_text(value: float) -> str:
    """Format a number as Go's Prometheus client does."""
    if math.isinf(value):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = zip(names, values, strict=True)
    escape = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{value.translate(escape)}"' for name, value in pairs) + "}"


class Registry:
    """Metric families by name."""

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}
        #: Called before an export, to update gauges (client-go uses a timer of 500 ms instead).
        self.collectors: list[Callable[[], None]] = []

    def family(
        self,
        name: str,
        help: str,
        kind: Literal["counter", "gauge", "histogram"],
        labels: Labels = (),
        buckets: Sequence[float] = (),
    ) -> Family:
        """Return the family of that name; it is created on first use."""
        found = self.families.get(name)
        if found is None:
            found = self.families[name] = Family(name, help, kind, labels, buckets)
        return found

    def value(self, name: str, *labels: str) -> float:
        """Return the value of a counter or gauge; 0 if there is no such series."""
        found = self.families.get(name)
        return found.value(*labels) if found else 0.0

    def histogram(self, name: str, *labels: str) -> Histogram:
        """Return a histogram; KeyError if there is no such family."""
        return self.families[name].histogram(*labels)

    def collect(self) -> None:
        """Update gauges by calling the collectors."""
        for collector in self.collectors:
            collector()

    def text(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        self.collect()
        return "".join(f"{line}\n" for family in self.families.values() for line in family.lines())
