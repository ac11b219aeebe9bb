"""The operator of dask-kubernetes (kopf and kr8s): jobs, clusters, groups of workers, and a timer for autoscaling."""

from collections import Counter
from pathlib import Path

import kopf
import pytest
from dask_kubernetes.operator.controller import controller

API = "kubernetes.dask.org/v1"
HOUR = 3600
PACKAGE = Path(controller.__file__).parent.parent
DEFINITIONS = PACKAGE / "deployment/helm/dask-kubernetes-operator/crds"
JOB = PACKAGE / "controller/tests/resources/simplejob.yaml"

#: What creates pods for Deployments, starts them, and removes the dependents of a deleted object.
CONTROLLERS = {"controllers": ["deployment", "replicaset", "garbagecollector", "scheduler", "kubelet"]}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fakekube(configure=True, **CONTROLLERS),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
]


def start(kube):
    kube.apply(DEFINITIONS)
    return kube.task(kopf.operator(namespaces=["default"], standalone=True), name="dask-kubernetes")


def scenario(kube):
    start(kube)
    kube.pods(name="simple-job-runner").always().exit_after("30m")
    kube.apply(JOB)
    kube.advance(hours=1)


def made(kube, agent):
    return Counter((r.verb, r.resource) for r in kube.requests() if r.user_agent.startswith(agent) and r.verb in WRITES)


WRITES = ("create", "delete", "patch", "update")


def status(kube):
    return kube.get(API, "DaskJob", "simple-job")["status"]


def test_a_job_has_a_cluster_until_it_ends(fakekube):
    start(fakekube)
    fakekube.pods(name="simple-job-runner").always().exit_after("2h")
    fakekube.apply(JOB)

    fakekube.advance(hours=1)
    began = f"{fakekube.clock.epoch:%Y-%m-%dT%H:%M}:01Z"
    assert status(fakekube) == {
        "clusterName": "simple-job",
        "jobRunnerPodName": "simple-job-runner",
        "jobStatus": "Running",
        "startTime": began,
    }
    names = Counter(p["metadata"]["labels"]["dask.org/component"] for p in fakekube.list("v1", "Pod"))
    assert names == {"scheduler": 1, "worker": 2, "job-runner": 1}
    assert made(fakekube, "kr8s") == {
        ("create", "daskclusters"): 1,
        ("create", "daskworkergroups"): 1,
        ("create", "deployments"): 3,
        ("create", "pods"): 1,
        ("create", "services"): 1,
        ("patch", "daskclusters"): 1,
        ("patch", "daskjobs"): 1,
        ("patch", "daskworkergroups"): 1,
    }

    fakekube.advance(hours=2)
    assert status(fakekube)["jobStatus"] == "Successful"
    assert status(fakekube)["endTime"] == f"{fakekube.clock.epoch:%Y-%m-%d}T02:00:01Z"
    (deleted,) = fakekube.requests(verb="delete", resource="daskclusters")
    assert deleted.at == 2 * HOUR + 1
    for kind in ("DaskCluster", "DaskWorkerGroup"):
        assert fakekube.list(API, kind) == []
    assert fakekube.list("apps/v1", "Deployment") == []
    assert [p["metadata"]["name"] for p in fakekube.list("v1", "Pod")] == ["simple-job-runner"]


def test_watches_again_every_two_minutes(fakekube):
    start(fakekube)
    fakekube.advance(hours=1)
    found = fakekube.requests(verb="watch", resource="daskclusters", user_agent=f"kopf/{kopf_version()}")
    assert [r.at for r in found] == list(range(0, HOUR + 1, 120))


def kopf_version():
    from importlib.metadata import version

    return version("kopf")


def test_a_failed_request_is_retried_after_a_minute(fakekube):
    start(fakekube)
    with fakekube.fault(verb="create", resource="daskclusters", error=500, times=1):
        fakekube.apply(JOB)
        fakekube.advance(minutes=2)
    assert [(r.code, r.at) for r in fakekube.requests(verb="create", resource="daskclusters")] == [(500, 0), (201, 60)]


def test_cancelled_it_does_nothing_more(fakekube):
    operator = start(fakekube)
    fakekube.apply(JOB)
    fakekube.advance(hours=1)
    operator.cancel()
    fakekube.settle()
    before = made(fakekube, "kopf") + made(fakekube, "kr8s")
    fakekube.delete(API, "DaskJob", "simple-job")
    fakekube.advance(hours=1)
    assert made(fakekube, "kopf") + made(fakekube, "kr8s") == before
