"""Blocking clients inside coroutines: answered in place, as the core needs no event loop to answer."""

import asyncio
import os

import httpx
import pykube
import pytest
import requests
import urllib3
from kubernetes import client, config, watch

from fakekube.harness.engine import engine_of

LIST = "/api/v1/namespaces/default/configmaps"


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def official(fakekube):
    return _official(fakekube.access.api_client())


def _official(api_client):
    api = client.CoreV1Api(api_client)

    def call(name):
        api.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name)))
        return [one.metadata.name for one in api.list_namespaced_config_map("default").items]

    return call


def _over(request):
    def call(name):
        request("POST", LIST, config_map(name))
        return [one["metadata"]["name"] for one in request("GET", LIST, None)["items"]]

    return call


def with_requests(fakekube):
    session = requests.Session()
    return _over(lambda method, path, body: session.request(method, fakekube.access.url + path, json=body).json())


def with_requests_without_a_session(fakekube):
    return _over(
        lambda method, path, body: requests.request(method, fakekube.access.url + path, json=body, timeout=5).json()
    )


def with_urllib3(fakekube):
    http = urllib3.PoolManager()
    return _over(lambda method, path, body: http.request(method, fakekube.access.url + path, json=body).json())


def with_httpx(fakekube):
    http = httpx.Client(base_url=fakekube.access.url)
    return _over(lambda method, path, body: http.request(method, path, json=body).json())


def with_pykube(fakekube):
    api = pykube.HTTPClient(pykube.KubeConfig.from_file(str(fakekube.access.kubeconfig)))

    def call(name):
        pykube.ConfigMap(api, config_map(name) | {"metadata": {"name": name, "namespace": "default"}}).create()
        return [one.name for one in pykube.ConfigMap.objects(api).filter(namespace="default")]

    return call


def official_in_a_pod(fakekube):
    fakekube.access.configure()
    config.load_incluster_config()
    return _official(client.ApiClient())


CLIENTS = [
    official,
    official_in_a_pod,
    with_requests,
    with_requests_without_a_session,
    with_urllib3,
    with_httpx,
    with_pykube,
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.fakekube(detect={"blocking-request": "off"})
@pytest.mark.parametrize("made", CLIENTS)
def test_f8_a_client_is_answered_in_a_coroutine_a_thread_and_the_test(fakekube, made):
    call, seen = made(fakekube), []

    async def handler():
        await asyncio.sleep(60)
        seen.append(call("in-coroutine"))

    call("in-test")
    fakekube.task(handler())
    fakekube.advance(90)
    fakekube.thread(lambda: seen.append(call("in-thread"))).join()
    seen.append(call("in-test-again"))
    names = ["in-coroutine", "in-test", "in-thread", "in-test-again"]
    assert [sorted(set(found) & set(names)) for found in seen] == [
        sorted(names[:2]),
        sorted(names[:3]),
        sorted(names),
    ]
    assert fakekube.clock.monotonic() == 90


async def test_f8_a_client_is_answered_in_an_async_test_and_by_to_thread(fakekube):
    call = with_urllib3(fakekube)
    assert "a" in call("a")
    assert "b" in await asyncio.to_thread(call, "b")
    assert "c" in call("c")


async def test_f8_the_places_of_blocking_calls_are_counted(fakekube):
    call = official(fakekube)
    for name in "ab":
        call(name)
    found = engine_of(fakekube).bubble.blocking_calls
    assert list(found.values()) == [2, 2]
    assert {place.file for place in found} == {__file__}
    assert all(str(place).startswith("test_blocking_in_coroutines.py:") for place in found)


async def test_f8_what_needs_time_is_refused(fakekube):
    api = client.CoreV1Api(fakekube.access.api_client())
    with pytest.raises(RuntimeError, match="a watch is not answered at once"):
        next(watch.Watch().stream(api.list_namespaced_config_map, "default"))
    with fakekube.fault(verb="list", resource="configmaps", delay=5, times=1):
        with pytest.raises(RuntimeError, match="waits for a webhook, an injected delay"):
            api.list_namespaced_config_map("default")
        await asyncio.to_thread(api.list_namespaced_config_map, "default")
    assert fakekube.clock.monotonic() == 5


async def test_tls_in_a_coroutine_begins_without_a_connection_of_the_test(fakekube):
    call = official_in_a_pod(fakekube)
    assert "a" in call("a")
    assert "b" in await asyncio.to_thread(call, "b")
    assert "c" in call("c")
    assert len(engine_of(fakekube).bubble.blocking_calls) == 2


async def test_what_needs_time_is_refused_over_tls(fakekube_configured):
    config.load_incluster_config()
    api = client.CoreV1Api()
    with pytest.raises(RuntimeError, match="a watch is not answered at once"):
        next(watch.Watch().stream(api.list_namespaced_config_map, "default"))
    with fakekube_configured.fault(verb="list", resource="configmaps", delay=5, times=1):
        with pytest.raises(RuntimeError, match="waits for a webhook, an injected delay"):
            api.list_namespaced_config_map("default")
        await asyncio.to_thread(api.list_namespaced_config_map, "default")
    assert fakekube_configured.clock.monotonic() == 5


async def test_tls_in_a_coroutine_is_verified(fakekube_configured):
    port = os.environ["KUBERNETES_SERVICE_PORT"]
    with (
        urllib3.PoolManager(retries=False) as http,
        pytest.raises(urllib3.exceptions.SSLError, match=r"certificate verify failed"),
    ):
        http.request("GET", f"https://127.0.0.1:{port}{LIST}")


@pytest.mark.fakekube(detect={"blocking-request": "off"})
def test_a_server_that_is_down_refuses_tls(fakekube_configured):
    config.load_incluster_config()
    api, seen = client.CoreV1Api(), []

    def asks():
        try:
            seen.append(len(api.list_namespaced_config_map("default").items))
        except urllib3.exceptions.MaxRetryError as error:
            seen.append(str(error.reason).rpartition(": ")[2])

    async def asks_in_a_coroutine():
        asks()

    def asks_everywhere():
        fakekube_configured.task(asks_in_a_coroutine())
        fakekube_configured.thread(asks).join()
        asks()

    fakekube_configured.create(config_map("a"))
    asks_everywhere()
    fakekube_configured.faults.restart_server(down=60)
    asks_everywhere()
    fakekube_configured.advance(60)
    asks_everywhere()
    assert seen == [1] * 3 + ["[Errno 111] Connection refused"] * 3 + [1] * 3


def test_a_thread_watches_over_tls_after_other_requests(fakekube_configured):
    config.load_incluster_config()
    seen = []

    def watches():
        api = client.CoreV1Api()
        version = api.list_namespaced_config_map("default").metadata.resource_version
        for event in watch.Watch().stream(api.list_namespaced_config_map, "default", resource_version=version):
            seen.append((event["object"].metadata.name, fakekube_configured.clock.monotonic()))
            api.patch_namespaced_config_map(seen[-1][0], "default", {"data": {"seen": str(len(seen))}})
            if len(seen) == 2:
                return

    thread = fakekube_configured.thread(watches)
    for name in "ab":
        fakekube_configured.advance(60)
        fakekube_configured.create(config_map(name))
    thread.join()
    assert seen == [("a", 60), ("a", 60)]


async def test_f8_injected_resets_and_errors_reach_a_client_in_a_coroutine(fakekube):
    http = urllib3.PoolManager(retries=False)
    with (
        fakekube.fault(verb="list", resource="configmaps", reset="before", times=1),
        pytest.raises(urllib3.exceptions.ProtocolError, match="Connection"),
    ):
        http.request("GET", fakekube.access.url + LIST)
    with fakekube.fault(verb="list", resource="configmaps", error=503, times=1):
        assert http.request("GET", fakekube.access.url + LIST).status == 503
    assert http.request("GET", fakekube.access.url + LIST).status == 200


def test_f8_a_thread_that_never_waits_does_not_starve_the_others(fakekube):
    call = with_urllib3(fakekube)
    http = urllib3.PoolManager()

    def polls():
        while http.request("GET", f"{fakekube.access.url}{LIST}/ready").status != 200:
            pass

    async def makes():
        await asyncio.sleep(0)
        fakekube.create(config_map("ready"))

    thread = fakekube.thread(polls)
    fakekube.task(makes())
    thread.join()
    assert "ready" in call("other")
