"""Exploring the test of a published operator: a DaskJob of dask-kubernetes that a crash leaves without pods for ever."""

import pytest

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.scenario import ScenarioRunner
from tests.operators.test_dask_kubernetes import API, CONTROLLERS, JOB, start

#: The operator dies between the two patches with which kopf stores the result of a handler.
PLAN = "FK1 seed=0 crash@update djb/simple-job{metadata.annotations.kopf.zalando.org/last-handled-configuration}#1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
]


def test_a_crash_between_two_patches_of_kopf_leaves_a_dask_job_without_pods():
    left = []

    def scenario(kube):
        kube.access.configure()
        start(kube)
        kube.pods(name="simple-job-runner").always().exit_after("5m")
        kube.apply(JOB)
        kube.advance(hours=1)
        left.append((kube.get(API, "DaskJob", "simple-job").get("status"), len(kube.list("v1", "Pod"))))

    runner = ScenarioRunner(scenario, cluster={**CONTROLLERS, "wall_clock": True})
    found = Explorer(runner.run, Settings(runs=10, faults=["crash"]), lambda: runner.facts).explore()
    assert str(found.failed.reduced.plan) == PLAN
    assert str(found.failed.violation) == "O2: pod/simple-job-runner is absent at the end (the reference has it)"
    assert left[0][0]["jobStatus"] == "Successful"
    assert left[-1] == (None, 0)
