"""N8: `kopf.testing.KopfRunner`, which runs kopf in a thread with an event loop of its own, is in virtual time."""

import threading
import time

import pytest
from kopf.testing import KopfRunner

from fakekube.harness.engine import engine_of

OPERATOR = """
import kopf
from kubernetes import client, config

@kopf.on.startup()
def configure(settings, **_):
    config.load_kube_config()
    settings.posting.enabled = False

@kopf.on.create("configmaps", labels={"app": "db"})
def create(name, namespace, **_):
    client.CoreV1Api().create_namespaced_secret(namespace, {"metadata": {"name": name}})

@kopf.timer("configmaps", labels={"app": "db"}, interval=900)
async def count(name, memo, logger, **_):
    memo.count = memo.get("count", 0) + 1
    print(f"{name} seen {memo.count}")
"""

DB = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db", "labels": {"app": "db"}}}

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")


@pytest.fixture
def arguments(tmp_path):
    path = tmp_path / "operator.py"
    path.write_text(OPERATOR)
    return ["run", "--all-namespaces", "--standalone", str(path)]


@pytest.mark.slow
def test_n8_kopf_runner_runs_in_virtual_time(fakekube_configured, arguments):
    kube = fakekube_configured
    with KopfRunner(arguments) as runner:
        kube.create(DB)
        time.sleep(3600)
        assert kube.exists("v1", "Secret", "db")
    assert kube.clock.monotonic() < 3610
    assert runner.exit_code == 0
    assert runner.exception is None
    assert [line for line in runner.output.splitlines() if "seen" in line] == [f"db seen {i}" for i in range(1, 6)]


@pytest.mark.slow
def test_n8_kopf_runner_settles(fakekube_configured, arguments):
    kube = fakekube_configured
    with KopfRunner(arguments):
        kube.settle()
        kube.create(DB)
        kube.settle()
        assert kube.exists("v1", "Secret", "db")


def test_n8_other_threads_of_a_test_stay_in_real_time(fakekube):
    started = threading.Event()
    thread = threading.Thread(target=started.set)
    thread.start()
    thread.join()
    assert engine_of(fakekube).bubble.loop.threads.is_empty()
    assert fakekube.clock.monotonic() == 0
