"""The decision of an autoscaler beside models of `replica_calculator.go` and of `horizontal.go`."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.autoscaling.metricproposals import quantity
from fakekube.controllers.autoscaling.metricsclient import MetricsUnavailable, PodMetric, milli
from fakekube.controllers.autoscaling.replicacount import (
    MOST,
    Target,
    Tolerances,
    average_replicas,
    group_pods,
    plain_replicas,
    resource_replicas,
    value_replicas,
)
from fakekube.controllers.autoscaling.stabilization import (
    Bounds,
    Memory,
    Moment,
    normalize,
    normalize_by_behavior,
    note_scaling,
)
from fakekube.controllers.workload.podstate import timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


def stamp(seconds):
    return timestamp(ago(seconds).replace(tzinfo=None))


def pod(name, *, phase="Running", ready="True", started=3600, changed=3600, deleted=False, requests="100m", **spec):
    """A pod; `ready`: the status of its condition, None for none; times in seconds before now, None for none."""
    meta = {"name": name, **({"deletionTimestamp": stamp(0)} if deleted else {})}
    condition = {"type": "Ready", "status": ready}
    if changed is not None:
        condition["lastTransitionTime"] = stamp(changed)
    status = {"phase": phase, "conditions": [condition] if ready else []}
    if started is not None:
        status["startTime"] = stamp(started)
    containers = [{"name": "c", "resources": {"requests": {"cpu": requests} if requests else {}}}]
    return {"metadata": meta, "spec": {"containers": containers, **spec}, "status": status}


def metrics(**values):
    return {name: PodMetric(value, NOW, 30.0) for name, value in values.items()}


def target(*pods, replicas=None, tolerances=None):
    return Target(pods, len(pods) if replicas is None else replicas, tolerances or Tolerances(), NOW)


# --- which pods count


@pytest.mark.parametrize(
    ("options", "resource", "group"),
    [
        ({}, "cpu", "ready"),
        ({"deleted": True}, "cpu", "ignored"),
        ({"phase": "Failed"}, "cpu", "ignored"),
        ({"phase": "Pending"}, "cpu", "unready"),
        ({"phase": "Pending"}, "memory", "unready"),
        ({"ready": None}, "cpu", "unready"),
        ({"ready": None}, "memory", "ready"),
        ({"started": None}, "cpu", "unready"),
        # within five minutes of the start: only ready ones that were measured for a whole window since then
        ({"started": 299, "changed": 30}, "cpu", "ready"),
        ({"started": 299, "changed": 29}, "cpu", "unready"),
        ({"started": 299, "changed": 200, "ready": "False"}, "cpu", "unready"),
        ({"started": 299, "changed": 200, "ready": "False"}, "memory", "ready"),
        # later: all but those that have never been ready
        ({"started": 300, "changed": 29}, "cpu", "ready"),
        ({"started": 300, "changed": 271, "ready": "False"}, "cpu", "unready"),
        ({"started": 300, "changed": 270, "ready": "False"}, "cpu", "ready"),
        ({"started": 300, "changed": 271, "ready": "True"}, "cpu", "ready"),
    ],
)
def test_groups_of_pods(options, resource, group):
    found = group_pods([pod("p", **options)], metrics(p=1), resource, NOW)
    assert {
        "ready": found.ready == 1,
        "unready": "p" in found.unready,
        "missing": "p" in found.missing,
        "ignored": "p" in found.ignored,
    } == {name: name == group for name in ("ready", "unready", "missing", "ignored")}


def test_pods_without_a_metric_are_missing():
    found = group_pods([pod("p"), pod("q"), pod("r", phase="Pending")], metrics(p=1), "cpu", NOW)
    assert (found.ready, found.missing, found.unready) == (1, {"q"}, {"r"})


# --- a model of the count


def model(ready, unready, missing, wanted, replicas, down, up):
    """`GetMetricReplicas` of pods: the usages of ready pods, and how many are unready and missing."""

    def ratio_of(usages):
        return (sum(usages) // len(usages)) / wanted

    def within(ratio):
        return 1.0 - down <= ratio <= 1.0 + up

    ratio = ratio_of(ready)
    scale_up_with_unready = unready > 0 and ratio > 1.0
    if not scale_up_with_unready and missing == 0:
        return replicas if within(ratio) else math.ceil(ratio * len(ready))
    usages = list(ready)
    if ratio < 1.0:
        usages += [wanted] * missing
    elif ratio > 1.0:
        usages += [0] * missing
    if scale_up_with_unready:
        usages += [0] * unready
    new = ratio_of(usages)
    if within(new) or (ratio < 1.0 and new > 1.0) or (ratio > 1.0 and new < 1.0):
        return replicas
    count = math.ceil(new * len(usages))
    if (new < 1.0 and count > replicas) or (new > 1.0 and count < replicas):
        return replicas
    return count


USAGES = st.sampled_from([0, 10, 50, 89, 90, 91, 100, 105, 110, 111, 150, 200, 300, 1000])


@settings(max_examples=150)
@given(
    st.lists(USAGES, min_size=1, max_size=5),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 12),
    st.sampled_from([(0.1, 0.1), (0.0, 0.0), (0.5, 0.0), (0.0, 0.5)]),
)
def test_an_average_value_is_that_of_the_model(ready, unready, missing, replicas, tolerance):
    pods = [pod(f"r{i}") for i in range(len(ready))]
    pods += [pod(f"u{i}", phase="Pending") for i in range(unready)] + [pod(f"m{i}") for i in range(missing)]
    found = metrics(**{f"r{i}": value for i, value in enumerate(ready)}, **({"u0": 99999} if unready else {}))
    expected = model(ready, unready, missing, 100, replicas, *tolerance)
    count, usage = plain_replicas(target(*pods, replicas=replicas, tolerances=Tolerances(*tolerance)), found, 100)
    assert count == expected
    assert usage.average == sum(ready) // len(ready)


@pytest.mark.parametrize(
    ("usages", "pods", "replicas", "expected"),
    [
        # unready pods turn a scale-up around: nothing changes
        ({"a": 150}, [pod("a"), pod("b", phase="Pending"), pod("c", phase="Pending")], 3, 3),
        ({"a": 400}, [pod("a"), pod("b", phase="Pending"), pod("c", phase="Pending")], 3, 4),
        # missing pods damp in both directions
        ({"a": 10, "b": 10}, [pod("a"), pod("b"), pod("c")], 3, 2),
        ({"a": 10, "b": 80}, [pod("a"), pod("b"), pod("c"), pod("d")], 4, 3),
        ({"a": 300, "b": 300}, [pod("a"), pod("b"), pod("c")], 3, 6),
        ({"a": 120}, [pod("a"), pod("b")], 2, 2),
        # a count against the direction changes nothing
        ({"a": 300}, [pod("a"), pod("b", phase="Pending")], 8, 8),
        ({"a": 20, "b": 20}, [pod("a"), pod("b"), pod("c")], 1, 1),
    ],
)
def test_counts_with_unready_and_missing_pods(usages, pods, replicas, expected):
    assert plain_replicas(target(*pods, replicas=replicas), metrics(**usages), 100)[0] == expected


def test_no_pods_and_no_metrics_of_them_are_errors():
    with pytest.raises(MetricsUnavailable, match="no pods returned by selector while calculating replica count"):
        plain_replicas(target(), metrics(a=1), 100)
    with pytest.raises(MetricsUnavailable, match="did not receive metrics for targeted pods"):
        plain_replicas(target(pod("a", phase="Pending")), metrics(a=1), 100)


# --- utilization of requests


def utilization(pods, usages, wanted=50, resource="cpu", container="", replicas=None):
    return resource_replicas(target(*pods, replicas=replicas), metrics(**usages), wanted, resource, container)


def test_utilization_is_usage_by_requests():
    pods = [pod("a", requests="100m"), pod("b", requests="300m")]
    count, usage = utilization(pods, {"a": 200, "b": 101})
    assert (count, usage.percent, usage.average, usage.ratio) == (3, 75, 150, 1.5)


def test_metrics_of_unknown_pods_do_not_count():
    count, usage = utilization([pod("a")], {"a": 100, "other": 900})
    assert (count, usage.percent, usage.average) == (2, 100, 100)
    with pytest.raises(MetricsUnavailable, match="no metrics returned matched known pods"):
        utilization([pod("a")], {"other": 900})


@pytest.mark.parametrize(("wanted", "expected"), [(50, 3), (200, 2)])
def test_a_missing_pod_counts_with_its_requests_or_the_target_if_that_is_more(wanted, expected):
    pods = [pod("a", requests="100m"), pod("b", requests="100m"), pod("c", requests="100m")]
    usages = {"a": wanted // 10 + 5, "b": wanted // 10 + 5}
    assert utilization(pods, usages, wanted)[0] == expected


@pytest.mark.parametrize(
    ("spec", "container", "problem"),
    [
        ({}, "x", "container x not found in Pod a"),
        ({"containers": [{"name": "d"}]}, "", "missing request for cpu in container d of Pod a"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "", "missing pod-level request for cpu in Pod a"),
    ],
)
def test_missing_requests_are_errors(spec, container, problem):
    with pytest.raises(MetricsUnavailable, match=problem):
        utilization([{**pod("a"), "spec": {**pod("a")["spec"], **spec}}], {"a": 1}, container=container)


@pytest.mark.parametrize(
    ("spec", "container", "percent"),
    [
        ({}, "", 100),
        ({"resources": {"requests": {"cpu": "200m"}}}, "", 50),
        ({"resources": {"requests": {"cpu": "200m"}}}, "c", 100),
        ({"resources": {"requests": {"cpu": "200m"}}, "overhead": {"cpu": "200m"}}, "", 25),
        ({"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]}, "", 100),
        (
            {"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]},
            "",
            9,
        ),
        (
            {"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]},
            "i",
            10,
        ),
    ],
)
def test_which_requests_count(spec, container, percent):
    assert utilization([pod("a", **spec)], {"a": 100}, container=container)[1].percent == percent


# --- one value for all


@pytest.mark.parametrize(
    ("value", "replicas", "ready", "expected"),
    [
        (0, 0, 2, 0),
        (101, 0, 2, 2),
        (110, 3, 2, 3),
        (111, 3, 2, 3),  # 1.11 * 2
        (200, 3, 2, 4),
        (90, 3, 2, 3),
        (89, 3, 2, 2),
        (10**15, 3, 2, MOST),
    ],
)
def test_a_value_for_all_pods_is_multiplied_with_the_ready_ones(value, replicas, ready, expected):
    pods = [pod(f"r{i}") for i in range(ready)] + [pod("u", ready="False"), pod("p", phase="Pending")]
    assert value_replicas(target(*pods, replicas=replicas), value, 100) == expected


def test_a_value_needs_pods_to_multiply():
    with pytest.raises(MetricsUnavailable, match="unable to calculate ready pods: no pods returned"):
        value_replicas(target(replicas=1), 200, 100)
    assert MOST == 2147483647


@pytest.mark.parametrize(
    ("replicas", "value", "expected"),
    [
        (0, 0, (0, 0)),
        (0, 150, (2, MOST)),
        (0, 10**15, (MOST, MOST)),
        (4, 440, (4, 110)),
        (4, 441, (5, 111)),
        (4, 360, (4, 90)),
        (4, 359, (4, 90)),
        (4, 299, (3, 75)),
        (4, 10**15, (MOST, 25 * 10**13)),
    ],
)
def test_a_value_of_each_pod(replicas, value, expected):
    assert average_replicas(replicas, Tolerances(), value, 100) == expected


@pytest.mark.parametrize(
    ("thousandths", "resource", "text"),
    [
        (1500, "", "1500m"),
        (2000, "", "2"),
        (2048 * 1000, "memory", "2Ki"),
        (1023 * 1000, "memory", "1023"),
        (1024 * 1000, "memory", "1Ki"),
        (1025 * 1000, "memory", "1025"),
        (1024 * 1000 + 1, "memory", "1024001m"),
        (1024 * 1000, "cpu", "1024"),
    ],
)
def test_quantities_of_a_status(thousandths, resource, text):
    assert quantity(thousandths, resource) == text


def test_thousandths_are_rounded_up():
    assert [milli(Decimal(text)) for text in ("1", "0.0001", "1.0005")] == [1000, 1, 1001]


# --- stabilization without a behavior


@pytest.mark.parametrize(
    ("current", "desired", "minimum", "maximum", "expected", "reason"),
    [
        (3, 5, 1, 10, 5, "DesiredWithinRange"),
        (3, 6, 1, 10, 6, "DesiredWithinRange"),
        (3, 7, 1, 10, 6, "ScaleUpLimit"),
        (1, 4, 1, 10, 4, "DesiredWithinRange"),
        (1, 5, 1, 10, 4, "ScaleUpLimit"),
        (3, 7, 1, 6, 6, "TooManyReplicas"),
        (3, 7, 1, 5, 5, "TooManyReplicas"),
        (3, 5, 1, 5, 5, "DesiredWithinRange"),
        (3, 1, 2, 10, 2, "TooFewReplicas"),
        (3, 2, 2, 10, 2, "DesiredWithinRange"),
        (3, 0, 0, 10, 0, "DesiredWithinRange"),
    ],
)
def test_limits_without_a_behavior(current, desired, minimum, maximum, expected, reason):
    found = normalize(Memory(), Bounds(current, minimum, maximum), desired, NOW)
    assert (found.replicas, found.limit[0], found.limited) == (expected, reason, reason != "DesiredWithinRange")
    assert found.able[0] == "ReadyForNewScale"


@pytest.mark.parametrize(("seconds", "expected"), [(300, 9), (301, 2)])
def test_the_highest_recommendation_of_five_minutes_counts(seconds, expected):
    memory = Memory([Moment(9, ago(seconds)), Moment(4, ago(400))])
    found = normalize(memory, Bounds(9, 1, 20), 2, NOW)
    assert (found.replicas, found.able[0]) == (
        (expected, "ScaleDownStabilized") if expected == 9 else (2, "ReadyForNewScale")
    )
    assert [one.number for one in memory.recommendations] == [9, 2]


def test_outdated_recommendations_are_replaced_one_by_one():
    memory = Memory([Moment(1, ago(500)), Moment(2, ago(400)), Moment(3, ago(10))])
    normalize(memory, Bounds(3, 1, 20), 4, NOW)
    assert [one.number for one in memory.recommendations] == [1, 4, 3]
    normalize(memory, Bounds(3, 1, 20), 5, NOW)
    assert [one.number for one in memory.recommendations] == [5, 4, 3]
    normalize(memory, Bounds(3, 1, 20), 6, NOW)
    assert [one.number for one in memory.recommendations] == [5, 4, 3, 6]


# --- behaviors, beside a model


def by_behavior(memory, bounds, desired, behavior):
    """`stabilizeRecommendationWithBehaviors` and `convertDesiredReplicasWithBehaviorRate`, without the reasons."""

    def window(name, default):
        seconds = behavior.get(name, {}).get("stabilizationWindowSeconds")
        return ago(default if seconds is None else seconds)

    up, down = window("scaleUp", 0), window("scaleDown", 300)
    low = high = desired
    for one in memory.recommendations:
        low = min(low, one.number) if one.time > up else low
        high = max(high, one.number) if one.time > down else high
    stable = max(bounds.current, low)
    stable = min(stable, high)

    def change(moments, period):
        return sum(one.number for one in moments if one.time > ago(period))

    def limit(rules, sign):
        if rules.get("selectPolicy") == "Disabled":
            return bounds.current
        found = []
        for policy in rules["policies"]:
            period = policy["periodSeconds"]
            start = bounds.current - change(memory.scaled_up, period) + change(memory.scaled_down, period)
            if policy["type"] == "Pods":
                found.append(start + sign * policy["value"])
            else:
                exact = start * (1 + sign * policy["value"] / 100)
                found.append(math.ceil(exact) if sign > 0 else int(exact))
        return {1: max, -1: min}[sign if rules.get("selectPolicy") != "Min" else -sign](found)

    if stable > bounds.current:
        allowed = max(limit(behavior["scaleUp"], 1), bounds.current)
        return stable, min(stable, allowed, bounds.maximum)
    if stable < bounds.current:
        allowed = min(limit(behavior["scaleDown"], -1), bounds.current)
        return stable, max(stable, allowed, bounds.minimum)
    return stable, stable


def moments(most):
    return st.lists(
        st.builds(Moment, st.integers(0, most), st.sampled_from([ago(s) for s in (0, 15, 60, 90, 300)])), max_size=3
    )


RULES = st.fixed_dictionaries(
    {
        "policies": st.lists(
            st.fixed_dictionaries({
                "type": st.sampled_from(["Pods", "Percent"]),
                "value": st.sampled_from([1, 2, 4, 10, 50, 100]),
                "periodSeconds": st.sampled_from([15, 60, 90]),
            }),
            min_size=1,
            max_size=2,
        )
    },
    optional={
        "selectPolicy": st.sampled_from(["Max", "Min", "Disabled"]),
        "stabilizationWindowSeconds": st.sampled_from([0, 15, 60, 300]),
    },
)  # fmt: skip


@settings(max_examples=120)
@given(
    st.builds(Memory, moments(20), moments(3), moments(3)),
    st.integers(1, 15),
    st.integers(0, 25),
    st.sampled_from([(1, 10), (1, 20), (3, 15)]),
    st.fixed_dictionaries({"scaleUp": RULES, "scaleDown": RULES}),
)
def test_behaviors_limit_as_the_model_does(memory, current, desired, limits, behavior):
    bounds = Bounds(current, *limits)
    stable, replicas = by_behavior(memory, bounds, desired, behavior)
    found = normalize_by_behavior(memory, bounds, desired, behavior, NOW)
    assert (found.replicas, found.limited) == (replicas, replicas != stable)
    if stable == desired:
        assert found.able[0] == "ReadyForNewScale"
    else:
        assert found.able[0] == ("ScaleUpStabilized" if desired >= current else "ScaleDownStabilized")


ONE_POD = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}


@pytest.mark.parametrize(
    ("current", "desired", "expected", "reason"),
    [
        (5, 9, 6, "ScaleUpLimit"),
        (5, 6, 6, "DesiredWithinRange"),
        (9, 12, 10, "TooManyReplicas"),
        (5, 1, 4, "ScaleDownLimit"),
        (5, 4, 4, "DesiredWithinRange"),
        (3, 1, 2, "TooFewReplicas"),
        (5, 5, 5, "DesiredWithinRange"),
    ],
)
def test_reasons_of_limits(current, desired, expected, reason):
    behavior = {"scaleUp": ONE_POD, "scaleDown": ONE_POD}
    found = normalize_by_behavior(Memory(), Bounds(current, 2, 10), desired, behavior, NOW)
    assert (found.replicas, found.limit[0]) == (expected, reason)


def test_windows_without_a_value_are_0_up_and_300_down():
    behavior = {"scaleUp": ONE_POD, "scaleDown": ONE_POD}
    memory = Memory([Moment(9, ago(299))])
    assert normalize_by_behavior(memory, Bounds(5, 1, 10), 3, behavior, NOW).replicas == 5
    memory = Memory([Moment(9, ago(300))])
    assert normalize_by_behavior(memory, Bounds(5, 1, 10), 3, behavior, NOW).replicas == 4
    memory = Memory([Moment(1, ago(1))])
    assert normalize_by_behavior(memory, Bounds(5, 1, 10), 6, behavior, NOW).replicas == 6


def test_recommendations_are_kept_for_the_longer_window():
    rules = {
        "scaleUp": ONE_POD | {"stabilizationWindowSeconds": 60},
        "scaleDown": ONE_POD | {"stabilizationWindowSeconds": 30},
    }
    memory = Memory([Moment(1, ago(61)), Moment(2, ago(60)), Moment(3, ago(31))])
    normalize_by_behavior(memory, Bounds(5, 1, 10), 7, rules, NOW)
    assert [one.number for one in memory.recommendations] == [7, 2, 3]
    normalize_by_behavior(memory, Bounds(5, 1, 10), 8, rules, NOW)
    assert [one.number for one in memory.recommendations] == [7, 2, 3, 8]


def test_scalings_are_remembered_for_the_longest_period_of_their_direction():
    long, short = ({"policies": [{"periodSeconds": seconds}, {"periodSeconds": 15}]} for seconds in (90, 30))
    behavior, memory = {"scaleUp": long, "scaleDown": short}, Memory()
    memory.scaled_up.append(Moment(1, ago(90)))
    memory.scaled_down.append(Moment(1, ago(31)))
    note_scaling(memory, behavior, 5, 8, NOW)
    note_scaling(memory, behavior, 8, 6, NOW)
    assert [one.number for one in memory.scaled_up] == [1, 3]
    assert [one.number for one in memory.scaled_down] == [2]
    note_scaling(memory, None, 1, 2, NOW)
    assert len(memory.scaled_up) == 2
