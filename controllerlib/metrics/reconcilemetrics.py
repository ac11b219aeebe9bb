"""Metrics of a controller (controller-runtime: pkg/internal/controller/metrics)."""

from functools import cached_property

from controllerlib.metrics.registry import Family, Histogram, Registry

#: controller-runtime's buckets of reconcile times in seconds.
RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
    *(50.0, 60.0),
)
RESULTS = ("error", "requeue", "requeue_after", "success")


class ControllerMetrics:
    """The metrics of one controller."""

    total: Family
    errors: Family
    terminal: Family
    panics: Family
    timeouts: Family
    time: Family
    workers: Family
    active: Family

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
        """Create every series, so that it is exported with the value 0."""
        for family in (self.errors, self.terminal, self.panics, self.timeouts):
            family.of(self._name)
        self._active = self.active.of(self._name)
        self._results = {result: self.total.of(self._name, result) for result in RESULTS}
        self.workers.set(workers, self._name)

    def started(self) -> None:
        """Count a reconcile that starts."""
        self._active.value += 1.0

    def finished(self, label: str, seconds: float, *, terminal: bool, panicked: bool, timed_out: bool) -> None:
        """Count a reconcile that ended."""
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
