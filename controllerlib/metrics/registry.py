"""Counters, gauges and histograms under the names that client-go and controller-runtime give them.

Small on purpose: values can be read back by tests, and written as the text that Prometheus scrapes.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Labels = tuple[str, ...]
#: controller-runtime's buckets of reconcile times (seconds).
RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
    *(50.0, 60.0),
)
#: How many priorities of one queue are told apart, and what the others are called (controller-runtime's numbers).
PRIORITIES, EXCEEDED = 25, "exceeded_cardinality_limit"
#: client-go's buckets of work queues (seconds): 10 ns to 1000 s, each ten times the one before.
QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


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


class WorkQueueMetrics:
    """The metrics of one named queue (client-go: util/workqueue/metrics.go)."""

    def __init__(self, registry: Registry, name: str, controller: str = "", *, priorities: bool = False) -> None:
        """`priorities`: the depth has a label for the priority (priority queues)."""
        self._labels = (name, controller or name)
        self._priorities = priorities
        pair = ("name", "controller")
        self._depth = registry.family(
            "workqueue_depth", "Current depth of workqueue by workqueue and priority", "gauge", (*pair, "priority")
        )
        self._adds = registry.family("workqueue_adds_total", "Adds handled by workqueue", "counter", pair)
        self._latency = registry.family(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            "histogram",
            pair,
            QUEUE_BUCKETS,
        )
        self._work = registry.family(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            "histogram",
            pair,
            QUEUE_BUCKETS,
        )
        self._unfinished = registry.family(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration.",
            "gauge",
            pair,
        )
        self._longest = registry.family(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            "gauge",
            pair,
        )
        self._retries = registry.family("workqueue_retries_total", "Retries handled by workqueue", "counter", pair)
        # every series exists from the start
        self._added, self._retried = self._adds.of(*self._labels), self._retries.of(*self._labels)
        for gauge in (self._unfinished, self._longest):
            gauge.of(*self._labels)
        self._depths: dict[int, Series] = {}

    @cached_property
    def _latencies(self) -> Histogram:
        return self._latency.histogram(*self._labels)

    @cached_property
    def _durations(self) -> Histogram:
        return self._work.histogram(*self._labels)

    def added(self, item: Any, priority: int, now: float) -> None:
        """An item became ready."""
        self._added.value += 1.0
        self._depth_of(priority).value += 1.0

    def raised(self, item: Any, before: int, after: int) -> None:
        """A ready item moved to another priority."""
        self._depth_of(before).value -= 1.0
        self._depth_of(after).value += 1.0

    def got(self, item: Any, priority: int, since: float, now: float) -> None:
        """An item was handed out."""
        self._depth_of(priority).value -= 1.0
        self._latencies.observe(now - since)

    def done(self, item: Any, since: float, now: float) -> None:
        """An item is done."""
        self._durations.observe(now - since)

    def retried(self) -> None:
        """An item was added with a delay."""
        self._retried.value += 1.0

    def refresh(self, processing: Mapping[Any, float], now: float) -> None:
        """Bring the gauges of unfinished work up to date."""
        running = [now - since for since in processing.values()]
        self._unfinished.set(sum(running), *self._labels)
        self._longest.set(max(running, default=0.0), *self._labels)

    def _depth_of(self, priority: int) -> Series:
        found = self._depths.get(priority)
        if found is None:
            shown = str(priority) if len(self._depths) < PRIORITIES else EXCEEDED
            found = self._depths[priority] = self._depth.of(*self._labels, shown if self._priorities else "")
        return found


RESULTS = ("error", "requeue", "requeue_after", "success")


class ControllerMetrics:
    """The metrics of one controller (controller-runtime: pkg/internal/controller/metrics)."""

    def __init__(self, registry: Registry, controller: str) -> None:
        self._name, one = controller, ("controller",)
        self.total = registry.family(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            "counter",
            ("controller", "result"),
        )
        self.errors = registry.family(
            "controller_runtime_reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            "counter",
            one,
        )
        self.terminal = registry.family(
            "controller_runtime_terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
            "counter",
            one,
        )
        self.panics = registry.family(
            "controller_runtime_reconcile_panics_total",
            "Total number of reconciliation panics per controller",
            "counter",
            one,
        )
        self.timeouts = registry.family(
            "controller_runtime_reconcile_timeouts_total",
            "Total number of reconciliation timeouts per controller",
            "counter",
            one,
        )
        self.time = registry.family(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            "histogram",
            one,
            RECONCILE_BUCKETS,
        )
        self.workers = registry.family(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            "gauge",
            one,
        )
        self.active = registry.family(
            "controller_runtime_active_workers", "Number of currently used workers per controller", "gauge", one
        )

    @cached_property
    def _times(self) -> Histogram:
        return self.time.histogram(self._name)

    def begin(self, workers: int) -> None:
        """Make every series exist."""
        for family in (self.errors, self.terminal, self.panics, self.timeouts):
            family.of(self._name)
        self._active = self.active.of(self._name)
        self._results = {result: self.total.of(self._name, result) for result in RESULTS}
        self.workers.set(workers, self._name)

    def started(self) -> None:
        """A worker took a request."""
        self._active.value += 1.0

    def finished(self, label: str, seconds: float, *, terminal: bool, panicked: bool, timed_out: bool) -> None:
        """A run ended."""
        self._active.value -= 1.0
        self._times.observe(seconds)
        self._results[label].value += 1.0
        if label == "error":
            self.errors.add(self._name)
            if terminal:
                self.terminal.add(self._name)
            if panicked:
                self.panics.add(self._name)
        if timed_out:
            self.timeouts.add(self._name)


def count_requests(registry: Registry, transport: Any) -> None:
    """Count the attempts of a transport that tells of them (`on_answer`) (client-go: metrics)."""
    if getattr(transport, "on_answer", count_requests) is not None:
        return
    requests = registry.family(
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method, and host.",
        "counter",
        ("code", "method", "host"),
    )
    transport.on_answer = requests.add
