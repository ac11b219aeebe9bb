"""Metrics that an autoscaler reads from the metrics APIs of a cluster, here served as custom resources."""

import pytest

from fakekube.controllers.workload.podstate import condition
from tests.controllers.test_autoscaler import CPU, begin, hpa, replicas
from tests.controllers.workloads import pods

pytestmark = pytest.mark.fakekube(controllers=["deployment", "replicaset", "horizontal-pod-autoscaler-controller"])


def served(fakekube, group, plural, kind):
    """Serve a namespaced resource of a group of metrics."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": schema}
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    meta = {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}}
    fakekube.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": meta,
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
        }
    )
    fakekube.settle()


def pod_metrics(fakekube, name, *usages, app="web"):
    """The metrics of a pod: the usage of cpu of each of its containers, None for none."""
    stamp = f"{fakekube.clock.now().isoformat()[:19]}Z"
    containers = [{"name": f"c{i}" if i else "c", "usage": {"cpu": one} if one else {}} for i, one in enumerate(usages)]
    fakekube.apply(
        {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "PodMetrics",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
            "timestamp": stamp,
            "window": "30s",
            "containers": containers,
        }
    )


def with_usages(fakekube, *usages, metrics=(CPU,)):
    served(fakekube, "metrics.k8s.io", "pods", "PodMetrics")
    begin(fakekube, len(usages), metrics)
    for pod, usage in zip(pods(fakekube), usages, strict=True):
        if usage is not None:
            pod_metrics(fakekube, pod["metadata"]["name"], *usage)
    pod_metrics(fakekube, "unknown", "9", app="other")
    fakekube.advance("15s")


@pytest.mark.parametrize(
    ("usages", "expected", "percent"),
    [
        ([("80m",), ("80m",)], 4, 80),
        ([("40m", "40m"), ("80m",)], 4, 80),  # the containers of a pod add up
        ([("80m",), ("80m", None)], 2, 80),  # a container without a usage: the pod has no metric, and counts as idle
        ([("20m",), None, None], 3, 20),  # pods without metrics count as fully used
        ([("200m",), None, None], 4, 200),  # and as idle when there are too few
    ],
)
def test_the_usage_of_a_resource(fakekube, usages, expected, percent):
    with_usages(fakekube, *usages)
    assert replicas(fakekube) == expected
    assert hpa(fakekube)["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == percent


def test_the_usage_of_one_container(fakekube):
    target = {"type": "AverageValue", "averageValue": "50m"}
    metric = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": target}}
    with_usages(fakekube, ("80m", "500m"), ("80m", None), metrics=[metric])
    assert replicas(fakekube) == 4
    current = hpa(fakekube)["status"]["currentMetrics"][0]["containerResource"]["current"]
    assert current == {"averageValue": "80m"}


def test_metrics_of_no_pods(fakekube):
    served(fakekube, "metrics.k8s.io", "pods", "PodMetrics")
    begin(fakekube, 2)
    fakekube.advance("15s")
    found = condition(hpa(fakekube), "ScalingActive")
    assert found["message"].endswith("no metrics returned from resource metrics API")


def external(target, **selector):
    metric = {"name": "queue", **({"selector": {"matchLabels": selector}} if selector else {})}
    return {"type": "External", "external": {"metric": metric, "target": target}}


@pytest.mark.parametrize(
    ("metric", "expected", "current"),
    [
        (external({"type": "AverageValue", "averageValue": "30"}), 4, {"averageValue": "70"}),  # 5, but at most doubled
        (external({"type": "AverageValue", "averageValue": "30"}, of="web"), 3, {"averageValue": "45"}),
        (external({"type": "Value", "value": "60"}, of="web"), 3, {"value": "90"}),
    ],
)
def test_an_external_metric(fakekube, metric, expected, current):
    served(fakekube, "external.metrics.k8s.io", "queue", "ExternalMetricValue")
    begin(fakekube, 2, [metric], maxReplicas=5)
    for name, value, of in (("a", "40", "web"), ("b", "50", "web"), ("c", "50", "other")):
        meta = {"name": name, "namespace": "default", "labels": {"of": of}}
        kind = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue"}
        fakekube.create({**kind, "metadata": meta, "value": value})
    fakekube.advance("15s")
    assert replicas(fakekube) == expected
    assert hpa(fakekube)["status"]["currentMetrics"][0]["external"]["current"] == current


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            {
                "type": "Pods",
                "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": 5}},
            },
            "unable to get metric rps: unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            external({"type": "Value", "value": "60"}, of="web"),
            "unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]string{of: web,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: "
            "the server could not find the requested resource (get queue.external.metrics.k8s.io)",
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
            "unable to get metric hits: Service on default web/unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
    ],
)
def test_metrics_that_are_not_served(fakekube, metric, message):
    begin(fakekube, 2, [metric])
    fakekube.advance("15s")
    found = condition(hpa(fakekube), "ScalingActive")
    assert found["status"] == "False"
    assert found["message"] == f"the HPA was unable to compute the replica count: {message}"
    assert replicas(fakekube) == 2


@pytest.mark.parametrize(("tolerance", "expected"), [("0.1", 4), ("0.2", 4), ("0.05", 5)])
def test_the_tolerance_of_a_behavior(fakekube, tolerance, expected):
    fakekube.pods.metrics.set_resource("cpu", "54m", pods="app=web")
    policies = [{"type": "Pods", "value": 10, "periodSeconds": 15}]
    begin(fakekube, 4, behavior={"scaleUp": {"tolerance": tolerance, "policies": policies}})
    fakekube.advance("15s")
    assert replicas(fakekube) == expected


def test_the_metric_that_asks_for_the_most_replicas_decides(fakekube):
    metrics = fakekube.pods.metrics
    rows = []
    for name, value in (("few", 6), ("many", 9), ("some", 7)):
        metrics.set_pods(name, value, pods="app=web")
        target = {"type": "AverageValue", "averageValue": 5}
        rows.append({"type": "Pods", "pods": {"metric": {"name": name}, "target": target}})
    begin(fakekube, 2, rows)
    fakekube.advance("15s")
    assert replicas(fakekube) == 4
    (event,) = fakekube.events(reason="SuccessfulRescale")
    assert event["message"] == "New size: 4; reason: pods metric many above target"
    for name in ("few", "many", "some"):
        metrics.set_pods(name, 1, pods="app=web")
    fakekube.advance("6m")
    assert replicas(fakekube) == 1
    assert fakekube.events(reason="SuccessfulRescale")[-1]["message"] == "New size: 1; reason: All metrics below target"


def test_the_status_of_an_autoscaler_over_time(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "80m", pods="app=web")
    begin(fakekube, 2)
    fakekube.advance("15s")
    scaled = f"{fakekube.clock.now().isoformat()[:19]}Z"
    assert hpa(fakekube)["status"]["lastScaleTime"] == scaled
    fakekube.pods.metrics.set_resource("cpu", "50m", pods="app=web")
    fakekube.advance("2m")
    found = hpa(fakekube)["status"]
    assert [one["type"] for one in found["conditions"]] == ["AbleToScale", "ScalingActive", "ScalingLimited"]
    assert (found["lastScaleTime"], found["currentReplicas"], found["desiredReplicas"]) == (scaled, 4, 4)
    assert {one["lastTransitionTime"] for one in found["conditions"]} == {scaled}
    assert len(fakekube.events(reason="SuccessfulRescale")) == 1
    version = hpa(fakekube)["metadata"]["resourceVersion"]
    fakekube.advance("10m")
    assert hpa(fakekube)["metadata"]["resourceVersion"] == version  # nothing has changed


def test_an_autoscaler_that_is_created_again_has_no_memory(fakekube):
    fakekube.pods.metrics.set_resource("cpu", "80m", pods="app=web")
    begin(fakekube, 2)
    fakekube.advance("15s")
    assert replicas(fakekube) == 4
    made = hpa(fakekube)
    fakekube.delete("autoscaling/v2", "HorizontalPodAutoscaler", "h")
    fakekube.advance("30s")
    fakekube.pods.metrics.set_resource("cpu", "5m", pods="app=web")
    meta = {"name": "h", "namespace": "default"}
    fakekube.create({**made, "metadata": meta, "status": {}})
    fakekube.advance("5m")
    assert replicas(fakekube) == 4  # its first look remembers the present replicas
    fakekube.advance("30s")
    assert replicas(fakekube) == 1
