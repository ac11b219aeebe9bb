"""A cluster with controllers and nodes: rollouts, pods that crash, a node that is lost, a controller step by step."""

from datetime import timedelta
from pathlib import Path

import pytest

WEB = Path(__file__).parent / "web" / "deployment.yaml"


def image(name):
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": name}]}}}}


@pytest.mark.fakekube(controllers=["*"], nodes=2)
def test_a_rollout_waits_for_slow_pods(fakekube):
    fakekube.pods("app=web").always().start_after("90s")
    fakekube.apply(WEB)
    fakekube.advance(minutes=1)
    assert fakekube.get("apps/v1", "Deployment", "web")["status"]["unavailableReplicas"] == 3
    fakekube.advance(minutes=1)
    assert fakekube.get("apps/v1", "Deployment", "web")["status"]["readyReplicas"] == 3


@pytest.mark.fakekube(controllers=["*"], nodes=2)
def test_a_rollout_that_fails_keeps_the_old_pods(fakekube):
    fakekube.apply(WEB)
    fakekube.advance(minutes=1)
    fakekube.pods("app=web").always().crash(exit_code=2)
    fakekube.patch("apps/v1", "Deployment", "web", image("example.com/web:2"))
    fakekube.advance(minutes=11)
    conditions = {c["type"]: c for c in fakekube.get("apps/v1", "Deployment", "web")["status"]["conditions"]}
    assert conditions["Progressing"]["reason"] == "ProgressDeadlineExceeded"


@pytest.mark.fakekube(controllers=["*"], nodes=2)
def test_pods_of_a_lost_node_run_on_another_after_five_minutes(fakekube):
    fakekube.apply(WEB)
    fakekube.advance(minutes=1)
    lost = fakekube.list("v1", "Pod")[0]["spec"]["nodeName"]
    fakekube.nodes[lost].lose()
    fakekube.advance(minutes=7)
    living = [pod for pod in fakekube.list("v1", "Pod") if "deletionTimestamp" not in pod["metadata"]]
    assert len(living) == 3
    assert lost not in {pod["spec"]["nodeName"] for pod in living}


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_a_controller_step_by_step(fakekube):
    deployment = fakekube.controllers["deployment"]
    deployment.suspend()
    fakekube.apply(WEB)
    fakekube.settle()
    assert fakekube.list("apps/v1", "ReplicaSet") == []
    step = deployment.reconcile_next()
    assert step.key == "default/web"
    assert len(fakekube.list("apps/v1", "ReplicaSet")) == 1
    deployment.resume()
    assert len(fakekube.list("v1", "Pod")) == 3
    assert deployment.times("default/web")[0] == timedelta(0)
