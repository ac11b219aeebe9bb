"""The controller of ReplicaSets, and how a test holds and steps a controller of the cluster."""

import pytest

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}


def replica_set(replicas):
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}


@pytest.mark.fakekube(controllers=["replicaset"], rbac=True)
def test_a_replicaset_has_its_pods_after_settling(fakekube):
    fakekube.create(replica_set(3))
    fakekube.settle()
    assert len(fakekube.list("v1", "Pod")) == 3
    status = fakekube.get("apps/v1", "ReplicaSet", "web")["status"]
    assert status == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "observedGeneration": 1,
        "terminatingReplicas": 0,
    }
    users = {record.user for record in fakekube.requests(verb="create", resource="pods")}
    assert users == {"system:serviceaccount:kube-system:replicaset-controller"}


@pytest.mark.fakekube(controllers=["replicaset"])
def test_a_held_controller_reconciles_one_key_for_each_step(fakekube):
    fakekube.create(replica_set(3))
    fakekube.settle()
    controller = fakekube.controllers["replicaset-controller"]
    controller.suspend()
    fakekube.patch("apps/v1", "ReplicaSet", "web", {"spec": {"replicas": 1}})
    fakekube.settle()
    assert len(fakekube.list("v1", "Pod")) == 3
    assert controller.ready == ["default/web"]
    stepped = controller.reconcile_next()
    assert stepped.key == "default/web"
    assert len(fakekube.list("v1", "Pod")) == 1
    controller.resume()
    assert controller.ready == []
    assert fakekube.get("apps/v1", "ReplicaSet", "web")["status"]["replicas"] == 1


@pytest.mark.fakekube(controllers=["replicaset"])
def test_a_step_without_a_due_key_is_none(fakekube):
    assert fakekube.controllers["replicaset"].reconcile_next() is None


@pytest.mark.fakekube(controllers=["replicaset"])
async def test_steps_are_awaited_in_an_async_test(fakekube):
    controller = fakekube.controllers["replicaset"]
    controller.suspend()
    fakekube.create(replica_set(1))
    stepped = await controller.reconcile_next()
    assert stepped.number == 1
    assert len(fakekube.list("v1", "Pod")) == 1


def test_a_controller_that_does_not_run_is_a_key_error(fakekube):
    with pytest.raises(KeyError, match="select it with controllers="):
        fakekube.controllers["replicaset"]
