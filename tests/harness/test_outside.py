"""Code under test does not reach the cluster of the developer's kubeconfig, or other machines."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest
from kubernetes import client, config

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from fakekube import FakeKube
from fakekube.harness.connecting.outside import NO_CLUSTER, OutsideConnection
from tests.innerruns import LEAN

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: dev, cluster: {{server: "http://{host}:{port}"}}}}]
users: [{{name: dev, user: {{}}}}]
contexts: [{{name: dev, context: {{cluster: dev, user: dev}}}}]
current-context: dev
"""


@pytest.fixture(params=["environment", "home"])
def real(request, tmp_path, monkeypatch):
    """A listening socket that is the developer's cluster, in KUBECONFIG or in the home directory."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        path = tmp_path / ".kube" / "config"
        path.parent.mkdir()
        path.write_text(KUBECONFIG.format(host="127.0.0.1", port=server.getsockname()[1]))
        monkeypatch.setenv("HOME", str(tmp_path))
        if request.param == "environment":
            monkeypatch.setenv("KUBECONFIG", str(path))
        else:
            monkeypatch.delenv("KUBECONFIG", raising=False)
        yield server


def was_reached(server):
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def write():
    config.load_kube_config()
    client.CoreV1Api().create_namespaced_config_map("default", {"metadata": {"name": "oops"}})


def test_an_operator_does_not_reach_the_cluster_of_the_developer(real):
    with FakeKube() as kube:
        kube.thread(write)
        with pytest.raises(OutsideConnection, match="use the fixture fakekube_configured"):
            kube.settle()
    assert not was_reached(real)


def test_an_operator_with_the_path_of_its_kubeconfig_does_not_reach_it_either(real, tmp_path):
    def operator():
        config.load_kube_config(config_file=str(tmp_path / ".kube" / "config"))
        client.CoreV1Api().list_namespace()

    with FakeKube() as kube:
        kube.thread(operator)
        with pytest.raises(OutsideConnection, match=r"a cluster of .*config: use the fixture fakekube_configured"):
            kube.settle()
    assert not was_reached(real)


def test_a_refusal_that_the_operator_catches_fails_the_test(real):
    async def operator():
        while True:
            try:
                await asyncio.open_connection("127.0.0.1", real.getsockname()[1])
            except OSError:
                await asyncio.sleep(60)

    with FakeKube() as kube:
        kube.task(operator())
        with pytest.raises(OutsideConnection, match=r"would reach 127\.0\.0\.1"):
            kube.settle()
        kube.advance(600)  # once an address
    assert not was_reached(real)


def test_commands_that_code_under_test_runs_do_not_find_it(real):
    with FakeKube():
        found = subprocess.run(
            [sys.executable, "-c", "import os; print(os.environ['KUBECONFIG'])"], capture_output=True, text=True
        )
    assert found.stdout.strip() == str(NO_CLUSTER)


def test_what_was_hidden_is_restored(real, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    names = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
    before = [os.environ.get(name) for name in names], config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    with FakeKube() as kube:
        assert os.environ["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
        kube.access.configure()
        assert os.environ["KUBECONFIG"] != str(NO_CLUSTER)
    assert ([os.environ.get(name) for name in names], config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION) == before


def test_other_servers_of_this_machine_are_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, FakeKube(), socket.create_connection(server.getsockname()):
        server.accept()[0].close()


def test_another_machine_is_refused_by_its_address():
    def operator():
        socket.create_connection(("192.0.2.1", 443))

    with FakeKube() as kube:
        kube.thread(operator)
        with pytest.raises(OutsideConnection, match=r"192.0.2.1:443, a server outside .*real_connections=True"):
            kube.settle()


def test_p5_a_client_that_assumes_the_port_of_the_cluster_fails_the_test_once():
    def operator():
        for _ in range(10):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((os.environ["KUBERNETES_SERVICE_HOST"], 443))

    with FakeKube() as kube:
        kube.access.configure()
        kube.thread(operator)
        with pytest.raises(OutsideConnection, match=r"127.0.0.1:443, where nothing listens.*KUBERNETES_SERVICE_PORT"):
            kube.settle()
        kube.settle()


def test_p5_a_task_that_assumes_the_port_of_the_cluster_fails_the_test():
    async def operator():
        with pytest.raises(OSError):
            await asyncio.open_connection(os.environ["KUBERNETES_SERVICE_HOST"], 6443)

    with FakeKube() as kube:
        kube.access.configure()
        kube.task(operator())
        with pytest.raises(OutsideConnection, match=r"127.0.0.1:6443, where nothing listens"):
            kube.settle()


def test_p5_without_a_configured_cluster_port_443_is_refused_as_others_are():
    with FakeKube(), pytest.raises(ConnectionRefusedError) as refused:
        socket.create_connection(("127.0.0.1", 443))
    assert not isinstance(refused.value, OutsideConnection)


def test_the_test_itself_is_refused_where_it_connects():
    with FakeKube() as kube:
        with pytest.raises(OutsideConnection, match=r"192.0.2.1:443"):
            socket.create_connection(("192.0.2.1", 443))
        kube.settle()


def test_datagrams_are_no_connections():
    with FakeKube(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", 1))  # sends nothing
        assert sock.getpeername() == ("127.0.0.1", 1)


def test_real_connections_are_a_setting(real):
    with FakeKube(real_connections=True), socket.create_connection(real.getsockname()):
        assert was_reached(real)


@pytest.mark.slow
def test_a_variable_that_monkeypatch_restores_late_is_not_left_hidden(pytester, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/the/developers")
    pytester.makepyfile(
        """
        import os

        def test_patched(monkeypatch, fakekube):
            monkeypatch.setenv("KUBECONFIG", "/patched")

        def test_after():
            assert os.environ["KUBECONFIG"] == "/the/developers"
        """
    )
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=2)
