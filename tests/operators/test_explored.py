"""Exploring tests of published operators: a DaskJob that a crash leaves without pods, and a Dask worker too many."""

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.operators import test_dask_gateway as gateway
from tests.operators.test_dask_kubernetes import API, CONTROLLERS, JOB, start

#: The operator dies between the two patches with which kopf stores the result of a handler.
PLAN = "FK1 seed=0 crash@update djb/simple-job{metadata.annotations.kopf.zalando.org/last-handled-configuration}#1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
]


def job(left):
    """A scenario that adds the status of its job, and the number of pods, after an hour."""

    def scenario(kube):
        kube.access.configure()
        start(kube)
        kube.pods(name="simple-job-runner").always().exit_after("5m")
        kube.apply(JOB)
        kube.advance(hours=1)
        left.append((kube.get(API, "DaskJob", "simple-job").get("status"), len(kube.list("v1", "Pod"))))

    return ScenarioRunner(scenario, cluster={**CONTROLLERS, "wall_clock": True})


def test_a_crash_between_two_patches_of_kopf_leaves_a_dask_job_without_pods():
    left = []
    runner = job(left)
    found = Explorer(runner.run, Settings(runs=10, faults=["crash"]), lambda: runner.facts).explore()
    assert str(found.failed.reduced.plan) == PLAN
    assert str(found.failed.violation) == "O2: pod/simple-job-runner is absent at the end (the reference has it)"
    assert left[0][0]["jobStatus"] == "Successful"
    assert left[-1] == (None, 0)


def test_a_crash_after_the_deletion_of_its_cluster_leaves_a_dask_job_running():
    left = []
    job(left).run(parse_plan("FK1 seed=0 crash@delete daskcluster/simple-job#1"))
    ((status, _),) = left
    assert status["jobStatus"] == "Running"


def test_a_crash_after_the_creation_of_a_worker_of_dask_gateway_creates_one_more():
    def scenario(kube):
        kube.access.configure()
        gateway.start(kube)
        kube.create(gateway.cluster(replicas=1))
        kube.advance(minutes=1)

    runner = ScenarioRunner(scenario, cluster={**gateway.CONTROLLERS, "wall_clock": True})
    found = Explorer(runner.run, Settings(runs=10, faults=["crash"]), lambda: runner.facts).explore()
    assert str(found.failed.reduced.plan) == "FK1 seed=0 crash@create pod/dask-worker-a-*#1"
    assert str(found.failed.violation) == "O3: pod/dask-worker-a-* is created 2 times, in the reference once"
