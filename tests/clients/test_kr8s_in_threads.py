"""The sync API of kr8s in threads: its event loop, one a process, is under the cluster's clock."""

import time

import kr8s
import pytest
from cachetools import TTLCache
from kr8s.objects import ConfigMap

from fakekube import FakeKube

pytestmark = [
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.fakekube(configure=True, detect={"poll-list": "off"}),
    # kr8s never closes its clients
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _kr8s_keeps_no_client():
    """It keeps the last one with the resources that it has found."""
    yield
    for cell in kr8s.Api.async_api_resources.__closure__:
        if isinstance(cell.cell_contents, TTLCache):
            cell.cell_contents.clear()


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def polling(log):
    """An operator that looks each ten minutes, and marks what it sees."""

    def run():
        while True:
            for found in kr8s.get("configmaps", namespace="default"):
                if not found.labels.get("seen"):
                    found.label({"seen": "yes"})
                    log.append((found.name, round(time.monotonic() - began)))
            time.sleep(600)

    began = time.monotonic()
    return run


def watching(log):
    def run():
        for kind, found in kr8s.watch("configmaps", namespace="default"):
            log.append((kind, found.name, round(time.monotonic() - began)))

    began = time.monotonic()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2], ids=["first", "second"])
def test_a_thread_polls_in_each_cluster(fakekube, number):
    thread = fakekube.thread(polling(log := []))
    for name in "ab":
        fakekube.advance(minutes=24)
        fakekube.create(config_map(name))
    fakekube.advance(minutes=24)
    assert log == [("a", 1800), ("b", 3000)]
    assert [r.at for r in fakekube.requests(verb="list", resource="configmaps")] == list(range(0, 4320, 600))
    assert thread.is_alive()


@pytest.mark.slow
def test_a_thread_watches(fakekube):
    fakekube.thread(watching(log := []))
    for name in "ab":
        fakekube.advance(minutes=24)
        fakekube.create(config_map(name))
    fakekube.delete("v1", "ConfigMap", "a")
    fakekube.settle()
    assert log == [("ADDED", "a", 1440), ("ADDED", "b", 2880), ("DELETED", "a", 2880)]


@pytest.mark.slow
def test_the_test_uses_it_as_well(fakekube):
    ConfigMap(config_map("a")).create()
    fakekube.thread(polling(log := []))
    fakekube.advance(minutes=15)
    assert [found.name for found in kr8s.get("configmaps", namespace="default")] == ["a"]
    assert log == [("a", 0)]


@pytest.mark.slow
def test_two_operators_have_event_loops_of_their_own(fakekube):
    killed, left = fakekube.thread(polling(log := [])), fakekube.thread(polling(others := []))
    fakekube.advance(minutes=5)
    fakekube.kill(killed)
    fakekube.create(config_map("a"))
    fakekube.advance(minutes=10)
    assert (log, others) == ([], [("a", 600)])
    assert left.is_alive()


@pytest.mark.slow
def test_runs_give_the_same_log():
    def run():
        with FakeKube(seed=1, detect={"all": "off"}) as kube:
            kube.access.configure()
            kube.thread(polling([]))
            kube.thread(watching([]))
            for name in "ab":
                kube.create(config_map(name))
                kube.advance(hours=1)
            return kube.log()

    assert len({run() for _ in range(3)}) == 1
