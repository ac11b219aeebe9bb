"""What each kind of metric proposes, and what is said if it cannot (`horizontal.go`: computeReplicasForMetric)."""

import asyncio
from types import SimpleNamespace

import pytest

from fakekube.controllers.autoscaling.metricproposals import Looked, MetricProposals, NoProposal
from fakekube.controllers.autoscaling.metricsclient import MetricsClient
from fakekube.controllers.autoscaling.replicacount import Target, Tolerances
from fakekube.controllers.scalingmetrics import Metrics
from tests.controllers.test_metricsclient import Api
from tests.controllers.test_replicacount import NOW, pod

SELECTOR = {"matchLabels": {"of": "web"}}
SHOWN = "&LabelSelector{MatchLabels:map[string]string{of: web,},MatchExpressions:[]LabelSelectorRequirement{},}"
SERVICE = {"kind": "Service", "name": "web"}
API = "the server could not find the requested resource (get {})"
UNABLE = "unable to fetch metrics from {} metrics API: "
NO_RESOURCE = f"unable to get metrics for resource {{}}: {UNABLE.format('resource')}{API.format('pods.metrics.k8s.io')}"
NO_CUSTOM = f"{UNABLE.format('custom')}{API.format('services.custom.metrics.k8s.io')}"
NO_EXTERNAL = f"{UNABLE.format('external')}{API.format('jobs.external.metrics.k8s.io')}"


def proposals(metrics):
    """Proposals for two ready pods of 100m each, of a scale whose status says four."""
    pods = [{**pod(name), "metadata": {"name": name, "labels": {"app": "web"}}} for name in ("a", "b")]
    groups = {"/apis": {"groups": [{"name": "custom.metrics.k8s.io", "versions": [{"version": "v1beta2"}]}]}}
    listed = SimpleNamespace(list=lambda *_: pods)
    context = SimpleNamespace(settings=SimpleNamespace(metrics=metrics), kind=lambda *_: listed, now=lambda: NOW)
    looked = Looked("ns", "app=web", Target(pods, 2, Tolerances(), NOW), 4)
    return MetricProposals(MetricsClient(context, Api(groups))), looked


def proposed(metric, metrics=None):
    made, looked = proposals(metrics)
    kind = metric["type"]
    return asyncio.run(made.propose({"type": kind, kind[0].lower() + kind[1:]: metric["of"]}, looked))


def of_object(**target):
    return {"type": "Object", "of": {"describedObject": SERVICE, "metric": {"name": "hits"}, "target": target}}


def of_pods(value):
    return {
        "type": "Pods",
        "of": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": value}},
    }


def of_resource(name="cpu", container="", **target):
    kind = "ContainerResource" if container else "Resource"
    return {"type": kind, "of": {"name": name, **({"container": container} if container else {}), "target": target}}


def of_external(selector=SELECTOR, **target):
    return {
        "type": "External",
        "of": {"metric": {"name": "jobs", **({"selector": selector} if selector else {})}, "target": target},
    }


@pytest.mark.parametrize(
    ("metric", "replicas", "name", "current"),
    [
        # the ready pods, times the value by the target
        (of_object(type="Value", value="2k"), 3, "Service metric hits", {"value": "3k"}),
        # within the tolerance
        (of_object(type="Value", value="2900"), 2, "Service metric hits", {"value": "3k"}),
        # the value by the target; the average is that of the replicas of the status
        (of_object(type="AverageValue", averageValue="500"), 6, "external metric hits(nil)", {"averageValue": "750"}),
        (of_object(type="AverageValue", averageValue="750"), 4, "external metric hits(nil)", {"averageValue": "750"}),
        (of_pods("5"), 4, "pods metric rps", {"averageValue": "10"}),
        (of_pods("10"), 2, "pods metric rps", {"averageValue": "10"}),
        (
            of_resource(type="Utilization", averageUtilization=50),
            4,
            "cpu resource utilization (percentage of request)",
            {"averageUtilization": 80, "averageValue": "80m"},
        ),
        (of_resource(type="AverageValue", averageValue="40m"), 4, "cpu resource", {"averageValue": "80m"}),
        (
            of_resource(container="c", type="Utilization", averageUtilization=80),
            2,
            "cpu container resource utilization (percentage of request)",
            {"averageUtilization": 80, "averageValue": "80m"},
        ),
        (
            of_resource("memory", type="AverageValue", averageValue="64Mi"),
            3,
            "memory resource",
            {"averageValue": "96Mi"},
        ),
        (of_external(type="Value", value="30"), 6, f"external metric jobs({SHOWN})", {"value": "90"}),
        (
            of_external(type="AverageValue", averageValue="30"),
            3,
            f"external metric jobs({SHOWN})",
            {"averageValue": "22500m"},
        ),
        (of_external(None, type="Value", value="1k"), 2, "external metric jobs(nil)", {"value": "1090"}),
    ],
)
def test_what_a_metric_proposes(metric, replicas, name, current):
    metrics = Metrics()
    metrics.set_object("hits", "3k", kind="Service", of="web", namespace="ns")
    metrics.set_pods("rps", 10, pods="app=web", namespace="ns")
    metrics.set_resource("cpu", "80m", pods="app=web", namespace="ns", container="c")
    metrics.set_resource("memory", "96Mi", pods="app=web", namespace="ns")
    metrics.set_external("jobs", 40, 50, labels={"of": "web"}, namespace="ns")
    metrics.set_external("jobs", 1000, labels={"of": "other"}, namespace="ns")
    found = proposed(metric, metrics)
    assert (found.replicas, found.name) == (replicas, name)
    field = metric["type"][0].lower() + metric["type"][1:]
    described = {key: value for key, value in metric["of"].items() if key != "target"}
    assert found.status == {"type": metric["type"], field: {**described, "current": current}}


@pytest.mark.parametrize(
    ("metric", "reason", "cause", "text"),
    [
        (
            of_object(type="Value", value="2k"),
            "FailedGetObjectMetric",
            f"unable to get metric hits: Service on ns web/{NO_CUSTOM}",
            f"failed to get object metric value: unable to get metric hits: Service on ns web/{NO_CUSTOM}",
        ),
        (
            of_object(type="AverageValue", averageValue="2"),
            "FailedGetObjectMetric",
            f"unable to get metric hits: Service on ns web/{NO_CUSTOM}",
            f"failed to get object metric value: failed to get hits object metric: unable to get metric hits: Service on ns web/{NO_CUSTOM}",
        ),
        (
            of_resource(type="Utilization", averageUtilization=50),
            "FailedGetResourceMetric",
            f"failed to get cpu utilization: {NO_RESOURCE.format('cpu')}",
            f"failed to get cpu resource metric value: failed to get cpu utilization: {NO_RESOURCE.format('cpu')}",
        ),
        (
            of_resource("memory", type="AverageValue", averageValue="1"),
            "FailedGetResourceMetric",
            f"failed to get memory usage: {NO_RESOURCE.format('memory')}",
            f"failed to get memory resource metric value: failed to get memory usage: {NO_RESOURCE.format('memory')}",
        ),
        (
            of_resource(container="c", type="Utilization", averageUtilization=50),
            "FailedGetContainerResourceMetric",
            f"failed to get cpu utilization: {NO_RESOURCE.format('cpu')}",
            f"failed to get c container metric value: failed to get cpu utilization: {NO_RESOURCE.format('cpu')}",
        ),
        (
            of_external(type="Value", value="1"),
            "FailedGetExternalMetric",
            f"unable to get external metric ns/jobs/{SHOWN}: {NO_EXTERNAL}",
            f"failed to get jobs external metric value: failed to get external metric jobs: unable to get external metric ns/jobs/{SHOWN}: {NO_EXTERNAL}",
        ),
        (
            of_external(type="AverageValue", averageValue="1"),
            "FailedGetExternalMetric",
            f"unable to get external metric ns/jobs/{SHOWN}: {NO_EXTERNAL}",
            f"failed to get jobs external metric value: failed to get jobs external metric: unable to get external metric ns/jobs/{SHOWN}: {NO_EXTERNAL}",
        ),
    ],
)
def test_what_is_said_without_the_metric(metric, reason, cause, text):
    with pytest.raises(NoProposal) as raised:
        proposed(metric)
    assert (raised.value.reason, raised.value.cause, str(raised.value)) == (reason, cause, text)
