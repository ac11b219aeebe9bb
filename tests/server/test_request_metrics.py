"""`/metrics` under kube-apiserver's names."""

import asyncio
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.wire.request import Request, parse
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.process.requestmetrics import TOGETHER, Peak, RequestMetrics, labels_of
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime import VirtualClock
from fakekube.virtualtime.seeds import Seed

MAPS = "/api/v1/namespaces/default/configmaps"
COUNTED = "apiserver_request_total{"


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
    assert labels_of(parse(request), type, request.option("dryRun") or "") == ("apiserver", *labels)


def served():
    """The metrics of a new server, and a client of it."""
    random = SeededRandom(Seed(1))
    server = bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True)
    runner = ServerRunner(server, VirtualClock(), random)
    return RequestMetrics(runner), DirectTransport(runner)


def test_an_apply_and_a_dry_run_have_labels_of_their_own():
    metrics, client = served()
    apply = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    query = [("fieldManager", "a"), ("dryRun", "All")]
    headers = {"Content-Type": "application/apply-patch+yaml"}
    client.request_now("PATCH", f"{MAPS}/a", body=apply, query=query, headers=headers)
    (counted,) = [line for text in metrics.families() for line in text.splitlines() if line.startswith(COUNTED)]
    assert 'dry_run="All"' in counted
    assert 'verb="APPLY"' in counted


@pytest.mark.parametrize("number", [1, TOGETHER - 1, TOGETHER, TOGETHER + 1])
def test_each_request_is_counted_once(number):
    metrics, client = served()
    for _ in range(number):
        client.request_now("GET", MAPS)
    for _ in range(2):
        (counted,) = [line for text in metrics.families() for line in text.splitlines() if line.startswith(COUNTED)]
        assert counted.endswith(f" {number}")


def test_requests_are_counted_and_timed():
    _, client = served()
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


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 9)), max_size=12), st.floats(0, 3))
def test_a_peak_is_the_highest_value_of_this_second_and_the_one_before(steps, last):
    peak, now, seen = Peak(), 100.0, []
    for passed, value in steps:
        now += passed
        peak.observe(now, value)
        seen.append((int(now), value))
    now += last
    assert peak.at(now) == max((value for second, value in seen if second >= int(now) - 1), default=0)


async def in_flight(delay):
    """The metrics of requests in flight while requests wait, and when they have been answered."""
    clock, random = SystemClock(), SeededRandom(Seed(1))
    runner = ServerRunner(
        bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True), clock, random
    )
    RequestMetrics(runner)
    client = DirectTransport(runner)
    runner.apiserver.faults.arm(FaultRule(resource="configmaps", delay=delay))

    def seen():
        text = client.request_now("GET", "/metrics")[2]
        return [int(value) for value in re.findall(r"^apiserver_current_in\w+_requests\{.*\} (\d+)$", text, re.M)]

    asked = [("POST", {"metadata": {"name": name}}) for name in "abc"] + [("GET", None)]
    waiting = [asyncio.create_task(client.request(method, MAPS, body=body)) for method, body in asked]
    while len(runner.suspended) < len(waiting):
        await runner.pause()
    during = seen()
    await asyncio.gather(*waiting)
    return during, seen()


def test_requests_in_flight_are_counted_by_kind():
    during, after = asyncio.run(in_flight(0.01))
    assert during == [3, 1, 0, 0]
    assert after[:1] == [3]
    assert after[2:] == [0, 0]


def test_without_them_the_server_has_its_own_metrics_only():
    clock, random = VirtualClock(), SeededRandom(Seed(1))
    runner = ServerRunner(
        bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True), clock, random
    )
    text = DirectTransport(runner).request_now("GET", "/metrics")[2]
    assert "apiserver_storage_objects{" in text
    assert "apiserver_request_total" not in text
