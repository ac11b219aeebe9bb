"""N7: a test that a hot loop has failed ends at once, with that error only."""

import asyncio
import itertools
import time

import kopf
import pytest

from fakekube import FakeKube
from fakekube.virtualtime import HotLoop

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
#: In a container, where freezegun does not find it.
REAL = [time.perf_counter]


def annotator(url):
    """An operator of kopf, each of whose writes triggers its next one."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_):
        return kopf.ConnectionInfo(server=url)

    @kopf.on.event("v1", "configmaps", registry=registry)
    async def count(patch, annotations, **_):
        patch.metadata.annotations["n"] = str(int(annotations.get("n", 0)) + 1)

    return kopf.operator(registry=registry, clusterwide=True)


async def drains(url):
    """Goes on for a while when it is cancelled, as an operator that drains its queues."""
    while True:
        try:
            for _ in itertools.count():
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            for _ in range(1_000_000):
                await asyncio.sleep(0)


@pytest.mark.slow
@pytest.mark.parametrize("operator", [annotator, drains])
def test_n7_a_hot_loop_does_not_go_on_in_the_tear_down(operator):
    kube = FakeKube().__enter__()
    kube.create(CONFIG_MAP)
    kube.task(operator(kube.access.url))
    with pytest.raises(HotLoop):
        kube.advance(10)
    begun = REAL[0]()
    kube.close()
    assert REAL[0]() - begun < 2
