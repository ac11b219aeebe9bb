"""What controllers of pods own: adoption, release, victims of a scale-down, failures, availability."""

import pytest

from fakekube.controllers.workload.podstate import condition
from tests.controllers.test_replicaset import replica_set
from tests.controllers.workloads import deployment, make_all_ready, pods, set_ready, template

SETS = pytest.mark.fakekube(controllers=["replicaset"])


def orphan(name="orphan", labels=None, **meta):
    meta = {"name": name, "namespace": "default", "labels": labels or {"app": "web"}, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template()["spec"]}


def owner_of(fakekube, name):
    return [one["name"] for one in fakekube.get("v1", "Pod", name)["metadata"].get("ownerReferences", ())]


def status(fakekube):
    return fakekube.get("apps/v1", "ReplicaSet", "web")["status"]


def begin(fakekube, replicas, **spec):
    made = replica_set(replicas)
    fakekube.create({**made, "spec": {**made["spec"], **spec}})
    fakekube.settle()


def scale(fakekube, replicas):
    fakekube.patch("apps/v1", "ReplicaSet", "web", {"spec": {"replicas": replicas}})
    fakekube.settle()


@SETS
def test_a_pod_without_a_controller_is_adopted(fakekube):
    fakekube.create(orphan())
    begin(fakekube, 2)
    assert owner_of(fakekube, "orphan") == ["web"]
    assert len(pods(fakekube)) == 2
    reference = fakekube.get("v1", "Pod", "orphan")["metadata"]["ownerReferences"][0]
    assert (reference["controller"], reference["blockOwnerDeletion"]) == (True, True)
    assert reference["uid"] == fakekube.get("apps/v1", "ReplicaSet", "web")["metadata"]["uid"]


@SETS
def test_an_orphan_that_appears_later_is_adopted_and_one_too_many_goes(fakekube):
    begin(fakekube, 2)
    make_all_ready(fakekube)
    fakekube.create(orphan())
    fakekube.settle()
    assert not fakekube.exists("v1", "Pod", "orphan")  # the one that is not ready
    assert len(pods(fakekube)) == 2


@SETS
@pytest.mark.parametrize(
    "made",
    [
        orphan(labels={"app": "other"}),
        orphan(ownerReferences=[{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": True}]),
    ],
)
def test_pods_of_others_are_left_alone(fakekube, made):
    fakekube.create(made)
    before = owner_of(fakekube, "orphan")
    begin(fakekube, 1)
    assert owner_of(fakekube, "orphan") == before
    assert len(fakekube.list("v1", "Pod")) == 2


@SETS
def test_ended_orphans_are_not_adopted(fakekube):
    fakekube.create(orphan())
    fakekube.patch("v1", "Pod", "orphan", {"status": {"phase": "Succeeded"}}, subresource="status")
    begin(fakekube, 1)
    assert owner_of(fakekube, "orphan") == []
    assert len(fakekube.list("v1", "Pod")) == 2


@SETS
def test_a_pod_whose_labels_change_is_released_and_replaced(fakekube):
    begin(fakekube, 2)
    name = pods(fakekube)[0]["metadata"]["name"]
    fakekube.patch("v1", "Pod", name, {"metadata": {"labels": {"app": "debug"}}})
    fakekube.settle()
    assert owner_of(fakekube, name) == []
    assert len(pods(fakekube, app="web")) == 2
    fakekube.patch("v1", "Pod", name, {"metadata": {"labels": {"app": "web"}}})
    fakekube.settle()
    assert len(pods(fakekube, app="web")) == 2
    assert not fakekube.exists("v1", "Pod", name) or owner_of(fakekube, name) == ["web"]


@SETS
def test_a_deleted_replica_set_keeps_its_orphans(fakekube):
    begin(fakekube, 1)
    (pod,) = pods(fakekube)
    fakekube.patch("apps/v1", "ReplicaSet", "web", {"metadata": {"finalizers": ["example.com/hold"]}})
    fakekube.delete("apps/v1", "ReplicaSet", "web")
    fakekube.create(orphan())
    fakekube.delete("v1", "Pod", pod["metadata"]["name"], gracePeriodSeconds=0)
    fakekube.settle()
    assert owner_of(fakekube, "orphan") == []
    assert [one["metadata"]["name"] for one in pods(fakekube)] == ["orphan"]


# --- which pods go


def bind(fakekube, pod, node):
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    meta = {"name": pod["metadata"]["name"], "namespace": "default"}
    fakekube.create({"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target})


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_pods_of_the_other_replica_sets_of_a_deployment_count_on_a_node(fakekube):
    """The old ReplicaSet's pod on node a makes the new one's pod there the first to go."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    fakekube.create(deployment(2, strategy=rolling))
    fakekube.settle()
    for pod in pods(fakekube):
        bind(fakekube, pod, "a")
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}
    fakekube.patch("apps/v1", "Deployment", "web", patch)
    fakekube.settle()
    new = [one for one in pods(fakekube) if one["spec"]["containers"][0]["image"] == "nginx:2"]
    bind(fakekube, new[0], "b")
    bind(fakekube, new[1], "a")
    for one in new:
        fakekube.patch("v1", "Pod", one["metadata"]["name"], {"status": {"phase": "Running"}}, subresource="status")
    fakekube.controllers["deployment"].suspend()
    name = new[0]["metadata"]["ownerReferences"][0]["name"]
    fakekube.patch("apps/v1", "ReplicaSet", name, {"spec": {"replicas": 1}})
    fakekube.settle()
    left = [one for one in pods(fakekube) if one["spec"]["containers"][0]["image"] == "nginx:2"]
    assert [one["spec"]["nodeName"] for one in left] == ["b"]


@SETS
def test_a_pod_that_is_being_deleted_is_replaced_at_once_and_counted_as_terminating(fakekube):
    begin(fakekube, 2)
    (first, _) = pods(fakekube)
    bind(fakekube, first, "a")
    fakekube.delete("v1", "Pod", first["metadata"]["name"])
    fakekube.settle()
    assert (len(pods(fakekube)), status(fakekube)["replicas"], status(fakekube)["terminatingReplicas"]) == (2, 2, 1)
    fakekube.delete("v1", "Pod", first["metadata"]["name"], gracePeriodSeconds=0)
    fakekube.settle()
    assert status(fakekube)["terminatingReplicas"] == 0


@SETS
def test_the_counts_of_pods_by_readiness_and_labels(fakekube):
    begin(fakekube, 3, minReadySeconds=10)
    for pod in pods(fakekube)[:2]:
        set_ready(fakekube, pod)
    fakekube.settle()
    found = status(fakekube)
    assert (found["readyReplicas"], found.get("availableReplicas"), found["fullyLabeledReplicas"]) == (2, None, 3)
    fakekube.advance(9)
    assert "availableReplicas" not in status(fakekube)
    fakekube.advance(1)
    assert status(fakekube)["availableReplicas"] == 2


def quota(pods_allowed):
    meta = {"name": "q", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta,
        "spec": {"hard": {"pods": str(pods_allowed)}},
    }


@pytest.mark.fakekube(controllers=["replicaset", "resourcequota"])
def test_a_creation_that_fails_is_a_condition_until_it_succeeds(fakekube):
    fakekube.create(quota(3))
    fakekube.settle()
    begin(fakekube, 20)
    fakekube.advance(1)
    assert len(pods(fakekube)) == 3
    failure = condition(fakekube.get("apps/v1", "ReplicaSet", "web"), "ReplicaFailure")
    assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
    assert "exceeded quota" in failure["message"]
    denied = fakekube.requests(verb="create", resource="pods", code=403)
    assert len(denied) < 40  # each reconcile ends with its first batch that fails
    fakekube.patch("v1", "ResourceQuota", "q", {"spec": {"hard": {"pods": "50"}}})
    fakekube.advance("20m")
    assert len(pods(fakekube)) == 20
    assert condition(fakekube.get("apps/v1", "ReplicaSet", "web"), "ReplicaFailure") is None


@pytest.mark.fakekube(controllers=["replicationcontroller"])
def test_replication_controllers_do_not_count_terminating_pods(fakekube):
    meta = {"name": "web", "namespace": "default"}
    spec = {"replicas": 2, "selector": {"app": "web"}, "template": template()}
    fakekube.create({"apiVersion": "v1", "kind": "ReplicationController", "metadata": meta, "spec": spec})
    fakekube.settle()
    assert len(pods(fakekube)) == 2
    assert fakekube.get("v1", "ReplicationController", "web")["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
    }
    fakekube.patch("v1", "ReplicationController", "web", {"spec": {"replicas": 0}})
    fakekube.settle()
    assert pods(fakekube) == []


# --- Deployments


DEPLOYMENTS = pytest.mark.fakekube(controllers=["deployment", "replicaset"])


def sizes(fakekube):
    found = fakekube.list("apps/v1", "ReplicaSet")
    images = {one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"] for one in found}
    return {image.removeprefix("nginx:"): size for image, size in sorted(images.items())}


def set_image(fakekube, image):
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
    fakekube.patch("apps/v1", "Deployment", "web", patch)
    fakekube.settle()


def rolling(surge, unavailable):
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def first_rollouts(fakekube, *images, replicas=10):
    fakekube.create(deployment(replicas, strategy=rolling(3, 2)))
    fakekube.settle()
    make_all_ready(fakekube)
    for image in images:
        set_image(fakekube, image)


@DEPLOYMENTS
def test_a_rollout_that_is_scaled_is_scaled_in_proportion(fakekube):
    first_rollouts(fakekube, "nginx:2")
    assert sizes(fakekube) == {"1": 8, "2": 5}
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 20}})
    fakekube.settle()
    # 23 pods are allowed: 8 * 23 / 13 = 14.2 and 5 * 23 / 13 = 8.8
    assert sizes(fakekube) == {"1": 14, "2": 9}


@DEPLOYMENTS
def test_three_replica_sets_are_scaled_in_proportion(fakekube):
    first_rollouts(fakekube, "nginx:2")
    new = [one for one in pods(fakekube) if one["spec"]["containers"][0]["image"] == "nginx:2"]
    for one in new[:2]:
        set_ready(fakekube, one)
    fakekube.settle()
    set_image(fakekube, "nginx:3")
    before = sizes(fakekube)
    assert sum(before.values()) == 13
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 23}})
    fakekube.settle()
    after = sizes(fakekube)
    assert sum(after.values()) == 26
    assert after == {image: 2 * size for image, size in before.items()}


@DEPLOYMENTS
def test_a_paused_deployment_is_scaled_but_not_rolled_out(fakekube):
    first_rollouts(fakekube, replicas=2)
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": True}})
    set_image(fakekube, "nginx:2")
    assert sizes(fakekube) == {"1": 2}
    assert condition(fakekube.get("apps/v1", "Deployment", "web"), "Progressing")["reason"] == "DeploymentPaused"
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 3}})
    fakekube.settle()
    assert sizes(fakekube) == {"1": 3}
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": False}})
    fakekube.settle()
    assert sizes(fakekube)["2"] > 0


@DEPLOYMENTS
def test_a_recreate_waits_until_all_old_pods_are_gone(fakekube):
    fakekube.create(deployment(2, strategy={"type": "Recreate"}))
    fakekube.settle()
    make_all_ready(fakekube)
    old = pods(fakekube)
    for pod in old:
        bind(fakekube, pod, "a")
    set_image(fakekube, "nginx:2")
    assert sizes(fakekube) == {"1": 0}
    for pod in old:
        assert "2" not in sizes(fakekube)
        fakekube.delete("v1", "Pod", pod["metadata"]["name"], gracePeriodSeconds=0)
        fakekube.settle()
    assert sizes(fakekube) == {"1": 0, "2": 2}


@DEPLOYMENTS
@pytest.mark.parametrize(
    ("revision", "image"), [("0", "nginx:2"), ("1", "nginx:1"), ("9", "nginx:3"), ("3", "nginx:3")]
)
def test_the_annotation_of_old_rolls_back(fakekube, revision, image):
    first_rollouts(fakekube, replicas=1)
    for one in ("nginx:2", "nginx:3"):
        set_image(fakekube, one)
        make_all_ready(fakekube)
    annotation = {"deprecated.deployment.rollback.to": revision}
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"annotations": annotation}})
    fakekube.settle()
    found = fakekube.get("apps/v1", "Deployment", "web")
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == image
    assert "pod-template-hash" not in found["spec"]["template"]["metadata"]["labels"]
    assert "deprecated.deployment.rollback.to" not in found["metadata"]["annotations"]
    reasons = {event["reason"] for event in fakekube.events() if "Rollback" in event["reason"]}
    expected = {"9": "DeploymentRollbackRevisionNotFound", "3": "DeploymentRollbackTemplateUnchanged"}
    assert reasons == {expected.get(revision, "DeploymentRollback")}


@DEPLOYMENTS
def test_old_replica_sets_beyond_the_limit_are_deleted_the_oldest_first(fakekube):
    fakekube.create(deployment(1, revisionHistoryLimit=1))
    fakekube.settle()
    for image in ("nginx:2", "nginx:3", "nginx:4"):
        make_all_ready(fakekube)
        set_image(fakekube, image)
    make_all_ready(fakekube)
    fakekube.advance(1)
    assert sizes(fakekube) == {"3": 0, "4": 1}


@DEPLOYMENTS
def test_a_saturated_rollout_that_is_paused_loses_its_old_pods(fakekube):
    fakekube.create(deployment(2, strategy=rolling(2, 0)))
    fakekube.settle()
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert sizes(fakekube) == {"1": 2, "2": 2}
    fakekube.controllers["deployment"].suspend()
    make_all_ready(fakekube)
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": True}})
    fakekube.controllers["deployment"].resume()
    fakekube.settle()
    assert sizes(fakekube) == {"1": 0, "2": 2}


@DEPLOYMENTS
def test_pods_that_are_not_available_go_first_and_no_more_than_the_limit_allows(fakekube):
    fakekube.create(deployment(10, strategy=rolling(0, 3)))
    fakekube.settle()
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert sizes(fakekube) == {"1": 7, "2": 3}
    fakekube.controllers["deployment"].suspend()
    old = [one for one in pods(fakekube) if one["spec"]["containers"][0]["image"] == "nginx:1"]
    for one in old[:3]:
        set_ready(fakekube, one, False)
    set_image(fakekube, "nginx:3")
    fakekube.controllers["deployment"].resume()
    fakekube.settle()
    assert sizes(fakekube) == {"1": 4, "2": 3, "3": 3}


@DEPLOYMENTS
def test_a_rollout_continues_as_new_pods_become_available(fakekube):
    fakekube.create(deployment(4, strategy=rolling(1, 1)))
    fakekube.settle()
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    found = [sizes(fakekube)]
    while found[-1] != {"1": 0, "2": 4}:
        waiting = [one for one in pods(fakekube) if one["spec"]["containers"][0]["image"] == "nginx:2"]
        waiting = [one for one in waiting if not one["status"].get("conditions")]
        set_ready(fakekube, waiting[0])
        fakekube.settle()
        found.append(sizes(fakekube))
    assert found == [{"1": 3, "2": 2}, {"1": 2, "2": 3}, {"1": 1, "2": 4}, {"1": 0, "2": 4}]


@DEPLOYMENTS
def test_only_changes_of_a_size_are_events(fakekube):
    fakekube.create(deployment(0))
    fakekube.settle()
    assert fakekube.events(reason="ScalingReplicaSet") == []
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 2}})
    fakekube.settle()
    make_all_ready(fakekube)
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"annotations": {"team": "a"}}})
    fakekube.settle()
    (found,) = fakekube.list("apps/v1", "ReplicaSet")
    name = found["metadata"]["name"]
    assert [one["message"] for one in fakekube.events(reason="ScalingReplicaSet")] == [
        f"Scaled up replica set {name} from 0 to 2"
    ]
    annotations = found["metadata"]["annotations"]
    assert (annotations["team"], annotations["deployment.kubernetes.io/desired-replicas"]) == ("a", "2")
    assert annotations["deployment.kubernetes.io/max-replicas"] == "3"


@SETS
def test_a_replica_set_observes_its_generation(fakekube):
    begin(fakekube, 1)
    scale(fakekube, 2)
    assert status(fakekube)["observedGeneration"] == 2
