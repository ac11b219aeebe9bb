"""Metrics of requests under the names of kube-apiserver (`apiserver/pkg/endpoints/metrics`)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from fakekube.apiserver.endpoints.metrics import Sample, family
from fakekube.apiserver.flowcontrol import runs_long
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.server.runner import ServerRunner
from fakekube.struct import Struct, field

#: The bounds of the buckets of `apiserver_request_duration_seconds`.
BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip

#: How the metrics name verbs (`CanonicalVerb`, `cleanVerb`); others are in upper case.
_VERBS = {"create": "POST", "update": "PUT"}

#: The media types of server-side apply begin with it; its verb is APPLY.
_APPLY = "application/apply-patch"

#: Requests that last, whose time says nothing.
_LONG = frozenset({"WATCH", "CONNECT"})

_LABELS = ("component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version")

Labels = tuple[str, ...]

#: The number of requests that are counted together, which takes less time than one by one.
TOGETHER = 256

#: The verbs of requests of the kind "readOnly"; all others are "mutating" (`server/filters/maxinflight.go`).
_READING = frozenset({"get", "list", "watch"})
KINDS = ("mutating", "readOnly")


def kind_of(info: RequestInfo) -> str:
    return "readOnly" if info.verb in _READING else "mutating"


class Peak:
    """The highest value within a second, as of the whole second before the present one, and of this one so far."""

    __slots__ = ("_before", "_highest", "_second")

    def __init__(self) -> None:
        self._second, self._highest, self._before = 0, 0, 0

    def observe(self, now: float, value: int) -> None:
        second = int(now)
        if second != self._second:
            self._before = self._highest if second == self._second + 1 else 0
            self._second, self._highest = second, 0
        if value > self._highest:
            self._highest = value

    def at(self, now: float) -> int:
        """The highest value in the last second (monotonic seconds)."""
        self.observe(now, 0)
        return max(self._highest, self._before)


class Series(Struct):
    """The requests with the same labels: how many have each code, how many are in each bucket, and their seconds."""

    codes: dict[int, int] = field(default_factory=dict)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0


class RequestMetrics:
    """Counts the requests of a runner, from now on."""

    def __init__(self, runner: ServerRunner) -> None:
        self._runner = runner
        self._series: dict[Labels, Series] = {}
        self._in_flight = {kind: Peak() for kind in KINDS}
        #: requests that are not counted yet: what labels need, the code, the time, the seconds, and how many waited
        self._fresh: list[tuple[RequestInfo, str, str, int, float, float, int]] = []
        runner.on_answer(self._answered)
        runner.apiserver.more_metrics.append(self.families)

    def _answered(self, request: Request, info: RequestInfo, response: Response, record: RequestRecord) -> None:
        runner = self._runner
        media_type = str(request.headers.get("content-type", "")) if info.verb == "patch" else ""
        dry_run = request.option("dryRun") or ""
        waiting = self._waiting(kind_of(info)) if runner.suspended else 0
        self._fresh.append((info, media_type, dry_run, record.code, record.at, record.at - runner.began, waiting))
        if len(self._fresh) >= TOGETHER:
            self._count()

    def _count(self) -> None:
        """Count the requests since the last call."""
        fresh, self._fresh = self._fresh, []
        for info, media_type, dry_run, code, now, took, waiting in fresh:
            labels = labels_of(info, media_type, dry_run)
            series = self._series.get(labels)
            if series is None:
                series = self._series[labels] = Series()
            series.codes[code] = series.codes.get(code, 0) + 1
            # of requests that last, too, although their time is not shown
            series.buckets[bisect_left(BUCKETS, took)] += 1
            series.total += took
            if not runs_long(info):
                self._in_flight[kind_of(info)].observe(now, 1 + waiting)

    def families(self) -> Iterable[str]:
        """The metric families as text."""
        self._count()
        requests: list[Sample] = [
            ({"code": str(code), **_named(labels)}, count)
            for labels, series in self._series.items()
            for code, count in series.codes.items()
        ]
        about = (
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, "
            "scope, component, and HTTP response code."
        )
        yield family("apiserver_request_total", "counter", about, requests)
        yield self._histogram()
        yield from self._concurrency()
        watches = Counter(watch.collection for watch in self._runner.watches)
        open_now: list[Sample] = []
        for collection, count in sorted(watches.items()):
            resource, _, group = collection.partition(".")
            open_now.append(({"component": "apiserver", "group": group, "resource": resource, "verb": "WATCH"}, count))
        about = "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group and resource."
        yield family("apiserver_longrunning_requests", "gauge", about, open_now)

    def _waiting(self, kind: str) -> int:
        """The requests of a kind that wait at this moment, for webhooks or an injected delay."""
        return sum(kind_of(info) == kind and not runs_long(info) for info in self._runner.suspended)

    def _concurrency(self) -> Iterable[str]:
        """Requests that are processed, and those in queues: there are no queues, so that none waits in one."""
        now = self._runner.clock.monotonic()
        peaks = {kind: max(peak.at(now), self._waiting(kind)) for kind, peak in self._in_flight.items()}
        about = (
            "[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in "
            "last second."
        )
        in_flight: list[Sample] = [({"request_kind": kind}, peak) for kind, peak in peaks.items()]
        yield family("apiserver_current_inflight_requests", "gauge", about, in_flight)
        about = "[ALPHA] Maximal number of queued requests in this apiserver per request kind in last second."
        queued: list[Sample] = [({"request_kind": kind}, 0) for kind in KINDS]
        yield family("apiserver_current_inqueue_requests", "gauge", about, queued)

    def _histogram(self) -> str:
        name = "apiserver_request_duration_seconds"
        lines = [
            f"# HELP {name} [STABLE] Response latency distribution in seconds for each verb, dry run value, group, "
            "version, resource, subresource, scope and component.",
            f"# TYPE {name} histogram",
        ]
        for labels, series in self._series.items():
            if labels[6] in _LONG:
                continue
            shown = ",".join(f'{key}="{value}"' for key, value in _named(labels).items())
            bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
            sums = list(accumulate(series.buckets))
            lines += [f'{name}_bucket{{{shown},le="{le}"}} {at}' for le, at in zip(bounds, sums, strict=True)]
            lines += [f"{name}_sum{{{shown}}} {series.total}", f"{name}_count{{{shown}}} {sums[-1]}"]
        return "\n".join([*lines, ""])


def _named(labels: Labels) -> dict[str, str]:
    return dict(zip(_LABELS, labels, strict=True))


def labels_of(info: RequestInfo, media_type: str, dry_run: str) -> Labels:
    """The labels of a request, in the order of their names. `media_type`: of the body of a patch."""
    verb = _VERBS.get(info.verb) or info.verb.upper()
    if verb == "PATCH" and media_type.startswith(_APPLY):
        verb = "APPLY"
    scope = ""
    if info.is_resource:
        is_one = bool(info.name) or info.verb == "create"
        scope = "resource" if is_one else "namespace" if info.namespace else "cluster"
    return ("apiserver", dry_run, info.group, info.resource, scope, info.subresource, verb, info.version)
