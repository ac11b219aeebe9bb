"""How many replicas bring a metric to its target (`podautoscaler/replica_calculator.go`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from fakekube.apiserver.schema.quantity import value_of
from fakekube.controllers.autoscaling.metricsclient import MetricsUnavailable, PodMetric, milli
from fakekube.controllers.workload.podstate import Pod, condition, is_ready, moment, phase
from fakekube.struct import Struct, replace

#: Seconds after the start of a pod in which its cpu usage counts only while it is ready
#: (kube-controller-manager: --horizontal-pod-autoscaler-cpu-initialization-period).
CPU_INITIALIZATION = timedelta(minutes=5)

#: A pod that has become not ready within this time after its start has never been ready
#: (kube-controller-manager: --horizontal-pod-autoscaler-initial-readiness-delay).
INITIAL_READINESS = timedelta(seconds=30)

#: The most replicas that a number of 32 bits can be.
MOST = 2**31 - 1

_NO_PODS = "no pods returned by selector while calculating replica count"


class Tolerances(Struct, frozen=True):
    """How far the ratio of usage and target may be from 1 without a change."""

    down: float = 0.1
    up: float = 0.1

    def allow(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Target(Struct, frozen=True):
    """The replicas whose metric is looked at: the pods of the scale, and how many there are."""

    pods: Sequence[Pod]
    replicas: int
    tolerances: Tolerances
    now: datetime


class Groups(Struct, frozen=True):
    """The pods by what their metrics say: a number of ready ones, and the names of the others."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def group_pods(pods: Iterable[Pod], metrics: Mapping[str, PodMetric], resource: str, now: datetime) -> Groups:
    """Group pods. For cpu, pods that have just started or are not ready do not count as ready (groupPods)."""
    ready = 0
    unready, missing, ignored = set[str](), set[str](), set[str]()
    for pod in pods:
        name = pod["metadata"]["name"]
        if pod["metadata"].get("deletionTimestamp") or phase(pod) == "Failed":
            ignored.add(name)
        elif phase(pod) == "Pending":
            unready.add(name)
        elif name not in metrics:
            missing.add(name)
        elif resource == "cpu" and _is_starting(pod, metrics[name], now):
            unready.add(name)
        else:
            ready += 1
    return Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_starting(pod: Pod, metric: PodMetric, now: datetime) -> bool:
    found, started = condition(pod, "Ready"), moment((pod.get("status") or {}).get("startTime"))
    changed = moment((found or {}).get("lastTransitionTime"))
    if found is None or started is None or changed is None:
        return True
    not_ready = found.get("status") == "False"
    if started + CPU_INITIALIZATION > now:
        return not_ready or metric.measured < changed + timedelta(seconds=metric.window)
    return not_ready and started + INITIAL_READINESS > changed


# --- metrics of pods


class Usage(Struct, frozen=True):
    """The ratio of usage and target, the average usage, and, of resources, the usage as a percentage of requests."""

    ratio: float
    average: int
    percent: int = 0


def plain_replicas(target: Target, metrics: dict[str, PodMetric], wanted: int, resource: str = "") -> tuple[int, Usage]:
    """The replicas for an average value of `wanted`. Raises MetricsUnavailable."""

    def usage_of(found: Mapping[str, PodMetric]) -> Usage:
        average = sum(one.value for one in found.values()) // len(found)
        return Usage(average / wanted, average)

    return _replicas(target, metrics, resource, lambda: usage_of, lambda name: wanted)


def resource_replicas(
    target: Target, metrics: dict[str, PodMetric], wanted: int, resource: str, container: str
) -> tuple[int, Usage]:
    """The replicas for an average utilization of `wanted` percent of the requests. Raises MetricsUnavailable."""
    requests: dict[str, int] = {}

    def prepare() -> Callable[[Mapping[str, PodMetric]], Usage]:
        requests.update(_requests(target.pods, container, resource))
        return usage_of

    def usage_of(found: Mapping[str, PodMetric]) -> Usage:
        known = [name for name in found if name in requests]
        requested = sum(requests[name] for name in known)
        if not requested:
            raise MetricsUnavailable("no metrics returned matched known pods")
        used = sum(found[name].value for name in known)
        percent = used * 100 // requested
        return Usage(percent / wanted, used // len(known), percent)

    return _replicas(target, metrics, resource, prepare, lambda name: requests[name] * max(100, wanted) // 100)


def _replicas(
    target: Target,
    metrics: dict[str, PodMetric],
    resource: str,
    prepare: Callable[[], Callable[[Mapping[str, PodMetric]], Usage]],
    full: Callable[[str], int],
) -> tuple[int, Usage]:
    """The replicas, and the usage of the pods that count.

    Pods without metrics count as fully used (`full`) when there are too many replicas, and as idle when there are too
    few; pods that are not ready count as idle when there are too few. If that turns the direction, nothing changes.
    """
    if not target.pods:
        raise MetricsUnavailable(_NO_PODS)
    groups = group_pods(target.pods, metrics, resource, target.now)
    found = {name: one for name, one in metrics.items() if name not in groups.ignored | groups.unready}
    if not found:
        raise MetricsUnavailable("did not receive metrics for targeted pods (pods might be unready)")
    usage_of = prepare()
    usage = usage_of(found)
    with_unready = bool(groups.unready) and usage.ratio > 1.0
    if not with_unready and not groups.missing:
        if target.tolerances.allow(usage.ratio):
            return target.replicas, usage
        return math.ceil(usage.ratio * groups.ready), usage
    idle = PodMetric(0, target.now)
    if usage.ratio < 1.0:
        found.update((name, replace(idle, value=full(name))) for name in groups.missing)
    elif usage.ratio > 1.0:
        found.update(dict.fromkeys(groups.missing, idle))
    if with_unready:
        found.update(dict.fromkeys(groups.unready, idle))
    ratio = usage_of(found).ratio
    turned = (usage.ratio < 1.0 < ratio) or (ratio < 1.0 < usage.ratio)
    count = math.ceil(ratio * len(found))
    against = (ratio < 1.0 and count > target.replicas) or (ratio > 1.0 and count < target.replicas)
    if target.tolerances.allow(ratio) or turned or against:
        return target.replicas, usage
    return count, usage


# --- metrics of one value


def value_replicas(target: Target, value: int, wanted: int) -> int:
    """The replicas for a value of `wanted` in all. Raises MetricsUnavailable."""
    ratio = value / wanted
    if target.replicas == 0:
        return math.ceil(ratio)
    if target.tolerances.allow(ratio):
        return target.replicas
    if not target.pods:
        raise MetricsUnavailable(f"unable to calculate ready pods: {_NO_PODS}")
    ready = sum(phase(pod) == "Running" and is_ready(pod) for pod in target.pods)
    return min(math.ceil(ratio * ready), MOST)


def average_replicas(replicas: int, tolerances: Tolerances, value: int, wanted: int) -> tuple[int, int]:
    """The replicas for a value of `wanted` of each of the present `replicas`, and the average value."""
    if replicas == 0:
        return (0, 0) if value == 0 else (min(math.ceil(value / wanted), MOST), MOST)
    ratio = value / (wanted * replicas)
    count = replicas if tolerances.allow(ratio) else min(math.ceil(value / wanted), MOST)
    return count, math.ceil(value / replicas)


# --- requests


def _requests(pods: Iterable[Pod], container: str, resource: str) -> dict[str, int]:
    """The requests of pods, or of one of their containers, in thousandths (calculateRequests)."""
    return {pod["metadata"]["name"]: _request(pod, container, resource) for pod in pods}


def _request(pod: Pod, container: str, resource: str) -> int:
    spec, name = pod["spec"], pod["metadata"]["name"]
    of_pod: Mapping[str, Any] = (spec.get("resources") or {}).get("requests") or {}
    if of_pod and not container:
        if resource not in of_pod:
            raise MetricsUnavailable(f"missing pod-level request for {resource} in Pod {name}")
        overhead = (spec.get("overhead") or {}).get(resource, 0)
        return milli(value_of(of_pod[resource]) + value_of(overhead))
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    total = 0
    for one in [*(spec.get("containers") or ()), *sidecars]:
        if container and one["name"] != container:
            continue
        request = ((one.get("resources") or {}).get("requests") or {}).get(resource)
        if request is None:
            raise MetricsUnavailable(f"missing request for {resource} in container {one['name']} of Pod {name}")
        total += milli(value_of(request))
        if container:
            return total
    if container:
        raise MetricsUnavailable(f"container {container} not found in Pod {name}")
    return total
