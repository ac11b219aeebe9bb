"""Counters, gauges and histograms under the names that client-go and controller-runtime give them.

Small on purpose: values can be read back by tests, and written as the text that Prometheus scrapes.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Labels = tuple[str, ...]


@dataclass(slots=True)
class Histogram:
    """Observations in buckets."""

    buckets: Sequence[float]
    counts: list[int] = field(init=False)
    sum: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.buckets) + 1)

    def observe(self, value: float) -> None:
        """Count an observation."""
        self.counts[bisect_left(self.buckets, value)] += 1
        self.sum += value
        self.count += 1


@dataclass(slots=True)
class Series:
    """A counter or gauge with its labels: what counts often keeps it at hand."""

    value: float = 0.0


@dataclass(slots=True)
class Family:
    """One metric with all its label values."""

    name: str
    help: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: Labels
    buckets: Sequence[float] = ()
    series: dict[Labels, Series] = field(default_factory=dict)
    histograms: dict[Labels, Histogram] = field(default_factory=dict)

    def of(self, *labels: str) -> Series:
        """The series of these labels; made when there is none."""
        found = self.series.get(labels)
        if found is None:
            found = self.series[labels] = Series()
        return found

    def add(self, *labels: str) -> None:
        """Count."""
        self.of(*labels).value += 1.0

    def set(self, value: float, *labels: str) -> None:
        """Set a gauge."""
        self.of(*labels).value = value

    def observe(self, value: float, *labels: str) -> None:
        """Count an observation of a histogram."""
        self.histogram(*labels).observe(value)

    def histogram(self, *labels: str) -> Histogram:
        """The histogram of these labels; made when there is none."""
        found = self.histograms.get(labels)
        if found is None:
            found = self.histograms[labels] = Histogram(self.buckets)
        return found

    def value(self, *labels: str) -> float:
        """The value of these labels; 0 when there is none."""
        found = self.series.get(labels)
        return found.value if found is not None else 0.0

    def lines(self) -> Iterator[str]:
        """The text format's lines."""
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
    """A number as Go's Prometheus client writes it."""
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
        #: called before the text is made, to bring gauges up to date (client-go has a timer every 500 ms instead)
        self.collectors: list[Callable[[], None]] = []

    def family(
        self,
        name: str,
        help: str,
        kind: Literal["counter", "gauge", "histogram"],
        labels: Labels = (),
        buckets: Sequence[float] = (),
    ) -> Family:
        """The family of that name; made when there is none."""
        found = self.families.get(name)
        if found is None:
            found = self.families[name] = Family(name, help, kind, labels, buckets)
        return found

    def value(self, name: str, *labels: str) -> float:
        """A counter's or gauge's value; 0 when there is none."""
        found = self.families.get(name)
        return found.value(*labels) if found else 0.0

    def histogram(self, name: str, *labels: str) -> Histogram:
        """A histogram; KeyError when there is no such family."""
        return self.families[name].histogram(*labels)

    def collect(self) -> None:
        """Bring gauges up to date."""
        for collector in self.collectors:
            collector()

    def text(self) -> str:
        """Everything in the text format that Prometheus scrapes."""
        self.collect()
        return "".join(f"{line}\n" for family in self.families.values() for line in family.lines())
