"""How fast the cluster's own controllers bring pods up: `pytest tests/bench/bench_controllers.py`.

CPU seconds are counted. Goal: 1,000 Deployments of 3 pods in under 30 s on one core.
"""

import time

import pytest

from fakekube import FakeKube

DEPLOYMENTS, REPLICAS = 1_000, 3

pytestmark = pytest.mark.benchmark(timer=time.process_time, warmup=False)


def deployment(number):
    labels = {"app": f"web-{number}"}
    container = {"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": f"web-{number}", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


@pytest.mark.parametrize("controllers", [["deployment", "replicaset"], ["*"]], ids=["two", "all"])
def test_deployments_come_up(benchmark, controllers):
    def come_up():
        with FakeKube(controllers=controllers, nodes=30, wall_clock=False) as kube:
            for number in range(DEPLOYMENTS):
                kube.create(deployment(number))
            kube.settle()
            kube.advance(10)
            ready = sum(one["status"].get("readyReplicas", 0) for one in kube.list("apps/v1", "Deployment"))
            assert ready == DEPLOYMENTS * REPLICAS

    benchmark.pedantic(come_up, rounds=1)
    seconds = benchmark.stats.stats.min
    benchmark.extra_info["pods per second"] = round(DEPLOYMENTS * REPLICAS / seconds)
    assert seconds < 30
