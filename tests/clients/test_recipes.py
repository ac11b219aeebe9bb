"""The operators of docs/howto/start-an-operator.md: each creates a child for a labelled ConfigMap, every hour."""

import asyncio
import threading
from importlib.util import find_spec

import aiohttp
import httpx
import kopf
import kr8s.asyncio
import kubernetes_asyncio
import lightkube
import pykube
import pytest
from kr8s.asyncio.objects import ConfigMap
from kubernetes import client, config
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap as LightConfigMap

HAS_AIO = pytest.mark.skipif(find_spec("kubernetes.aio") is None, reason="the official client has it from 37 on")
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")

PARENT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db", "labels": {"app": "db"}}}
CHILD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db-child", "namespace": "default"}}
PATH = "/api/v1/namespaces/default/configmaps"


# --- threads


def official_operator(stop):
    config.load_kube_config()
    api = client.CoreV1Api()
    while not stop.wait(1800):
        if api.list_namespaced_config_map("default", label_selector="app=db").items:
            api.create_namespaced_config_map("default", CHILD)
            return


def pykube_operator(stop):
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    while not stop.wait(1800):
        if list(pykube.ConfigMap.objects(api).filter(namespace="default", selector={"app": "db"})):
            pykube.ConfigMap(api, CHILD).create()
            return


def operator_with_a_loop(stop):
    async def main():
        await kubernetes_asyncio.config.load_kube_config()
        async with kubernetes_asyncio.client.ApiClient() as api:
            core = kubernetes_asyncio.client.CoreV1Api(api)
            await asyncio.sleep(1800)
            if (await core.list_namespaced_config_map("default", label_selector="app=db")).items:
                await core.create_namespaced_config_map("default", CHILD)

    asyncio.run(main())


@pytest.mark.parametrize("operate", [official_operator, pykube_operator, operator_with_a_loop])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_it_makes_a_child_within_the_hour(fakekube_configured, operate):
    stop = threading.Event()
    operator = fakekube_configured.thread(operate, stop)
    fakekube_configured.create(PARENT)
    fakekube_configured.advance(hours=1)
    assert fakekube_configured.exists("v1", "ConfigMap", "db-child")
    stop.set()
    operator.join()


# --- coroutines


async def aio_operator(cluster):
    from kubernetes import aio

    await aio.config.load_kube_config()
    async with aio.client.ApiClient() as api:
        core = aio.client.CoreV1Api(api)
        while not (await core.list_namespaced_config_map("default", label_selector="app=db")).items:
            await asyncio.sleep(1800)
        await core.create_namespaced_config_map("default", CHILD)


async def kubernetes_asyncio_operator(cluster):
    await kubernetes_asyncio.config.load_kube_config()
    async with kubernetes_asyncio.client.ApiClient() as api:
        core = kubernetes_asyncio.client.CoreV1Api(api)
        async with kubernetes_asyncio.watch.Watch() as watch:
            async for event in watch.stream(core.list_namespaced_config_map, "default", label_selector="app=db"):
                if event["type"] == "ADDED":
                    await core.create_namespaced_config_map("default", CHILD)
                    break


async def kr8s_operator(cluster):
    api = await kr8s.asyncio.api()
    async for _, _found in api.async_watch("configmaps", namespace="default", label_selector="app=db"):
        await (await ConfigMap(CHILD, api=api)).create()
        break
    await api._session.aclose()


async def lightkube_operator(cluster):
    async with lightkube.AsyncClient() as api:
        async for event, _ in api.watch(LightConfigMap, namespace="default", labels={"app": "db"}):
            assert event == "ADDED"
            await api.create(LightConfigMap(metadata=ObjectMeta(name="db-child", namespace="default")))
            break


async def aiohttp_operator(cluster):
    async with aiohttp.ClientSession(cluster.access.url) as http:
        while True:
            async with http.get(PATH, params={"labelSelector": "app=db"}) as answer:
                if (await answer.json())["items"]:
                    break
            await asyncio.sleep(1800)
        async with http.post(PATH, json=CHILD) as answer:
            assert answer.status == 201


async def httpx_operator(cluster):
    async with httpx.AsyncClient(base_url=cluster.access.url) as http:
        while not (await http.get(PATH, params={"labelSelector": "app=db"})).json()["items"]:
            await asyncio.sleep(1800)
        assert (await http.post(PATH, json=CHILD)).status_code == 201


@pytest.mark.slow
@pytest.mark.parametrize(
    "operate",
    [
        pytest.param(aio_operator, marks=HAS_AIO),
        kubernetes_asyncio_operator,
        kr8s_operator,
        lightkube_operator,
        aiohttp_operator,
        httpx_operator,
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_an_async_operator_makes_a_child_within_the_hour(fakekube_configured, operate):
    fakekube_configured.task(operate(fakekube_configured))
    await fakekube_configured.advance(minutes=10)
    fakekube_configured.create(PARENT)
    await fakekube_configured.advance(minutes=50)
    assert fakekube_configured.exists("v1", "ConfigMap", "db-child")


@pytest.mark.fakekube(detect={"blocking-request": "off"})
@pytest.mark.parametrize("blocking", [False, True])
async def test_a_kopf_operator_makes_a_child(fakekube_configured, blocking):
    registry, stop = kopf.OperatorRegistry(), asyncio.Event()

    def handle(**_):
        config.load_kube_config()
        client.CoreV1Api().create_namespaced_config_map("default", CHILD)

    async def handle_in_a_coroutine(**_):
        handle()  # a blocking client in a coroutine, as many operators have

    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    kopf.on.create("", "v1", "configmaps", labels={"app": "db"}, registry=registry)(
        handle if blocking else handle_in_a_coroutine
    )
    operator = fakekube_configured.task(
        kopf.operator(registry=registry, stop_flag=stop, standalone=True, namespaces=["default"])
    )
    fakekube_configured.create(PARENT)
    await fakekube_configured.advance(minutes=1)
    assert fakekube_configured.exists("v1", "ConfigMap", "db-child")
    stop.set()
    await fakekube_configured.advance(minutes=1)
    assert operator.done()
