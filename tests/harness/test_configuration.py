"""What `fakekube_configured` changes is restored after the test."""

import os
import textwrap

import pytest
from kubernetes import client
from kubernetes.config import incluster_config, kube_config

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from fakekube import FakeKube
from tests.innerruns import LEAN


def test_f6_everything_is_restored(pytester):
    before = os.environ.get("KUBECONFIG"), kube_config.KUBE_CONFIG_DEFAULT_LOCATION, client.Configuration._default
    pytester.makepyfile(
        """
        from kubernetes import config

        def test_configured(fakekube_configured):
            config.load_kube_config()
        """
    )
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=1)
    assert (os.environ.get("KUBECONFIG"), kube_config.KUBE_CONFIG_DEFAULT_LOCATION) == before[:2]
    assert client.Configuration._default is before[2]
    assert "KUBERNETES_SERVICE_HOST" not in os.environ
    assert "/var/run/secrets" in incluster_config.SERVICE_TOKEN_FILENAME


def test_p5_the_variables_are_those_of_a_pod(fakekube_configured):
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    found = {name: value for name, value in os.environ.items() if name.startswith("KUBERNETES_")}
    assert found == {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
        "KUBERNETES_PORT": f"tcp://{host}:{port}",
        "KUBERNETES_PORT_443_TCP": f"tcp://{host}:{port}",
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": port,
        "KUBERNETES_PORT_443_TCP_ADDR": host,
    }


def test_p5_the_variables_of_the_pod_in_which_tests_run_are_hidden(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT_HTTPS", "443")
    with FakeKube():
        assert os.environ["KUBERNETES_SERVICE_PORT_HTTPS"] == "1"
        assert os.environ["KUBERNETES_PORT_443_TCP"] == "tcp://127.0.0.1:1"
    assert os.environ["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert "KUBERNETES_PORT_443_TCP" not in os.environ


LATE = """
    import sys
    import pytest

    for name in [name for name in sys.modules if name.partition(".")[0] in ("kubernetes", "kubernetes_asyncio")]:
        del sys.modules[name]

    @pytest.mark.parametrize("client", ["kubernetes", "kubernetes_asyncio"])
    @pytest.mark.fakekube(configure=True, wall_clock={wall_clock})
    def test_late(fakekube, client):
        assert client not in sys.modules
        __import__(client)
        from importlib import import_module

        config = import_module(f"{{client}}.config")
        config.load_incluster_config()
        configuration = import_module(f"{{client}}.client").Configuration.get_default_copy()
        assert configuration.host.startswith("https://127.0.0.1:")
        assert fakekube.exists("v1", "Namespace", "default")

    def test_afterwards():
        from kubernetes.client import Configuration
        from kubernetes.config import incluster_config

        assert "/var/run/secrets" in incluster_config.SERVICE_TOKEN_FILENAME
        assert Configuration._default is None
"""


@pytest.mark.slow
@pytest.mark.parametrize("wall_clock", [True, False])
def test_clients_that_are_imported_during_the_test_find_the_service_account(pytester, wall_clock):
    pytester.makepyfile(textwrap.dedent(LATE).format(wall_clock=wall_clock))
    pytester.runpytest_subprocess(*LEAN).assert_outcomes(passed=3)
