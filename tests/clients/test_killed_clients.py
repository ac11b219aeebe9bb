"""Operators of other libraries that are killed, paused and started again: nothing that dies writes."""

import asyncio

import kopf
import pytest
import yaml
from lightkube import AsyncClient, KubeConfig
from lightkube.resources.core_v1 import ConfigMap

from tests.clients import servers


@pytest.fixture(autouse=True)
def gadgets(fakekube):
    fakekube.apply(yaml.safe_load(servers.GADGETS.read_text()))


def gadget(name):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": {"size": 1}}


def kopf_operator(fakekube, seen):
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_):
        return kopf.ConnectionInfo(server=fakekube.access.url)

    @kopf.on.startup(registry=registry)
    def quiet(settings, **_):
        settings.posting.enabled = False

    @kopf.on.create("example.com", "v1", "gadgets", registry=registry)
    async def created(name, **_):
        seen.append(("created", name))

    @kopf.timer("example.com", "v1", "gadgets", interval=600, initial_delay=600, registry=registry)
    async def ticked(name, **_):
        seen.append(("ticked", name))

    return kopf.operator(registry=registry, namespaces=["default"], standalone=True)


@pytest.mark.slow
def test_a_killed_kopf_operator(fakekube):
    """Its timers, watches and its own shutdown procedure end; a new operator takes over what it has left."""
    seen, again = [], []
    task = fakekube.task(kopf_operator(fakekube, seen), name="kopf")
    fakekube.apply(gadget("a"))
    fakekube.advance(minutes=25)
    assert seen == [("created", "a"), ("ticked", "a"), ("ticked", "a")]
    fakekube.kill(task)
    assert task.done()
    written = len(fakekube.requests(resource="gadgets", verb="patch"))
    fakekube.apply(gadget("b"))
    fakekube.advance(hours=5)
    assert len(seen) == 3
    assert len(fakekube.requests(resource="gadgets", verb="patch")) == written
    second = fakekube.task(kopf_operator(fakekube, again), name="kopf again")
    fakekube.advance(minutes=5)
    fakekube.kill(second)
    assert again == [("created", "b")]


def test_a_kopf_operator_that_is_killed_after_a_write(fakekube):
    seen = []
    task = fakekube.task(kopf_operator(fakekube, seen), name="kopf")
    plan = fakekube.kill(task, at="update gadget/a")
    fakekube.apply(gadget("a"))
    fakekube.advance(hours=1)
    assert (plan.hits, task.done()) == (1, True)
    assert len(fakekube.state.versions("example.com/v1", "Gadget", "a")) == 2


def test_a_paused_kopf_operator(fakekube):
    seen = []
    task = fakekube.task(kopf_operator(fakekube, seen), name="kopf")
    fakekube.apply(gadget("a"))
    fakekube.advance(minutes=1)
    fakekube.faults.pause(task)
    fakekube.apply(gadget("b"))
    fakekube.advance(minutes=1)
    assert seen == [("created", "a")]
    fakekube.faults.resume(task)
    fakekube.advance(minutes=5)
    fakekube.kill(task)
    assert seen == [("created", "a"), ("created", "b")]


def test_a_killed_operator_of_lightkube(fakekube):
    seen, cleaned = [], []

    async def operate():
        api = AsyncClient(config=KubeConfig.from_file(str(fakekube.access.kubeconfig)), namespace="default")
        try:
            async for event, found in api.watch(ConfigMap):
                seen.append((event, found.metadata.name))
                await asyncio.sleep(60)
        finally:
            cleaned.append("began")
            await api.delete(ConfigMap, "a")
            cleaned.append("deleted")

    task = fakekube.task(operate())
    for name in ("a", "b"):
        fakekube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    fakekube.advance(30)
    fakekube.kill(task)
    fakekube.advance(hours=1)
    assert (seen, cleaned) == ([("ADDED", "a")], ["began"])
    assert fakekube.exists("v1", "ConfigMap", "a")


@pytest.mark.slow
def test_a_killed_operator_of_the_official_async_client(fakekube):
    official = pytest.importorskip("kubernetes.aio", reason="the official client has it from 37 on")

    async def operate():
        configuration = official.client.Configuration()
        await official.config.load_kube_config(str(fakekube.access.kubeconfig), client_configuration=configuration)
        async with official.client.ApiClient(configuration) as api:
            core = official.client.CoreV1Api(api)
            for number in range(5):
                body = {"metadata": {"name": f"s{number}"}}
                try:
                    await core.create_namespaced_config_map("default", body)
                finally:
                    await core.create_namespaced_config_map("default", {"metadata": {"name": f"finally-{number}"}})
                await asyncio.sleep(60)

    task = fakekube.task(operate())
    plan = fakekube.kill(task, at="create configmap/s2")
    fakekube.advance(hours=1)
    assert (plan.hits, task.done()) == (1, True)
    names = [one["metadata"]["name"] for one in fakekube.list("v1", "ConfigMap")]
    assert names == ["finally-0", "finally-1", "s0", "s1", "s2"]
