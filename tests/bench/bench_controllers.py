"""How fast the cluster's own controllers bring pods up: `pytest tests/bench/bench_controllers.py`.

CPU seconds are counted. Goal: 1,000 workloads of 3 pods in under 30 s on one core.
"""

import time

import pytest

from fakekube import FakeKube

WORKLOADS, REPLICAS = 1_000, 3

pytestmark = pytest.mark.benchmark(timer=time.process_time, warmup=False)


def workload(number):
    labels = {"app": f"web-{number}"}
    container = {"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": f"web-{number}", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}


def test_pods_of_many_workloads_come_up(benchmark):
    def come_up():
        with FakeKube(controllers=["replicaset"], nodes=30, wall_clock=False) as kube:
            for number in range(WORKLOADS):
                kube.create(workload(number))
            kube.settle()
            kube.advance(10)
            ready = sum(one["status"].get("readyReplicas", 0) for one in kube.list("apps/v1", "ReplicaSet"))
            assert ready == WORKLOADS * REPLICAS

    benchmark.pedantic(come_up, rounds=1)
    seconds = benchmark.stats.stats.min
    benchmark.extra_info["pods per second"] = round(WORKLOADS * REPLICAS / seconds)
    assert seconds < 30
