"""Metrics of a work queue (client-go: util/workqueue/metrics.go)."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from controllerlib.metrics.registry import Histogram, Registry, Series

#: The number of priorities with a label value of their own, and the label of all others (controller-runtime).
PRIORITIES, EXCEEDED = 25, "exceeded_cardinality_limit"
#: client-go's buckets of work queues in seconds: 10 ns to 1000 s, by powers of ten.
QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


class WorkQueueMetrics:
    """The metrics of one named queue."""

    def __init__(self, registry: Registry, name: str, controller: str = "", *, priorities: bool = False) -> None:
        """`priorities`: label the depth with the priority (priority queues)."""
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
        """Count an item that became ready."""
        self._added.value += 1.0
        self._depth_of(priority).value += 1.0

    def raised(self, item: Any, before: int, after: int) -> None:
        """Move a ready item from one priority to another."""
        self._depth_of(before).value -= 1.0
        self._depth_of(after).value += 1.0

    def got(self, item: Any, priority: int, since: float, now: float) -> None:
        """Count an item that was handed to a worker."""
        self._depth_of(priority).value -= 1.0
        self._latencies.observe(now - since)

    def done(self, item: Any, since: float, now: float) -> None:
        """Count an item that was processed."""
        self._durations.observe(now - since)

    def retried(self) -> None:
        """Count an item that was added with a delay."""
        self._retried.value += 1.0

    def refresh(self, processing: Mapping[Any, float], now: float) -> None:
        """Update the gauges of unfinished work."""
        running = [now - since for since in processing.values()]
        self._unfinished.set(sum(running), *self._labels)
        self._longest.set(max(running, default=0.0), *self._labels)

    def _depth_of(self, priority: int) -> Series:
        found = self._depths.get(priority)
        if found is None:
            shown = str(priority) if len(self._depths) < PRIORITIES else EXCEEDED
            found = self._depths[priority] = self._depth.of(*self._labels, shown if self._priorities else "")
        return found
