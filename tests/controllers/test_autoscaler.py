"""The controller of HorizontalPodAutoscalers: metrics, stabilization windows, policies, conditions."""

from datetime import timedelta

import pytest

from fakekube.controllers.workload.podstate import condition
from tests.controllers.workloads import deployment, make_all_ready, template

pytestmark = pytest.mark.fakekube(
    controllers=["deployment", "replicaset", "horizontal-pod-autoscaler-controller"], rbac=True
)

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


def autoscaler(metrics=(CPU,), *, name="h", **spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": list(metrics), **spec}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}


def web(replicas):
    containers = [{"name": "c", "image": "nginx:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]
    return deployment(replicas, template={**template(), "spec": {"containers": containers}})


def begin(fakekube, replicas, *args, **spec):
    """A Deployment whose pods have been ready for ten minutes, and its autoscaler."""
    fakekube.create(web(replicas))
    fakekube.settle()
    ready(fakekube)
    fakekube.advance("10m")
    fakekube.create(autoscaler(*args, **spec))
    fakekube.settle()


def ready(fakekube):
    make_all_ready(fakekube)
    for pod in fakekube.list("v1", "Pod"):
        if "startTime" not in pod["status"]:
            start = {"status": {"startTime": pod["metadata"]["creationTimestamp"]}}
            fakekube.patch("v1", "Pod", pod["metadata"]["name"], start, subresource="status")
    fakekube.settle()


def replicas(fakekube):
    return fakekube.get("apps/v1", "Deployment", "web")["spec"]["replicas"]


def hpa(fakekube):
    return fakekube.get("autoscaling/v2", "HorizontalPodAutoscaler", "h")


def reason(fakekube, kind):
    return condition(hpa(fakekube), kind)["reason"]


def test_cpu_above_its_target_scales_up_after_15_seconds(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "80m", pods="app=web")
    begin(fakekube, 2)
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: replicas(fakekube) == 4, "1m")  # 2 * 80 / 50, rounded up
    assert fakekube.clock.now() - begun == timedelta(seconds=15)
    found = hpa(fakekube)["status"]
    assert (found["currentReplicas"], found["desiredReplicas"]) == (2, 4)
    assert found["currentMetrics"][0]["resource"]["current"] == {"averageUtilization": 80, "averageValue": "80m"}
    (event,) = fakekube.events(reason="SuccessfulRescale")
    assert event["message"] == "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    assert reason(fakekube, "ScalingActive") == "ValidMetricFound"
    assert reason(fakekube, "ScalingLimited") == "DesiredWithinRange"


@pytest.mark.parametrize(("usage", "expected"), [("44m", 4), ("45m", 4), ("55m", 4), ("56m", 5)])
def test_ratios_within_the_tolerance_change_nothing(fakekube, usage, expected):
    fakekube.pods.metrics.set_resource("cpu", usage, pods="app=web")
    begin(fakekube, 4)
    fakekube.advance("15s")
    assert replicas(fakekube) == expected
    assert (reason(fakekube, "AbleToScale") == "SucceededRescale") == (expected != 4)


def test_scaling_down_waits_for_five_minutes_of_low_usage(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "50m", pods="app=web")
    begin(fakekube, 4)
    fakekube.advance("60s")
    low = fakekube.clock.now()  # the last recommendation of 4 was made just now
    fakekube.pods.metrics.set_resource("cpu", "10m", pods="app=web")
    fakekube.advance("15s")
    assert reason(fakekube, "AbleToScale") == "ScaleDownStabilized"
    fakekube.advance_until(lambda: replicas(fakekube) == 1, "1h")
    assert fakekube.clock.now() - low == timedelta(minutes=5, seconds=15)


def test_scaling_up_is_limited_to_twice_the_replicas_or_four(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "1", pods="app=web")
    begin(fakekube, 1)
    fakekube.advance("15s")
    assert replicas(fakekube) == 4
    assert reason(fakekube, "ScalingLimited") == "ScaleUpLimit"


def test_behavior_windows_and_policies(fakekube):
    down = {"stabilizationWindowSeconds": 60, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    up = {"stabilizationWindowSeconds": 30, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]}
    fakekube.pods.metrics.set_resource("cpu", "50m", pods="app=web")
    begin(fakekube, 4, behavior={"scaleDown": down, "scaleUp": up})
    fakekube.advance("60s")
    fakekube.pods.metrics.set_resource("cpu", "5m", pods="app=web")
    begun = fakekube.clock.now()
    times = []
    for wanted in (3, 2, 1):
        fakekube.advance_until(lambda wanted=wanted: replicas(fakekube) == wanted, "1h")
        times.append((fakekube.clock.now() - begun).total_seconds())
    assert times == [60, 120, 180]
    fakekube.pods.metrics.set_resource("cpu", "500m", pods="app=web")
    begun = fakekube.clock.now()
    # twice the replicas of a minute ago, when there were two
    fakekube.advance_until(lambda: replicas(fakekube) == 4, "1h")
    assert (fakekube.clock.now() - begun).total_seconds() == 30


@pytest.mark.parametrize(
    ("metric", "expected", "current"),
    [
        (
            {
                "type": "Pods",
                "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": 5}},
            },
            4,
            {"averageValue": "10"},
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "hits"},
                    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
                    "target": {"type": "Value", "value": "2k"},
                },
            },
            3,
            {"value": "3k"},
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"of": "web"}}},
                    "target": {"type": "AverageValue", "averageValue": "30"},
                },
            },
            3,
            {"averageValue": "45"},
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "memory",
                    "container": "c",
                    "target": {"type": "AverageValue", "averageValue": "64Mi"},
                },
            },
            3,
            {"averageValue": "96Mi"},
        ),
    ],
)
def test_sources_of_metrics(fakekube, metric, expected, current):
    metrics = fakekube.pods.metrics
    metrics.set_pods("rps", 10, pods="app=web")
    metrics.set_object("hits", "3k", kind="Service", of="web")
    metrics.set_external("queue", 40, 50, labels={"of": "web"})
    metrics.set_external("queue", 1000, labels={"of": "other"})
    metrics.set_resource("memory", "96Mi", pods="app=web", container="c")
    begin(fakekube, 2, [metric])
    fakekube.advance("15s")
    assert replicas(fakekube) == expected
    (found,) = hpa(fakekube)["status"]["currentMetrics"]
    kind = metric["type"]
    assert found[kind[0].lower() + kind[1:]]["current"] == current


def test_without_metrics_the_conditions_have_the_reason(fakekube):
    begin(fakekube, 2)
    fakekube.advance("15s")
    assert replicas(fakekube) == 2
    found = condition(hpa(fakekube), "ScalingActive")
    assert found["reason"] == "FailedGetResourceMetric"
    assert found["message"] == (
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for "
        "resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested "
        "resource (get pods.metrics.k8s.io)"
    )
    assert {event["reason"] for event in fakekube.events() if event["involvedObject"]["name"] == "h"} == {
        "FailedGetResourceMetric",
        "FailedComputeMetricsReplicas",
    }


def test_one_metric_of_two_scales_up_but_not_down(fakekube):
    rps = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": 5}}}
    fakekube.pods.metrics.set_pods("rps", 1, pods="app=web")
    begin(fakekube, 2, [CPU, rps])
    fakekube.advance("10m")
    assert replicas(fakekube) == 2
    fakekube.pods.metrics.set_pods("rps", 10, pods="app=web")
    fakekube.advance("15s")
    assert replicas(fakekube) == 4


@pytest.mark.parametrize(
    ("replicas_now", "expected", "kind", "why"),
    [
        (0, 0, "ScalingActive", "ScalingDisabled"),
        (1, 2, "AbleToScale", "SucceededRescale"),
        (12, 10, "AbleToScale", "SucceededRescale"),
    ],
)
def test_limits_hold_without_metrics(fakekube, replicas_now, expected, kind, why):
    fakekube.create(web(replicas_now))
    fakekube.create(autoscaler(minReplicas=2))
    fakekube.advance("15s")
    assert replicas(fakekube) == expected
    assert reason(fakekube, kind) == why


@pytest.mark.parametrize(
    ("value", "expected", "active"),
    [(2, 2, "FailedGetResourceMetric"), (5, 2, "ValidMetricFound"), (6, 3, "ValidMetricFound")],
)
def test_a_metric_beside_one_that_fails_counts_unless_it_scales_down(fakekube, value, expected, active):
    """`horizontal.go`: computeReplicasForMetrics refuses to scale down with invalid metrics, and nothing else."""
    rps = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": 5}}}
    fakekube.pods.metrics.set_pods("rps", value, pods="app=web")
    begin(fakekube, 2, [CPU, rps])
    fakekube.advance("15s")
    assert replicas(fakekube) == expected
    assert reason(fakekube, "ScalingActive") == active


@pytest.mark.parametrize("limits", [{"minReplicas": 4}, {"maxReplicas": 4}])
def test_at_a_limit_the_metrics_are_looked_at(fakekube, limits):
    fakekube.pods.metrics.set_resource("cpu", "50m", pods="app=web")
    begin(fakekube, 4, **limits)
    fakekube.advance("15s")
    assert replicas(fakekube) == 4
    assert (reason(fakekube, "ScalingActive"), reason(fakekube, "AbleToScale")) == (
        "ValidMetricFound",
        "ReadyForNewScale",
    )
    assert reason(fakekube, "ScalingLimited") == "DesiredWithinRange"


def test_a_target_that_is_missing_is_a_condition(fakekube):
    fakekube.create(autoscaler())
    fakekube.advance("15s")
    found = condition(hpa(fakekube), "AbleToScale")
    assert (found["status"], found["reason"]) == ("False", "FailedGetScale")
    assert found["message"].endswith('current scale: deployments.apps "web" not found')


def test_two_autoscalers_of_the_same_pods_do_not_scale(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "50m", pods="app=web")
    begin(fakekube, 2)
    fakekube.create(autoscaler(name="other"))
    fakekube.advance("1m")
    assert reason(fakekube, "ScalingActive") == "AmbiguousSelector"
    message = "pods by selector app=web are controlled by multiple HPAs: [{h default} {other default}]"
    assert condition(hpa(fakekube), "ScalingActive")["message"] == message


def test_without_autoscalers_there_are_no_requests(fakekube):
    fakekube.create(web(1))
    fakekube.settle()
    ready(fakekube)
    before = len([record for record in fakekube.requests() if record.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([record for record in fakekube.requests() if record.verb != "watch"]) == before
