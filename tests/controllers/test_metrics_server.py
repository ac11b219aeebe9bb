"""metrics.k8s.io of simulated nodes, which `kubectl top` reads."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.needs import Forward
from fakekube.apiserver.schema.quantity import value_of
from fakekube.apiserver.storage.store import Store
from fakekube.controllers import realtime
from fakekube.controllers.metricsserver import ROOT, SERVICE, MetricsServer
from fakekube.controllers.scalingmetrics import Metrics
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name, ready="True"):
    return {
        "metadata": {"name": name, "labels": {"at": name}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def container(name, cpu=None, **more):
    return {"name": name, **more, "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}} if cpu else {}}


def pod(name, *containers, at="n1", namespace="default", phase="Running", **more):
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name[0]}},
        "spec": {"nodeName": at, "containers": list(containers), **more},
        "status": {"phase": phase},
    }


OBJECTS = {
    "nodes": [node("n2"), node("n1"), node("gone", "Unknown")],
    "pods": [
        pod("b1", container("c", "200m"), container("d")),
        pod("a1", container("c", "1"), at="n2", initContainers=[container("once", "4"), container("side", "2", restartPolicy="Always")]),
        pod("a2", container("c", "2"), namespace="other"),
        pod("pending", container("c", "1"), phase="Pending"),
        pod("lost", container("c", "1"), at="gone"),
    ],
}  # fmt: skip


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def ask(metrics):
    """Asks for a path below the group and version: the status, and the document."""
    store = Store(100)
    for collection, objects in OBJECTS.items():
        for one in objects:
            meta = one["metadata"]
            store.create(
                collection, f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"], one
            )
    server = MetricsServer(store, metrics, lambda: NOW)

    def ask(path, method="GET"):
        code, body = server.answer(Forward(SERVICE, method, f"{ROOT}{path}", ()))
        return code, orjson.loads(body)

    return ask


def names(document):
    return [one["metadata"]["name"] for one in document["items"]]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/nodes", ["n1", "n2"]),
        ("/nodes?labelSelector=at%3Dn2", ["n2"]),
        ("/pods", ["a1", "b1", "a2"]),
        ("/pods?labelSelector=app%3Da", ["a1", "a2"]),
        ("/pods?fieldSelector=metadata.name%3Db1", ["b1"]),
        ("/pods?fieldSelector=metadata.namespace!%3Ddefault", ["a2"]),
        ("/namespaces/default/pods", ["a1", "b1"]),
        ("/namespaces/none/pods?limit=500", []),
    ],
)
def test_what_lists_contain(ask, path, found):
    code, document = ask(path)
    assert (code, names(document)) == (200, found)


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("GET", "/namespaces/default/pods/none", 404, 'pods "default/none" not found'),
        ("GET", "/namespaces/default/pods/pending", 404, 'podmetrics.metrics.k8s.io "default/pending" not found'),
        ("GET", "/namespaces/default/pods/lost", 404, 'podmetrics.metrics.k8s.io "default/lost" not found'),
        ("GET", "/nodes/gone", 404, 'nodemetrics.metrics.k8s.io "gone" not found'),
        ("GET", "/pods?fieldSelector=spec.nodeName%3Dn1", 400, "field label not supported: spec.nodeName"),
        ("GET", "/pods?labelSelector=%3D%3D%3D", 400, ""),
        ("GET", "/pods?watch=true", 405, "the server does not allow this method on the requested resource"),
        ("DELETE", "/nodes/n1", 405, "the server does not allow this method on the requested resource"),
        ("GET", "/services", 404, ""),
    ],
)
def test_what_is_refused(ask, method, path, code, message):
    found, status = ask(path, method)
    assert (found, status["kind"]) == (code, "Status")
    assert message in status["message"]


def test_usage_follows_from_requests(ask):
    assert ask("/namespaces/default/pods/a1")[1] == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {"name": "a1", "namespace": "default", "labels": {"app": "a"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "timestamp": "2026-01-01T00:00:00Z",
        "window": "15s",
        "containers": [
            {"name": "side", "usage": {"cpu": "1000000000n", "memory": "51200Ki"}},
            {"name": "c", "usage": {"cpu": "500000000n", "memory": "51200Ki"}},
        ],
    }  # fmt: skip
    assert ask("/nodes/n2")[1]["usage"] == {"cpu": "1500000000n", "memory": "102400Ki"}


def test_usage_that_is_set(ask, metrics):
    metrics.set_resource("cpu", "900m", pods="app=b")
    metrics.set_resource("cpu", "100m", pods="app=b", container="d")
    metrics.set_resource("memory", 0, pods="app=a")
    metrics.set_node("memory", "3Gi", node="n2")
    found = {one["name"]: one["usage"]["cpu"] for one in ask("/namespaces/default/pods/b1")[1]["containers"]}
    assert found == {"c": "800000000n", "d": "100000000n"}
    assert ask("/nodes/n1")[1]["usage"]["cpu"] == "1900000000n"
    assert ask("/nodes/n2")[1]["usage"]["memory"] == "3145728Ki"
    metrics.set_node("memory", 0, node="n2")
    assert ask("/nodes/n2")[1]["usage"]["memory"] == "0"
    metrics.set_node("memory", None, node="n2")
    assert ask("/nodes/n2")[1]["usage"]["memory"] == "0"  # of its pod


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([None, "100m", "1", "2500m"]), min_size=1, max_size=4), st.none() | st.integers(1, 9000)
)
def test_the_usage_of_a_node_is_that_of_its_containers(requests, of_pod):
    store, metrics = Store(10), Metrics()
    store.create("nodes", "n1", node("n1"))
    store.create("pods", "default/p", pod("p", *(container(f"c{number}", cpu) for number, cpu in enumerate(requests))))
    if of_pod is not None:
        metrics.set_resource("cpu", f"{of_pod}m", pods="app=p")
    server = MetricsServer(store, metrics, lambda: NOW)
    [of_node], [of_pods] = (
        orjson.loads(server.answer(Forward(SERVICE, "GET", f"{ROOT}/{path}", ()))[1])["items"]
        for path in ("nodes", "pods")
    )
    total = sum(value_of(one["usage"]["cpu"]) for one in of_pods["containers"])
    assert abs(value_of(of_node["usage"]["cpu"]) - total) < Decimal("0.00000001")
    if of_pod is not None:
        assert abs(total - Decimal(of_pod) / 1000) < Decimal("0.00000001")


def test_a_server_with_nodes_has_the_group_and_its_condition():
    async def main():
        random = SeededRandom(Seed(1))
        runner = ServerRunner(bootstrap.api_server(NOW, random, fixed_uids=True), SystemClock(), random)
        await realtime.serve_metrics(runner, Metrics())
        client = DirectTransport(runner)
        name = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"
        found = (await client.request("GET", name))[2]["status"]["conditions"][0]
        groups = [one["name"] for one in (await client.request("GET", "/apis"))[2]["groups"]]
        rows = (await client.request("GET", "/apis/metrics.k8s.io/v1beta1"))[2]["resources"]
        listing = (await client.request("GET", f"{ROOT}/nodes"))[2]
        await runner.aclose()
        return found, groups, rows, listing

    found, groups, rows, listing = asyncio.run(main())
    assert (found["type"], found["status"], found["reason"]) == ("Available", "True", "Passed")
    assert "metrics.k8s.io" in groups
    assert [(row["name"], row["kind"], row["namespaced"]) for row in rows] == [
        ("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True),
    ]  # fmt: skip
    assert listing == {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": []}
