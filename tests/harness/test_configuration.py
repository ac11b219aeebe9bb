"""What `fakekube_configured` changes is restored after the test."""

import os

from kubernetes import client
from kubernetes.config import incluster_config, kube_config

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
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
