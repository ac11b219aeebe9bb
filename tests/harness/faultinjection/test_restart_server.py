"""A server that restarts with the same stored objects: refused connections, ended watches, lost history."""

import asyncio
import time

import pytest
from kubernetes import client
from urllib3.exceptions import MaxRetryError

from controllerlib import Client
from controllerlib.client import HttpTransport
from fakekube import FakeKube
from tests.harness.operators import build, config_map, every


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_an_operator_goes_on_after_a_restart(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        operator = kube.start(build(every(10_000)))
        version = kube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
        kube.faults.restart_server(down="30s")
        assert "the server is down" in kube.why()
        kube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
        kube.advance(29)
        assert operator["minder"].causes() == ["added"]
        kube.advance(60)
        assert operator["minder"].causes()[1:] in (["updated"], ["relist"])
        found = kube.get("v1", "ConfigMap", "a")
        assert int(found["metadata"]["resourceVersion"]) == int(version) + 1
        assert "the server is down" not in kube.why()


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_requests_are_refused_while_it_is_down(transport):
    errors = []
    with FakeKube(transport=transport) as kube:

        async def ask():
            if transport == "direct":
                api = Client(kube.access.transport(), user_agent="mine")
            else:
                api = Client(HttpTransport(kube.access.url, clock=kube.clock))
            for _ in range(6):
                try:
                    await api.get("v1", "Namespace", "default")
                    errors.append("ok")
                except OSError as error:
                    errors.append(type(error).__name__)
                await asyncio.sleep(10)
            await api.aclose()

        kube.task(ask())
        kube.settle()
        kube.faults.restart_server(down=25)
        kube.advance(60)
    assert errors == ["ok", "ConnectionRefusedError", "ConnectionRefusedError", "ok", "ok", "ok"]


@pytest.mark.slow
def test_the_official_client_in_a_thread(fakekube):
    core = client.CoreV1Api(fakekube.access.api_client())
    seen = []

    def ask():
        for _ in range(4):
            try:
                core.read_namespace("default")
                seen.append("ok")
            except MaxRetryError as error:
                seen.append("refused" if "Connection refused" in str(error) else str(error))
            time.sleep(10)

    fakekube.thread(ask)
    fakekube.settle()
    fakekube.faults.restart_server(down=15)
    fakekube.advance(60)
    assert seen == ["ok", "refused", "ok", "ok"]


def test_a_request_that_waits_is_not_answered(fakekube):
    outcome = []

    async def create():
        api = Client(fakekube.access.transport(), user_agent="mine")
        try:
            await api.create(config_map("a"))
            outcome.append("created")
        except OSError as error:
            outcome.append((type(error).__name__, fakekube.clock.monotonic()))

    with fakekube.fault(verb="create", delay=20):
        fakekube.task(create())
        fakekube.advance(5)
        fakekube.faults.restart_server(down=5)
        fakekube.advance(60)
    assert outcome == [("ConnectionResetError", 5)]
    assert not fakekube.exists("v1", "ConfigMap", "a")


def test_watches_from_before_the_restart_are_too_old(fakekube):
    """The watch cache begins at the present revision; a watch from that one goes on."""
    seen = {}

    async def follow(version):
        api = Client(fakekube.access.transport(), user_agent="mine")
        query = [("resourceVersion", version)]
        _, _, stream = await api.transport.open_watch("/api/v1/configmaps", query=query)
        async for event in stream:
            seen.setdefault(version, []).append((event["type"], event["object"].get("code")))

    fakekube.apply(config_map("a"))
    old = fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    new = fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    fakekube.faults.restart_server()
    for version in (old, new):
        fakekube.task(follow(version))
    fakekube.settle()
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    fakekube.settle()
    assert seen == {old: [("ERROR", 410)], new: [("MODIFIED", None)]}


def test_lists_at_a_resource_version_from_before_the_restart_work(fakekube):
    """They are read from etcd, whose history a restart of the API server does not touch."""
    core = client.CoreV1Api(fakekube.access.api_client())
    fakekube.apply(config_map("a"))
    version = fakekube.get("v1", "ConfigMap", "a")["metadata"]["resourceVersion"]
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.faults.restart_server()
    options = {"resource_version": version, "resource_version_match": "Exact"}
    found = core.list_namespaced_config_map("default", **options).items
    assert [one.metadata.name for one in found] == ["a"]


async def test_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    operator = await fakekube.start(build(every(60)))
    await fakekube.faults.restart_server(down=10)
    await asyncio.sleep(120)
    assert operator["minder"].reconciles() == 3


def test_without_a_restart_watches_stay_open(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(every(60)))
    fakekube.advance(120)
    assert len(fakekube.requests(verb="watch")) == 1
    fakekube.faults.restart_server()
    fakekube.advance(20)
    assert len(fakekube.requests(verb="watch")) > 1
