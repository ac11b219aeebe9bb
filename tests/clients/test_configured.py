"""Operators load their configuration themselves: `fakekube_configured`, or the marker's `configure`, points it here."""

import os
import subprocess
import sys
import time
import types

import kr8s.asyncio
import kubernetes_asyncio
import lightkube
import pykube
import pytest
import urllib3
from kubernetes import client, config, watch

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")


@pytest.fixture(autouse=True)
def _object(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}})


def test_f6_the_official_client_loads_its_kubeconfig(fakekube_configured):
    config.load_kube_config()
    names = [one.metadata.name for one in client.CoreV1Api().list_namespaced_config_map("default").items]
    assert "mine" in names


def test_f6_the_official_client_loads_the_configuration_of_a_pod(fakekube_configured):
    config.load_incluster_config()
    assert client.Configuration.get_default_copy().host.startswith("https://127.0.0.1:")
    assert client.CoreV1Api().read_namespaced_config_map("mine", "default").metadata.name == "mine"
    config.load_config()
    assert client.CoreV1Api().read_namespaced_config_map("mine", "default").metadata.name == "mine"


async def test_f6_kubernetes_asyncio(fakekube_configured):
    for load in (kubernetes_asyncio.config.load_kube_config, _in_cluster):
        await load()
        async with kubernetes_asyncio.client.ApiClient() as api:
            found = await kubernetes_asyncio.client.CoreV1Api(api).read_namespaced_config_map("mine", "default")
            assert found.metadata.name == "mine"


async def _in_cluster():
    kubernetes_asyncio.config.load_incluster_config()


@pytest.mark.slow
async def test_f6_kubernetes_aio(fakekube_configured):
    from kubernetes import aio

    await aio.config.load_kube_config()
    async with aio.client.ApiClient() as api:
        assert (await aio.client.CoreV1Api(api).read_namespaced_config_map("mine", "default")).metadata.name == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("again", [1, 2])
async def test_f6_kr8s_does_not_reach_the_cluster_of_another_test(fakekube_configured, again):
    fakekube_configured.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{again}"}})
    api = await kr8s.asyncio.api()
    names = [one.name async for one in api.get("configmaps", namespace="default")]
    assert sorted(name for name in names if name.startswith("of-")) == [f"of-{again}"]
    await api._session.aclose()


def test_f6_pykube(fakekube_configured):
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    assert pykube.ConfigMap.objects(api, namespace="default").get(name="mine").name == "mine"


def test_f6_lightkube(fakekube_configured):
    from lightkube.resources.core_v1 import ConfigMap

    with lightkube.Client() as api:
        assert api.get(ConfigMap, "mine", namespace="default").metadata.name == "mine"


@pytest.mark.fakekube(configure="default/robot", rbac=True)
def test_f6_the_marker_configures_a_service_account(fakekube):
    config.load_incluster_config()
    with pytest.raises(client.ApiException, match="system:serviceaccount:default:robot") as refused:
        client.CoreV1Api().read_namespaced_config_map("mine", "default")
    assert refused.value.status == 403
    with pytest.raises(client.ApiException, match="Forbidden"):
        config.load_kube_config() or client.CoreV1Api().read_namespaced_config_map("mine", "default")


def test_f6_operators_with_a_client_of_their_own_are_pointed_at_the_cluster(fakekube, monkeypatch):
    """Patroni's client keeps KUBECONFIG in a module of its own, as the official client does."""
    module = types.ModuleType("operator_with_a_client")
    module.KUBE_CONFIG_DEFAULT_LOCATION = "~/.kube/config"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    fakekube.access.configure()
    assert os.environ["KUBECONFIG"] == module.KUBE_CONFIG_DEFAULT_LOCATION
    fakekube.close()
    assert module.KUBE_CONFIG_DEFAULT_LOCATION == "~/.kube/config"


@pytest.mark.parametrize("limit", [900, (5, 900)], ids=["total", "read"])
def test_the_time_out_of_a_request_is_in_virtual_time(fakekube_configured, limit):
    """urllib3 subtracts the time that it took to connect from a time-out for the whole."""
    waited = []

    def operator():
        config.load_kube_config()
        began = time.monotonic()
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            list(watch.Watch().stream(client.CoreV1Api().list_namespaced_pod, "default", _request_timeout=limit))
        waited.append(time.monotonic() - began)

    fakekube_configured.thread(operator)
    fakekube_configured.advance(hours=1)
    assert waited == [900]


FIRST_IMPORT = """
import sys
from fakekube import FakeKube

async def operator(seen):
    from kubernetes_asyncio import client, config
    await config.load_kube_config()
    async with client.ApiClient() as api:
        created = await client.CoreV1Api(api).create_namespace({"metadata": {"name": "a"}})
        seen.append(created.metadata.creation_timestamp)

with FakeKube() as kube:
    kube.access.configure()
    assert "kubernetes_asyncio.client" not in sys.modules
    kube.task(operator(seen := []))
    kube.advance(1)
    assert seen == [kube.clock.epoch], seen
"""


@pytest.mark.slow
def test_a_client_that_is_first_imported_within_a_test_reads_dates():
    done = subprocess.run([sys.executable, "-Wignore", "-c", FIRST_IMPORT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
