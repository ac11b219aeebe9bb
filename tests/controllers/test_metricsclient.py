"""What the metrics APIs are asked for and how their answers are read, and the metrics that a test sets."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from controllerlib import ApiError
from fakekube.controllers.autoscaling.metricsclient import MetricsClient, MetricsUnavailable, PodMetric
from fakekube.controllers.scalingmetrics import Metrics

TIME = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = {"timestamp": "2026-01-01T12:00:00Z"}


@dataclass
class Api:
    """The client of a cluster that answers requests by their path, and notes their parameters."""

    answers: dict[str, Any]
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def mapper(self):
        return self

    async def resource(self, api_version, kind):
        if kind == "Missing":
            raise ApiError(404, "NotFound", "no such kind")
        return SimpleNamespace(qualified=f"{kind.lower()}s.{api_version.rpartition('/')[0]}".rstrip("."))

    async def raw_get(self, path, query=()):
        self.asked[path] = dict(query)
        answer = self.answers.get(path)
        if answer is None:
            raise ApiError(404, "NotFound", "404 page not found")
        if isinstance(answer, str):
            raise ApiError(500, "InternalError", answer)
        return answer


def client(answers, metrics=None):
    api = Api(answers)
    settings = SimpleNamespace(metrics=metrics)
    pods = SimpleNamespace(list=lambda *_: [pod("a"), pod("b")])
    return MetricsClient(SimpleNamespace(settings=settings, kind=lambda *_: pods, now=lambda: TIME), api), api


def pod(name, **labels):
    return {"metadata": {"name": name, "labels": {"app": "web", **labels}}}


def groups(*versions):
    custom = {"name": "custom.metrics.k8s.io", "versions": [{"version": version} for version in versions]}
    return {"groups": [{"name": "apps", "versions": [{"version": "v1beta2"}]}, custom]}


def result(coroutine):
    return asyncio.run(coroutine)


RESOURCE = "/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods"
CUSTOM = "/apis/custom.metrics.k8s.io/{}/namespaces/ns/{}/qps"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/jobs"


def usage(**containers):
    return [{"name": name, "usage": {"cpu": value} if value else {}} for name, value in containers.items()]


def test_the_usage_of_pods_is_that_of_all_their_containers():
    """`metrics/client.go`: getPodMetrics leaves out a pod of which a container has no value."""
    items = [
        {"metadata": {"name": "a"}, "containers": usage(x="100m", y="1"), "window": "30s", **AT},
        {"metadata": {"name": "b"}, "containers": usage(x="2"), **AT},
        {"metadata": {"name": "c"}, "containers": usage(x="2", y=None), **AT},
        {"metadata": {"name": "d"}, "containers": [], **AT},
        {"metadata": {"name": "e"}, **AT},
    ]
    metrics, api = client({RESOURCE: {"items": items}})
    assert result(metrics.resource("cpu", "ns", "app=web", "")) == {
        "a": PodMetric(1100, TIME, 30.0),
        "b": PodMetric(2000, TIME, 0.0),
    }
    assert api.asked[RESOURCE] == {"labelSelector": "app=web"}
    assert {name: one.value for name, one in result(metrics.resource("cpu", "ns", "", "x")).items()} == {
        "a": 100,
        "b": 2000,
        "c": 2000,
    }
    assert api.asked[RESOURCE] == {}


@pytest.mark.parametrize(("versions", "used"), [(["v1beta1", "v1beta2"], "v1beta2"), (["v1beta1"], "v1beta1")])
def test_a_custom_metric_of_pods(versions, used):
    path = CUSTOM.format(used, "pods/*")
    items = [
        {"describedObject": {"name": name}, "value": value, **AT, **window}
        for name, value, window in (
            ("a", "1500m", {}),
            ("b", "2", {"windowSeconds": 30}),
            ("c", "1u", {"window": 0}),
            ("d", "3", {"windowSeconds": 10, "window": 20}),
        )
    ]
    metrics, api = client({"/apis": groups(*versions), path: {"items": items}})
    found = result(metrics.pods("qps", "ns", "app=web", {"matchLabels": {"x": "1"}}))
    assert {name: (one.value, one.window, one.measured) for name, one in found.items()} == {
        "a": (1500, 60.0, TIME),
        "b": (2000, 30.0, TIME),
        "c": (1, 0.0, TIME),
        "d": (3000, 10.0, TIME),
    }
    assert api.asked[path] == {"labelSelector": "app=web", "metricLabelSelector": "x=1"}
    result(metrics.pods("qps", "ns", "app=web", None))
    assert api.asked[path] == {"labelSelector": "app=web"}


@pytest.mark.parametrize(
    ("of", "where"),
    [
        ({"kind": "Service", "name": "s"}, "services/s"),
        ({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "deployments.apps/d"),
        ({"kind": "Namespace", "name": "other"}, "metrics"),
        ({"kind": "Namespace", "name": "other", "apiVersion": "v1"}, "metrics"),
        ({"kind": "Namespace", "name": "n", "apiVersion": "example.com/v1"}, "namespaces.example.com/n"),
    ],
)
def test_a_custom_metric_of_an_object(of, where):
    path = CUSTOM.format("v1beta2", where)
    metrics, api = client({"/apis": groups("v1beta2"), path: {"items": [{"value": "1500m"}, {"value": "7"}]}})
    assert result(metrics.object("qps", "ns", of, {"matchLabels": {"x": "1"}})) == 1500
    assert api.asked[path] == {"metricLabelSelector": "x=1"}


def test_an_external_metric():
    metrics, api = client({EXTERNAL: {"items": [{"value": "1500m"}, {"value": "2"}]}})
    assert result(metrics.external("jobs", "ns", {"matchLabels": {"x": "1"}})) == [1500, 2000]
    assert api.asked[EXTERNAL] == {"labelSelector": "x=1"}


SERVICE = {"kind": "Service", "name": "s"}
UNABLE = "unable to fetch metrics from {} metrics API: "
NOT_FOUND = "the server could not find the requested resource (get {})"


@pytest.mark.parametrize(
    ("answers", "call", "message"),
    [
        ({}, ("resource", "cpu", "ns", "", ""), UNABLE.format("resource") + NOT_FOUND.format("pods.metrics.k8s.io")),
        ({RESOURCE: "no"}, ("resource", "cpu", "ns", "", ""), UNABLE.format("resource") + "no"),
        ({RESOURCE: {}}, ("resource", "cpu", "ns", "", ""), "no metrics returned from resource metrics API"),
        ({"/apis": "no"}, ("pods", "qps", "ns", "", None), UNABLE.format("custom") + "no"),
        (
            {"/apis": groups()},
            ("pods", "qps", "ns", "", None),
            UNABLE.format("custom") + "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            {"/apis": groups("v1beta2")},
            ("object", "qps", "ns", SERVICE, None),
            UNABLE.format("custom") + NOT_FOUND.format("services.custom.metrics.k8s.io"),
        ),
        ({}, ("object", "qps", "ns", {"kind": "Missing", "name": "m"}, None), UNABLE.format("custom") + "no such kind"),
        (
            {"/apis": groups("v1beta2"), CUSTOM.format("v1beta2", "pods/*"): {"items": []}},
            ("pods", "qps", "ns", "", None),
            "no metrics returned from custom metrics API",
        ),
        ({EXTERNAL: {"items": []}}, ("external", "jobs", "ns", None), "no metrics returned from external metrics API"),
    ],
)
def test_metrics_that_cannot_be_read(answers, call, message):
    metrics, _ = client(answers)
    with pytest.raises(MetricsUnavailable) as raised:
        result(getattr(metrics, call[0])(*call[1:]))
    assert str(raised.value) == message


# --- what a test sets


def test_the_usage_of_a_pod_is_the_sum_of_its_containers_unless_it_is_set():
    metrics = Metrics()
    metrics.set_resource("cpu", "100m", pods="app=web", container="x")
    metrics.set_resource("cpu", "200m", pods="app=web", container="y")
    metrics.set_resource("cpu", 7, pods="app=web", namespace="other")
    pods = [pod("a"), pod("b", app="db")]
    assert metrics.resource("cpu", "default", pods, "") == {"a": Decimal("0.3")}
    assert metrics.resource("cpu", "default", pods, "x") == {"a": Decimal("0.1")}
    assert metrics.resource("cpu", "default", pods, "z") == {}
    assert (metrics.resource("cpu", "ns", pods, ""), metrics.resource("memory", "default", pods, "")) == (None, None)
    metrics.set_resource("cpu", 1, pods="app=web")
    assert metrics.resource("cpu", "default", pods, "") == {"a": Decimal(1)}
    metrics.set_resource("cpu", None, pods="app=web")
    assert metrics.resource("cpu", "default", pods, "") == {"a": Decimal("0.3")}


def test_set_metrics_come_before_those_of_the_apis():
    metrics = Metrics()
    metrics.set_resource("cpu", "250m", pods="app=web", namespace="ns")
    metrics.set_pods("qps", 3, pods="app=web", namespace="ns")
    metrics.set_object("qps", 4, kind="Service", of="s", namespace="ns")
    metrics.set_object("qps", 5, kind="Namespace", of="ns", namespace="ns")
    metrics.set_external("jobs", 6, labels={"x": "1"}, namespace="ns")
    metrics.set_external("jobs", 7, "8500m", namespace="ns")
    found, api = client({}, metrics)
    both = {"a": PodMetric(250, TIME), "b": PodMetric(250, TIME)}
    assert result(found.resource("cpu", "ns", "", "")) == both
    assert result(found.pods("qps", "ns", "", None)) == {name: PodMetric(3000, TIME) for name in both}
    assert result(found.object("qps", "ns", SERVICE, None)) == 4000
    assert result(found.object("qps", "ns", {"kind": "Namespace", "name": "other"}, None)) == 5000
    assert result(found.external("jobs", "ns", None)) == [6000, 7000, 8500]
    assert result(found.external("jobs", "ns", {"matchLabels": {"x": "1"}})) == [6000]
    assert api.asked == {}
    with pytest.raises(MetricsUnavailable, match="no metrics returned from external metrics API"):
        result(found.external("jobs", "ns", {"matchLabels": {"x": "2"}}))
    with pytest.raises(MetricsUnavailable, match="no metrics returned from resource metrics API"):
        result(found.resource("cpu", "ns", "", "sidecar"))
    metrics.set_object("qps", None, kind="Service", of="s", namespace="ns")
    metrics.set_external("jobs", namespace="ns")
    assert metrics.object("qps", "Service", "ns", "s") is None
    assert result(found.external("jobs", "ns", None)) == [6000]
