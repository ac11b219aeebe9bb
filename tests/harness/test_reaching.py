"""How clients reach a cluster: address, kubeconfig, official client, commands, direct calls, threads and tasks."""

import asyncio
import json
import shutil
import sys
import time
import urllib.error
import urllib.request

import pytest

from controllerlib import ApiError, Client
from fakekube import FakeKube, User
from tests.harness.operators import build, config_map, every

ALICE = User("alice", groups=("dev",))


def version_of(url):
    with urllib.request.urlopen(f"{url}/version") as response:
        return json.load(response)["gitVersion"]


def test_the_address_answers(fakekube):
    assert fakekube.access.url.startswith("http://127.0.0.1:")
    assert version_of(fakekube.access.url).startswith("v1.36")
    assert fakekube.access.url in repr(fakekube)


def test_the_server_listens_when_its_address_is_read(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(every(60)))
    fakekube.advance(60)
    assert "not listening" in repr(fakekube)


async def test_the_address_in_an_async_test(fakekube):
    import aiohttp

    async with aiohttp.ClientSession() as session, session.get(f"{fakekube.access.url}/version") as response:
        assert (await response.json())["gitVersion"].startswith("v1.36")


def test_the_official_client(fakekube, fakekube_client):
    from kubernetes import client

    core = client.CoreV1Api(fakekube_client)
    core.create_namespaced_config_map("default", config_map("a", n="1"))
    assert core.read_namespaced_config_map("a", "default").data == {"n": "1"}
    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"n": "1"}
    assert [r.verb for r in fakekube.requests(user_agent="OpenAPI-Generator*")] == ["create", "get"]


@pytest.mark.slow
def test_the_kubeconfig(fakekube, fakekube_kubeconfig):
    from kubernetes import client, config

    api = config.new_client_from_config(str(fakekube_kubeconfig))
    with api:
        assert client.VersionApi(api).get_code().git_version.startswith("v1.36")


def test_the_kubeconfig_is_removed_with_the_cluster():
    with FakeKube(wall_clock=False) as kube:
        path = kube.access.kubeconfig
        assert path.exists()
    assert not path.exists()
    assert not path.parent.exists()


def test_a_command_runs_while_time_is_held(fakekube):
    code = "import os, urllib.request; print(os.environ['KUBECONFIG']); print(os.environ['MINE'])"
    done = fakekube.run_process([sys.executable, "-c", code], env={"MINE": "yes"})
    assert done.returncode == 0
    assert done.stdout.split() == [str(fakekube.access.kubeconfig), "yes"]
    assert fakekube.clock.monotonic() == 0


async def test_a_command_in_an_async_test(fakekube):
    done = await fakekube.run_process([sys.executable, "-c", "print('hello')"])
    assert done.stdout == "hello\n"


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
def test_kubectl(fakekube):
    controller = fakekube.start(build(every(60)))["minder"]
    done = fakekube.run_process(["kubectl", "create", "configmap", "a", "--from-literal=n=1"])
    assert done.returncode == 0, done.stderr
    fakekube.settle()
    assert controller.causes() == ["added"]
    (record,) = fakekube.requests(verb="create", user_agent="kubectl*")
    assert record.name in ("a", "")
    assert fakekube.clock.monotonic() == 0


@pytest.mark.slow
@pytest.mark.fakekube(rbac=True)
def test_users_have_their_permissions(fakekube):
    from kubernetes import client
    from kubernetes.client.exceptions import ApiException

    admin, alice = (
        client.CoreV1Api(fakekube.access.api_client()),
        client.CoreV1Api(fakekube.access.api_client(user=ALICE)),
    )
    admin.create_namespaced_config_map("default", config_map("a"))
    with pytest.raises(ApiException) as refused:
        alice.read_namespaced_config_map("a", "default")
    assert refused.value.status == 403
    assert [(r.user, r.code) for r in fakekube.requests(verb="get", resource="configmaps")] == [("alice", 403)]


@pytest.mark.fakekube(rbac=True)
def test_a_request_without_a_token_is_anonymous(fakekube):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{fakekube.access.url}/api/v1/namespaces/default/configmaps")


@pytest.mark.fakekube(rbac=True)
def test_two_users_of_one_name_are_rejected(fakekube):
    fakekube.access.api_client(user=ALICE)
    with pytest.raises(ValueError, match="another user has the name 'alice'"):
        fakekube.access.api_client(user=User("alice", groups=("ops",)))


@pytest.mark.fakekube(rbac=True)
def test_a_direct_transport_for_any_user(fakekube):
    async def read(user):
        client = Client(fakekube.access.transport(user=user), user_agent="mine/1")
        return await client.list("v1", "ConfigMap", "default")

    fakekube.apply(config_map("a"))
    with pytest.raises(ApiError, match='User "alice" cannot list resource "configmaps"'):
        fakekube.run(read(ALICE))
    assert {r.user_agent for r in fakekube.requests(user="alice")} == {"mine/1"}


async def test_clients_of_one_transport_close_independently(fakekube):
    way = fakekube.access.transport()
    one, other = Client(way), Client(way)
    await one.aclose()
    assert (await other.raw_get("/version"))["major"] == "1"


async def test_a_watch_that_opens_late_is_served(fakekube):
    way = fakekube.access.transport()
    with fakekube.fault(verb="watch", delay=5, user_agent="test"):
        opening = asyncio.create_task(way.open_watch("/api/v1/namespaces/default/configmaps"))
        await asyncio.sleep(1)
        await way.aclose()
        code, _, stream = await opening
    assert code == 200
    await stream.aclose()


def test_a_task_beside_the_test(fakekube):
    async def ticking():
        while True:
            await asyncio.sleep(60)
            ticks.append(fakekube.clock.monotonic())

    ticks = []
    fakekube.task(ticking())
    fakekube.advance(minutes=3)
    assert ticks == [60, 120, 180]


def test_a_thread_beside_the_test(fakekube, fakekube_client):
    from kubernetes import client

    def poll(name):
        core = client.CoreV1Api(fakekube_client)
        while True:
            seen.append(len(core.list_namespaced_config_map(name).items))
            time.sleep(60)

    seen = []
    thread = fakekube.thread(poll, "default", name="poller")
    fakekube.settle()
    fakekube.create(config_map("a"))
    fakekube.advance(minutes=2)
    assert seen == [0, 1, 1]
    assert thread.name == "poller"
    assert "thread: <BubbleThread poller parked" in fakekube.why()


def test_a_watch_of_the_official_client(fakekube, fakekube_client):
    from kubernetes import client, watch

    def follow():
        core = client.CoreV1Api(fakekube_client)
        events = watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=600)
        seen.extend((event["type"], event["object"].metadata.name) for event in events)
        seen.append(fakekube.clock.monotonic())

    seen = []
    fakekube.thread(follow)
    fakekube.settle()
    fakekube.create(config_map("a"))
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.advance(minutes=11)
    assert seen == [("ADDED", "a"), ("DELETED", "a"), 600]


@pytest.mark.parametrize("transport", ["direct", "memory", "tcp"])
def test_operators_reach_the_server_over_any_transport(transport):
    with FakeKube(transport=transport) as kube:
        kube.apply(config_map("a"))
        controller = kube.start(build(every(3600)))["minder"]
        kube.advance(hours=3)
        assert controller.causes() == ["added"] + ["requeue_after"] * 3
        assert ("not listening" in repr(kube)) == (transport == "direct")
