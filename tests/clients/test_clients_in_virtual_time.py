"""asyncio clients in the test's own process: their waiting, their threads and their watches are under the cluster's clock."""

import asyncio
import time

import anyio
import kopf
import kr8s.asyncio
import pytest
import yaml
from kr8s.asyncio.objects import ConfigMap
from lightkube import AsyncClient, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import PatchType

from tests.clients.servers import GADGETS

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")


def gadget(name, **spec):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": meta, "spec": spec}


@pytest.fixture(autouse=True)
def _definition(fakekube):
    fakekube.apply(yaml.safe_load(GADGETS.read_text()))


async def test_workers_of_anyio(fakekube):
    def work(seconds):
        time.sleep(seconds)
        return fakekube.clock.monotonic()

    assert await anyio.to_thread.run_sync(work, 60) == 60
    assert await asyncio.gather(*[anyio.to_thread.run_sync(work, seconds) for seconds in (30, 10, 20)]) == [90, 70, 80]
    assert fakekube.clock.monotonic() == 90


async def test_workers_of_anyio_call_back_into_the_loop(fakekube):
    async def later():
        await asyncio.sleep(60)
        return fakekube.clock.monotonic()

    assert await anyio.to_thread.run_sync(anyio.from_thread.run, later) == 60


async def test_kr8s(fakekube):
    api = await kr8s.asyncio.api(kubeconfig=str(fakekube.access.kubeconfig))
    seen = []

    async def operator():
        async for event, found in api.async_watch("gadgets", namespace="default"):
            seen.append((event, found.name, fakekube.clock.monotonic()))
            await asyncio.sleep(60)
            child = ConfigMap({"metadata": {"name": f"{found.name}-child", "namespace": "default"}}, api=api)
            await child.create()

    watching = fakekube.task(operator())
    await fakekube.settle()
    fakekube.create(gadget("a"))
    fakekube.create(gadget("b"))
    await fakekube.advance(minutes=5)
    assert seen == [("ADDED", "a", 0), ("ADDED", "b", 60)]
    assert [found["metadata"]["name"] for found in fakekube.list("v1", "ConfigMap")] == ["a-child", "b-child"]
    watching.cancel()
    await api._session.aclose()


async def test_lightkube(fakekube):
    gadgets = create_namespaced_resource("example.com", "v1", "Gadget", "gadgets")
    seen = []

    async def operator(client):
        async for event, found in client.watch(gadgets):
            seen.append((event, found.spec, fakekube.clock.monotonic()))
            await asyncio.sleep(60)

    async with AsyncClient(config=KubeConfig.from_file(str(fakekube.access.kubeconfig)), namespace="default") as client:
        await client.create(gadgets(metadata=ObjectMeta(name="a"), spec={"size": 1}))
        watching = fakekube.task(operator(client))
        await fakekube.advance(minutes=5)
        await client.patch(gadgets, "a", {"spec": {"size": 2}}, patch_type=PatchType.MERGE)
        await fakekube.advance(minutes=5)
        watching.cancel()
        await fakekube.settle()
    assert seen == [("ADDED", {"size": 1}, 0), ("MODIFIED", {"size": 2}, 300)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["async", "threads"])
async def test_kopf(fakekube, how):
    registry = kopf.OperatorRegistry()
    seen = []

    @kopf.on.login(registry=registry)
    def login(**_):
        return kopf.ConnectionInfo(server=fakekube.access.url)

    def note(what, name):
        seen.append((what, name, round(fakekube.clock.monotonic())))

    if how == "async":

        @kopf.on.create("example.com", "v1", "gadgets", registry=registry)
        async def created(name, **_):
            note("created", name)

        @kopf.timer("example.com", "v1", "gadgets", interval=3600, initial_delay=600, registry=registry)
        async def ticked(name, **_):
            note("ticked", name)

    else:

        @kopf.on.create("example.com", "v1", "gadgets", registry=registry)
        def created(name, **_):
            note("created", name)

        @kopf.timer("example.com", "v1", "gadgets", interval=3600, initial_delay=600, registry=registry)
        def ticked(name, **_):
            note("ticked", name)

    operator = fakekube.task(kopf.operator(registry=registry, namespaces=["default"], standalone=True))
    fakekube.create(gadget("a", size=1))
    await fakekube.advance(hours=10)
    assert seen[0][:2] == ("created", "a")
    assert [name for what, name, _ in seen if what == "ticked"] == ["a"] * 10
    operator.cancel()
    await fakekube.settle()
