"""The servers of a manager: health, readiness and metrics; and the signals of a process."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import prometheus_client
import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families

from controllerlib import LeaderElection, LeaderElectionOptions, Manager, run
from controllerlib.client.http import HttpTransport
from controllerlib.manager.healthz import Checker, Reply, aggregated, single
from controllerlib.manager.metricsendpoint import MetricsEndpoint
from controllerlib.manager.server import HealthEndpoint, HttpServer, parse_address, ping
from controllerlib.manager.signals import until_signal
from controllerlib.metrics.prometheus import RegistryCollector
from controllerlib.metrics.queuemetrics import WorkQueueMetrics
from controllerlib.metrics.registry import Registry
from controllerlib.metrics.requestmetrics import count_requests
from tests.controllerlib.fakeapi import FakeApi
from tests.controllerlib.httpserver import real
from tests.controllerlib.rig import BACKUP, Operator, acting


@pytest.mark.parametrize(
    ("healthy", "excluded", "verbose", "code", "text"),
    [
        pytest.param({"a": True}, (), False, 200, "ok", id="well"),
        pytest.param({"b": True, "a": True}, (), True, 200, "[+]a ok\n[+]b ok\nhealthz check passed\n", id="verbose"),
        pytest.param(
            {"a": True, "b": False}, (), False, 500, "[+]a ok\n[-]b failed: reason withheld\nhealthz check failed\n",
            id="failed",
        ),
        pytest.param(
            {"a": True}, ("a",), True, 200, "[+]a excluded: ok\nhealthz check passed\n", id="excluded",
        ),
        pytest.param(
            {"a": True}, ("x", "y"), True, 200,
            '[+]a ok\nwarn: some health checks cannot be excluded: no matches for "x","y"\nhealthz check passed\n',
            id="excluded-unknown",
        ),
    ],
)  # fmt: skip
def test_the_response_of_all_checks(
    healthy: Mapping[str, bool], excluded: tuple[str, ...], verbose: bool, code: int, text: str
) -> None:
    assert aggregated(healthy, excluded, verbose=verbose) == Reply(code, text.encode())


def test_the_response_of_one_check() -> None:
    assert [single(None), single("no disk")] == [Reply(200, b"ok"), Reply(500, b"internal server error: no disk\n")]


@pytest.mark.parametrize(
    ("text", "address"),
    [(":8080", (None, 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:81", ("::1", 81))],
)
def test_addresses(text: str, address: tuple[str | None, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["8080", "host:", "host:http", ":70000"])
def test_invalid_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="invalid bind address"):
        parse_address(text)


def failing() -> None:
    raise RuntimeError("no disk")


async def slow() -> None:
    await asyncio.get_running_loop().create_task(asyncio.sleep(0))  # noqa: TID251  a turn of the loop


async def get(url: str, **options: Any) -> tuple[int, str, Mapping[str, str]]:
    async with aiohttp.ClientSession() as session, session.get(url, **options) as response:
        return response.status, await response.text(), response.headers


async def serving(server: HttpServer, test: Callable[[str], Awaitable[None]]) -> None:
    task = asyncio.create_task(server.start())
    try:
        await asyncio.wait_for(server.wait_ready(), 10)
        await test(server.url)
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize(
    ("checks", "path", "code", "text"),
    [
        pytest.param({"ping": ping}, "/healthz", 200, "ok", id="all"),
        pytest.param({"ping": ping, "slow": slow}, "/healthz/", 200, "ok", id="all-with-a-slash"),
        pytest.param({"a": ping, "b": failing}, "/healthz", 500,
                     "[+]a ok\n[-]b failed: reason withheld\nhealthz check failed\n", id="one-fails"),
        pytest.param({"a": ping, "b": failing}, "/healthz?exclude=b", 200, "ok", id="without-it"),
        pytest.param({"a": ping, "b": failing}, "/healthz/a", 200, "ok", id="the-other-one"),
        pytest.param({"b": failing}, "/healthz/b", 500, "internal server error: no disk\n", id="the-failing-one"),
        pytest.param({"a": ping}, "/healthz/x", 404, "404 page not found\n", id="an-unknown-one"),
        pytest.param({"a": ping}, "/healthzz", 404, "404 page not found\n", id="another-path"),
        pytest.param({"a": ping}, "/healthz?verbose", 200, "[+]a ok\nhealthz check passed\n", id="verbose"),
        pytest.param({}, "/healthz", 404, "404 page not found\n", id="no-checks"),
    ],
)  # fmt: skip
def test_health_over_http(checks: dict[str, Checker], path: str, code: int, text: str) -> None:
    async def test(url: str) -> None:
        status, body, headers = await get(url + path)
        assert [status, body] == [code, text]
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"

    real(lambda: serving(HttpServer("test", "127.0.0.1:0", [HealthEndpoint("/healthz", checks)]), test))


def test_over_tls() -> None:
    authority = trustme.CA()
    tls, trusting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.configure_trust(trusting)

    async def test(url: str) -> None:
        assert url.startswith("https://")
        status, _, _ = await get(url + "/metrics", ssl=trusting)
        assert status == 200

    real(lambda: serving(HttpServer("test", "127.0.0.1:0", [MetricsEndpoint(Registry())], tls=tls), test))


def samples(text: str) -> dict[str, float]:
    """Parse lines into name{label=value,...} -> value."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


async def test_metrics_of_a_controller() -> None:
    operator = Operator()
    operator.api.put(*BACKUP, "nightly")
    operator.controller("backup").for_(*BACKUP).complete(acting(ValueError("x"), None))
    await operator.run(1)
    reply = await MetricsEndpoint(operator.manager.registry).reply("/metrics", {}, {})
    assert reply is not None
    assert reply.content_type == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(reply.body.decode())
    expected = {
        "controller_runtime_reconcile_total{controller=backup,result=error}": 1,
        "controller_runtime_reconcile_total{controller=backup,result=success}": 1,
        "controller_runtime_reconcile_total{controller=backup,result=requeue_after}": 0,
        "controller_runtime_reconcile_errors_total{controller=backup}": 1,
        "controller_runtime_reconcile_time_seconds_count{controller=backup}": 2,
        "controller_runtime_reconcile_time_seconds_bucket{controller=backup,le=0.005}": 2,
        "controller_runtime_reconcile_time_seconds_bucket{controller=backup,le=+Inf}": 2,
        "controller_runtime_max_concurrent_reconciles{controller=backup}": 1,
        "controller_runtime_active_workers{controller=backup}": 0,
        "workqueue_adds_total{controller=backup,name=backup}": 2,
        "workqueue_retries_total{controller=backup,name=backup}": 1,
        "workqueue_queue_duration_seconds_bucket{controller=backup,le=1e-08,name=backup}": 2,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert not [name for name in found if name.startswith("controller_runtime") and name.endswith("_created")]
    assert await MetricsEndpoint(operator.manager.registry).reply("/other", {}, {}) is None


async def test_other_metrics_of_the_process_are_served_too() -> None:
    own = prometheus_client.Counter("backups_taken", "Backups taken.")
    same = prometheus_client.Gauge("backups_kept", "Of another's.")
    try:
        own.inc(3)
        registry = Registry()
        registry.family("backups_kept", "Backups kept.", "gauge").set(2.5)
        reply = await MetricsEndpoint(registry).reply(
            "/metrics", {}, {"Accept": "application/openmetrics-text; version=1.0.0"}
        )
        assert reply is not None
        text = reply.body.decode()
        assert reply.content_type.startswith("application/openmetrics-text; version=1.0.0")
        assert text.endswith("# EOF\n")
        assert "backups_taken_total 3.0" in text
        assert "backups_kept 2.5" in text
        assert text.count("\nbackups_kept ") == 1
        assert "python_info" in text
        assert [metric.name for metric in RegistryCollector(registry).collect()] == ["backups_kept"]
    finally:
        prometheus_client.REGISTRY.unregister(own)
        prometheus_client.REGISTRY.unregister(same)


def test_at_most_25_priorities_have_their_own_label() -> None:
    registry = Registry()
    metrics = WorkQueueMetrics(registry, "q", priorities=True)
    for _ in range(2):
        for priority in range(40):
            metrics.added("x", priority, 0.0)
    metrics.got("x", 30, 0.0, 0.0)
    depth = {labels: series.value for labels, series in registry.families["workqueue_depth"].series.items()}
    assert len(depth) == 26
    assert [depth["q", "q", "24"], depth["q", "q", "exceeded_cardinality_limit"]] == [2, 29]


def test_a_manager_serves_metrics_and_health_checks() -> None:
    async def main() -> None:
        manager = Manager(FakeApi(), metrics_bind_address="127.0.0.1:0", health_probe_bind_address="127.0.0.1:0",
                          readiness_endpoint="/ready")  # fmt: skip
        manager.controller("backup").for_(*BACKUP).complete(acting())
        manager.add_healthz_check("ping", ping)
        manager.add_readyz_check("disk", failing)
        task = asyncio.create_task(manager.start())
        await asyncio.wait_for(manager.wait_started(), 10)
        metrics, health = (manager.servers[name].url for name in ("metrics", "health probe"))
        assert (
            'controller_runtime_max_concurrent_reconciles{controller="backup"} 1.0'
            in (await get(f"{metrics}/metrics"))[1]
        )
        assert (await get(f"{metrics}/healthz"))[0] == 404
        assert [(await get(f"{health}{path}"))[0] for path in ("/healthz", "/ready", "/readyz", "/metrics")] == [
            200, 500, 404, 404,
        ]  # fmt: skip
        task.cancel()
        await asyncio.wait([task])
        with pytest.raises(aiohttp.ClientConnectionError):
            await get(f"{health}/healthz")

    real(main)


def test_extra_handlers_of_the_metrics_server() -> None:
    async def main() -> None:
        manager = Manager(FakeApi(), metrics_bind_address="127.0.0.1:0")
        manager.add_metrics_server_extra_handler("/debug/queues", lambda: Reply(200, b"empty", "text/html"))
        for path, problem in (("/metrics", "overriding builtin /metrics endpoint is not allowed"),
                              ("/debug/queues", "duplicate path")):  # fmt: skip
            with pytest.raises(ValueError, match=problem):
                manager.add_metrics_server_extra_handler(path, lambda: Reply(200, b""))
        task = asyncio.create_task(manager.start())
        await asyncio.wait_for(manager.wait_started(), 10)
        status, body, headers = await get(f"{manager.servers['metrics'].url}/debug/queues")
        assert [status, body, headers["Content-Type"]] == [200, "empty", "text/html"]
        with pytest.raises(RuntimeError, match="has already been created"):
            manager.add_metrics_server_extra_handler("/late", lambda: Reply(200, b""))
        task.cancel()
        await asyncio.wait([task])

    real(main)


def test_an_address_in_use_fails_the_manager() -> None:
    async def main() -> None:
        server = HttpServer("first", "127.0.0.1:0", [])

        async def test(url: str) -> None:
            manager = Manager(FakeApi(), metrics_bind_address=url.removeprefix("http://"))
            with pytest.raises(OSError, match="address already in use"):
                await manager.start()

        await serving(server, test)

    real(main)


def test_a_manager_serves_nothing_by_default() -> None:
    assert Manager(FakeApi()).servers == {}
    assert Manager(FakeApi(), metrics_bind_address="", health_probe_bind_address="0").servers == {}


def test_requests_are_counted_by_answer() -> None:
    registry = Registry()
    transport = HttpTransport("http://127.0.0.1:1")
    count_requests(registry, transport)
    count_requests(Registry(), transport)
    count_requests(registry, FakeApi())

    async def main() -> None:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                await transport.request("GET", "/x")
        await transport.aclose()

    real(main)
    assert registry.value("rest_client_requests_total", "<error>", "GET", "127.0.0.1:1") == 2


# --- signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_in_order(number: signal.Signals) -> None:
    log: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), number)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await slow()
            log.append("ended")

    real(lambda: until_signal(work()))
    assert log == ["ended"]


def test_ends_without_a_signal() -> None:
    async def failing_work() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        real(lambda: until_signal(failing_work()))
    real(lambda: until_signal(slow()))

    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        real(lambda: until_signal(cancelled()))


class HandlerLog(FakeApi):
    """A transport that sends the process a signal at the first request and records whether it was closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


@pytest.mark.parametrize("is_async", [False, True])
def test_an_operator_runs_until_a_signal(is_async: bool) -> None:
    api, managers = HandlerLog(), list[Manager]()

    def build(manager: Manager) -> None:
        managers.append(manager)
        manager.controller("backup").for_(*BACKUP).complete(stopping)

    async def build_later(manager: Manager) -> None:
        await slow()
        build(manager)

    async def stopping(request: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    api.revision = 1
    election = LeaderElection(LeaderElectionOptions("lock", "default", identity="me", release_on_cancel=True))

    async def prepare() -> None:
        api.put(*BACKUP, "nightly")

    asyncio.run(prepare())
    run(build_later if is_async else build, transport=api, metrics_bind_address="0", election=election)
    assert api.closed
    assert api.objects["/apis/coordination.k8s.io/v1/leases/default/lock"]["spec"]["holderIdentity"] == ""
    assert managers[0].elected.is_set()


STUBBORN = """
    import asyncio, os, signal
    from controllerlib.manager import until_signal

    async def work():
        print("started", flush=True)
        while True:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                print("not yet", flush=True)

    asyncio.run(until_signal(work()))
"""


def test_a_second_signal_does_not_wait() -> None:
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(STUBBORN)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "not yet\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 1
    finally:
        process.kill()
        process.stdout.close()
