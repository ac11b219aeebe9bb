"""How fast the cluster's own controllers bring pods up: `pytest tests/bench/bench_controllers.py`.

CPU seconds are counted. Goals on one core: 1,000 Deployments of 3 pods in under 12 s; a CronJob each minute for 24 hours,
whose Jobs do not end, in under 4 s.
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


def test_a_cron_job_each_minute_for_a_day(benchmark):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    meta = {"name": "often", "namespace": "default"}

    def run() -> None:
        with FakeKube(controllers=["cronjob"], wall_clock=False) as kube:
            kube.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec})
            kube.advance(hours=24)
            assert len(kube.list("batch/v1", "Job")) >= 24 * 60 - 1

    benchmark.pedantic(run, rounds=1)
