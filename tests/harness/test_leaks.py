"""A cluster leaves nothing behind: no task, thread, socket, file or patch."""

import asyncio
import gc
import logging
import os
import sys
import tempfile
import threading
import time
import weakref

import pytest

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, every

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder_for_files(tmp_path, monkeypatch):
    """A folder for this test only: others may run at the same time."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def state_of_the_process():
    gc.collect()
    files = os.listdir(tempfile.gettempdir())
    hooked = (time.sleep, time.time, threading.Thread.join, sys.meta_path[:])
    return len(os.listdir("/proc/self/fd")), threading.active_count(), files, hooked


def uses_everything(kube):
    from kubernetes import client, watch

    api = kube.access.api_client()
    core = client.CoreV1Api(api)
    kube.apply(config_map("a"))

    def reconcile(request):
        core.read_namespaced_config_map(request.name, request.namespace)
        time.sleep(5)

    def follow():
        for _ in watch.Watch().stream(core.list_namespaced_config_map, "default"):
            pass

    async def forever():
        while True:
            await kube.clock.sleep_until(kube.clock.monotonic() + 60)

    kube.start(build(every(60), "async"))
    kube.start(build(reconcile, "sync"))
    kube.thread(follow)
    kube.task(forever())
    assert kube.access.kubeconfig.exists()
    kube.run_process([sys.executable, "-c", "pass"])
    kube.advance(minutes=5)
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    kube.settle()


@pytest.mark.parametrize("wall_clock", [True, False])
@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_nothing_is_left_behind(transport, wall_clock):
    with FakeKube(transport=transport, wall_clock=wall_clock) as kube:
        uses_everything(kube)  # imports what is imported lazily
    before = state_of_the_process()
    with FakeKube(transport=transport, wall_clock=wall_clock) as kube:
        uses_everything(kube)
    assert state_of_the_process() == before
    assert engine_of(kube).bubble.loop.is_closed()


def test_nothing_is_left_behind_by_a_test_that_fails():
    def fails():
        with FakeKube(wall_clock=False) as kube:
            uses_everything(kube)
            raise LookupError

    with pytest.raises(LookupError):
        fails()
    before = state_of_the_process()
    with pytest.raises(LookupError):
        fails()
    assert state_of_the_process() == before


def test_nothing_is_left_behind_by_a_cluster_that_was_never_opened():
    before = state_of_the_process()
    kube = FakeKube()
    kube.close()
    del kube
    assert state_of_the_process() == before


def test_a_hundred_clusters_need_no_more_memory_than_ten():
    def live_objects(rounds):
        for _ in range(rounds):
            with FakeKube(wall_clock=False) as kube:
                kube.apply(config_map("a"))
                kube.start(build(every(60)))
                kube.advance(minutes=5)
        del kube
        gc.collect()
        return len(gc.get_objects())

    live_objects(3)
    assert live_objects(20) - live_objects(2) < 200


@pytest.mark.parametrize("transport", ["direct", "memory"])
def test_the_records_of_a_cluster_are_freed_with_it(transport, caplog):
    """A suite of many clusters does not need the garbage collector to free what they have stored."""
    # pytest keeps log records with their tracebacks, whose frames refer to the test (since CPython 3.13)
    caplog.set_level(logging.CRITICAL, logger="controllerlib")

    async def fails_sometimes(request, client):
        found = await client.get("v1", "ConfigMap", request.name, request.namespace)
        await client.patch(found, {"data": {"x": str(len(found["metadata"]["resourceVersion"]))}})
        raise RuntimeError("it failed")

    def use():
        with FakeKube(transport=transport) as kube:
            kube.findings.allow("reconcile-error", reason="its traceback must be freed, too")
            kube.apply(config_map("a"))
            with kube.fault(verb="patch", name="a", error=500, times=2):
                kube.start(build(fails_sometimes))
                kube.advance(minutes=5)
            kube.delete("v1", "ConfigMap", "a")
        assert len(kube.ledger) > 3
        assert kube.requests(code=500)
        return [
            weakref.ref(one)
            for one in (
                kube,
                kube.ledger,
                kube.timeline,
                engine_of(kube).server,
                engine_of(kube).server.apiserver.store,
            )
        ]

    use()  # imports what is imported lazily
    gc.collect()
    gc.disable()
    try:
        assert [ref() for ref in use()] == [None] * 5
    finally:
        gc.enable()


def test_a_client_reports_that_its_cluster_has_ended():
    with FakeKube(wall_clock=False) as kube:
        operator = kube.start(build(every(60)))
        client = operator.manager.client
        kube.stop(operator)
        assert engine_of(kube).bubble.loop.drive(client.raw_get("/api/v1"))["groupVersion"] == "v1"
    with pytest.raises(RuntimeError, match="GET /api/v1: the cluster of this client has ended"):
        asyncio.run(client.raw_get("/api/v1"))
