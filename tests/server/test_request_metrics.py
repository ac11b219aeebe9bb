"""`/metrics` under kube-apiserver's names."""

import re
from datetime import UTC, datetime

import pytest

from fakekube.apiserver.wire.request import Request, parse
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.process.requestmetrics import RequestMetrics, labels_of
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import VirtualClock
from fakekube.virtualtime.seeds import Seed

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("method", "path", "query", "type", "labels"),
    [
        ("GET", f"{MAPS}/a", {}, "", ("", "", "configmaps", "resource", "", "GET", "v1")),
        ("GET", MAPS, {}, "", ("", "", "configmaps", "namespace", "", "LIST", "v1")),
        ("GET", "/api/v1/configmaps", {"watch": ("1",)}, "", ("", "", "configmaps", "cluster", "", "WATCH", "v1")),
        ("POST", MAPS, {"dryRun": ("All",)}, "", ("All", "", "configmaps", "resource", "", "POST", "v1")),
        ("PUT", f"{MAPS}/a", {}, "", ("", "", "configmaps", "resource", "", "PUT", "v1")),
        ("PATCH", f"{MAPS}/a", {}, "application/json-patch+json", ("", "", "configmaps", "resource", "", "PATCH", "v1")),
        ("PATCH", f"{MAPS}/a", {}, "application/apply-patch+yaml", ("", "", "configmaps", "resource", "", "APPLY", "v1")),
        ("DELETE", MAPS, {}, "", ("", "", "configmaps", "namespace", "", "DELETECOLLECTION", "v1")),
        ("GET", "/apis/apps/v1/namespaces/a/deployments/b/status", {}, "", ("", "apps", "deployments", "resource", "status", "GET", "v1")),
        ("GET", "/healthz", {}, "", ("", "", "", "", "", "GET", "")),
    ],
)  # fmt: skip
def test_the_labels_of_a_request(method, path, query, type, labels):
    request = Request(method, path, query, {"content-type": type})
    assert labels_of(request, parse(request)) == ("apiserver", *labels)


def test_requests_are_counted_and_timed():
    clock, random = VirtualClock(), SeededRandom(Seed(1))
    runner = ServerRunner(
        bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True), clock, random
    )
    RequestMetrics(runner)
    client = DirectTransport(runner)
    for name in ("a", "b", "b"):
        client.request_now("POST", MAPS, body={"metadata": {"name": name}})
    text = client.request_now("GET", "/metrics")[2]
    of = 'component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"'
    assert f'apiserver_request_total{{code="201",{of}}} 2\n' in text
    assert f'apiserver_request_total{{code="409",{of}}} 1\n' in text
    assert f'apiserver_request_duration_seconds_bucket{{{of},le="0.005"}} 3\n' in text
    assert f"apiserver_request_duration_seconds_count{{{of}}} 3\n" in text
    assert text.count("# TYPE apiserver_request_duration_seconds histogram") == 1
    assert len(re.findall(r"^apiserver_request_duration_seconds_bucket", text, re.M)) == 24


def test_without_them_the_server_has_its_own_metrics_only():
    clock, random = VirtualClock(), SeededRandom(Seed(1))
    runner = ServerRunner(
        bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True), clock, random
    )
    text = DirectTransport(runner).request_now("GET", "/metrics")[2]
    assert "apiserver_storage_objects{" in text
    assert "apiserver_request_total" not in text
