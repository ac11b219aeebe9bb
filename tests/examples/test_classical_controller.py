"""The hand-written controller of `classical_controller.py` under virtual time."""

import pytest

from controllerlib import Client
from tests.examples.classical_controller import PodController


def pod(name, node=""):
    spec = {"containers": [{"name": "main", "image": "app:1"}], **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.fixture
def attempts():
    return []


@pytest.fixture
def controller(fakekube, attempts):
    """The controller, running; its sync fails for every pod called `broken`."""

    async def sync(key, found):
        attempts.append((round(fakekube.clock.monotonic() * 1000), key, found is not None))
        if key.endswith("/broken"):
            raise RuntimeError("cannot be helped")

    made = PodController(Client(fakekube.access.transport(), user_agent="classical"), sync)
    fakekube.task(made.run(), name="pod controller")
    return made


def test_syncs_what_is_there_and_what_comes(fakekube, controller, attempts):
    fakekube.create(pod("a"))
    fakekube.settle()
    fakekube.create(pod("b", node="n1"))
    fakekube.settle()
    assert attempts == [(0, "default/a", True), (0, "default/b", True)]
    assert [found["metadata"]["name"] for found in controller.informer.indexer.by_index("node", "n1")] == ["b"]


def test_gives_up_after_five_retries(fakekube, controller, attempts):
    fakekube.create(pod("broken"))
    fakekube.advance(hours=1)
    assert [at for at, _, _ in attempts] == [0, 5, 15, 35, 75, 155]
    assert controller.given_up == ["default/broken"]
    assert controller.queue.num_requeues("default/broken") == 0


def test_a_deleted_pod_is_synced_once_more(fakekube, controller, attempts):
    fakekube.create(pod("a"))
    fakekube.settle()
    fakekube.delete("v1", "Pod", "a")
    fakekube.settle()
    assert attempts[0] == (0, "default/a", True)
    assert attempts[-1] == (0, "default/a", False)


def test_a_cut_watch_loses_nothing(fakekube, controller, attempts):
    fakekube.create(pod("a"))
    fakekube.settle()
    fakekube.faults.cut_watches()
    fakekube.create(pod("b"))
    fakekube.advance(minutes=2)
    assert "default/b" in [key for _, key, _ in attempts]
    assert len(controller.informer.indexer) == 2
