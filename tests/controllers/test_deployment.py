"""The controller of Deployments: rollouts, scaling, progress, history."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.controllers.workload.podstate import condition, is_ready
from fakekube.controllers.workload.templatehash import template_hash
from fakekube.harness.engine import engine_of
from tests.controllers.workloads import deployment, make_all_ready, pods, set_ready

pytestmark = pytest.mark.fakekube(controllers=["deployment", "replicaset"])


def replica_sets(fakekube):
    """The ReplicaSets by revision."""
    found = fakekube.list("apps/v1", "ReplicaSet")
    return {one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: one for one in found}


def status(fakekube):
    return fakekube.get("apps/v1", "Deployment", "web")["status"]


def progress(fakekube):
    found = condition(fakekube.get("apps/v1", "Deployment", "web"), "Progressing")
    return found["status"], found["reason"]


def set_image(fakekube, image):
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
    fakekube.patch("apps/v1", "Deployment", "web", patch)
    fakekube.settle()


def rolled_out(fakekube, **spec):
    fakekube.create(deployment(**spec))
    fakekube.settle()
    make_all_ready(fakekube)


def test_a_deployment_is_available_when_its_pods_are_ready(fakekube):
    rolled_out(fakekube, replicas=3)
    found = status(fakekube)
    assert (found["replicas"], found["readyReplicas"], found["availableReplicas"]) == (3, 3, 3)
    assert "unavailableReplicas" not in found
    assert progress(fakekube) == ("True", "NewReplicaSetAvailable")
    assert [event["message"] for event in fakekube.events(reason="ScalingReplicaSet")] == [
        f"Scaled up replica set {replica_sets(fakekube)['1']['metadata']['name']} from 0 to 3"
    ]


def test_progress_deadline_is_exceeded_one_second_after_ten_minutes(fakekube):
    fakekube.create(deployment(replicas=1))
    fakekube.settle()
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: progress(fakekube)[0] == "False", "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=601)
    assert progress(fakekube) == ("False", "ProgressDeadlineExceeded")
    before = len(fakekube.requests(verb="update"))
    fakekube.advance(hours=24)
    assert len(fakekube.requests(verb="update")) == before


def test_min_ready_seconds_delay_availability(fakekube):
    fakekube.create(deployment(replicas=2, minReadySeconds=30))
    fakekube.settle()
    begun = fakekube.clock.now()
    for pod in pods(fakekube):
        set_ready(fakekube, pod)
    fakekube.settle()
    assert status(fakekube)["readyReplicas"] == 2
    assert status(fakekube)["unavailableReplicas"] == 2
    fakekube.advance_until(lambda: status(fakekube).get("availableReplicas") == 2, "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=30)


@pytest.mark.slow
def test_rolling_update_of_100_replicas_whose_pods_take_a_minute(fakekube):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 10, "maxUnavailable": 0}}
    rolled_out(fakekube, replicas=100, strategy=strategy)
    begun = fakekube.clock.now()
    set_image(fakekube, "nginx:2")
    while progress(fakekube)[1] != "NewReplicaSetAvailable":
        assert len(pods(fakekube)) <= 110
        fakekube.advance(minutes=1)
        for pod in pods(fakekube):
            if not is_ready(pod):
                set_ready(fakekube, pod)
        fakekube.settle()
    assert fakekube.clock.now() - begun == timedelta(minutes=10)
    assert replica_sets(fakekube)["1"]["spec"]["replicas"] == 0
    assert replica_sets(fakekube)["2"]["status"]["availableReplicas"] == 100


def test_recreate_waits_until_the_old_pods_are_gone(fakekube):
    rolled_out(fakekube, replicas=2, strategy={"type": "Recreate"})
    blocked = pods(fakekube)[0]["metadata"]["name"]
    fakekube.patch("v1", "Pod", blocked, {"metadata": {"finalizers": ["example.com/wait"]}})
    set_image(fakekube, "nginx:2")
    assert "2" not in replica_sets(fakekube)
    fakekube.patch("v1", "Pod", blocked, {"metadata": {"finalizers": None}})
    fakekube.settle()
    assert replica_sets(fakekube)["2"]["spec"]["replicas"] == 2
    assert len(pods(fakekube)) == 2


def test_a_former_template_uses_its_replica_set_again(fakekube):
    rolled_out(fakekube, replicas=1)
    for image in ("nginx:2", "nginx:1"):
        set_image(fakekube, image)
        make_all_ready(fakekube)
    found = replica_sets(fakekube)
    assert sorted(found) == ["2", "3"]
    assert found["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


@pytest.mark.slow
def test_history_limit_deletes_the_oldest_replica_sets(fakekube):
    rolled_out(fakekube, replicas=1, revisionHistoryLimit=2)
    for number in range(2, 7):
        set_image(fakekube, f"nginx:{number}")
        make_all_ready(fakekube)
    assert sorted(replica_sets(fakekube)) == ["4", "5", "6"]


def test_a_paused_deployment_is_scaled_but_not_rolled_out(fakekube):
    rolled_out(fakekube, replicas=2)
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": True, "replicas": 4}})
    set_image(fakekube, "nginx:2")
    assert progress(fakekube) == ("Unknown", "DeploymentPaused")
    assert list(replica_sets(fakekube)) == ["1"]
    assert len(pods(fakekube)) == 4
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": False}})
    fakekube.settle()
    make_all_ready(fakekube)
    assert progress(fakekube) == ("True", "NewReplicaSetAvailable")
    assert replica_sets(fakekube)["2"]["spec"]["replicas"] == 4


def test_rollback_annotation_returns_to_the_former_template(fakekube):
    rolled_out(fakekube, replicas=1)
    set_image(fakekube, "nginx:2")
    make_all_ready(fakekube)
    undo = {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "0"}}}
    fakekube.patch("apps/v1", "Deployment", "web", undo)
    fakekube.settle()
    found = fakekube.get("apps/v1", "Deployment", "web")
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    assert "deprecated.deployment.rollback.to" not in found["metadata"]["annotations"]
    assert fakekube.events(reason="DeploymentRollback")[0]["message"] == 'Rolled back deployment "web" to revision 1'


def test_a_replica_set_of_the_same_name_with_another_template_is_a_collision(fakekube):
    fakekube.controllers["deployment"].suspend()
    stored = fakekube.create(deployment(replicas=1))
    name = f"web-{template_hash(stored['spec']['template'])}"
    taken = {**deployment(image="other:1"), "kind": "ReplicaSet"}
    del taken["spec"]["replicas"]
    fakekube.create({**taken, "metadata": {"name": name, "namespace": "default", "ownerReferences": [OTHER_OWNER]}})
    fakekube.controllers["deployment"].resume()
    fakekube.advance(1)
    assert status(fakekube)["collisionCount"] == 1
    found = fakekube.list("apps/v1", "ReplicaSet")
    assert sorted(one["metadata"]["name"] == name for one in found) == [False, True]


OTHER_OWNER = {
    "apiVersion": "example.com/v1",
    "kind": "Owner",
    "name": "other",
    "uid": "00000000-0000-4000-8000-000000000000",
    "controller": True,
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    replicas=st.integers(1, 8),
    surge=st.sampled_from([0, 1, 3, "25%", "100%"]),
    unavailable=st.sampled_from([0, 1, 2, "25%"]),
    actions=st.lists(st.tuples(st.sampled_from(["image", "ready", "unready"]), st.integers(0, 7)), max_size=12),
)
def test_rollouts_stay_within_surge_and_unavailability_at_each_commit(replicas, surge, unavailable, actions):
    """No commit of a controller has more pods than the surge allows, or deletes a ready pod that is needed."""
    if surge == unavailable == 0:
        unavailable = 1
    with FakeKube(controllers=["deployment", "replicaset"], wall_clock=False) as fakekube:
        rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
        rolled_out(fakekube, replicas=replicas, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
        most = replicas + pods_of(surge, replicas, up=True)
        least = replicas - max(pods_of(unavailable, replicas, up=False), 0 if pods_of(surge, replicas, up=True) else 1)
        broken = []

        def check(change):
            if change.collection == "replicasets.apps":
                asked = sum(one["spec"]["replicas"] for one in fakekube.list("apps/v1", "ReplicaSet"))
                if asked > most:
                    broken.append(f"{asked} pods are asked for, {most} allowed")
            gone = change.after is None and change.collection == "pods"
            if gone and is_ready(change.before.object):
                ready = sum(map(is_ready, pods(fakekube)))
                if ready < least:
                    broken.append(f"a ready pod was deleted, {ready} are left of {least}")

        engine_of(fakekube).server.on_write(check)
        for number, (action, which) in enumerate(actions):
            if action == "image":
                set_image(fakekube, f"nginx:{number + 2}")
            elif present := pods(fakekube):
                set_ready(fakekube, present[which % len(present)], action == "ready")
                fakekube.settle()
        make_all_ready(fakekube)
        assert broken == []
        assert progress(fakekube) == ("True", "NewReplicaSetAvailable")


def pods_of(value, total, *, up):
    if isinstance(value, int):
        return value
    percent = int(value[:-1]) * total
    return -(-percent // 100) if up else percent // 100


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_a_finished_rollout_whose_pods_fail_after_the_deadline_is_not_checked_again_and_again(fakekube):
    rolled_out(fakekube)
    make_all_ready(fakekube)
    assert progress(fakekube) == ("True", "NewReplicaSetAvailable")
    fakekube.advance(minutes=11)
    before = fakekube.controllers["deployment"].reconciles()
    for pod in pods(fakekube):
        set_ready(fakekube, pod, ready=False)
    fakekube.advance(minutes=1)
    assert progress(fakekube) == ("True", "NewReplicaSetAvailable")
    assert fakekube.controllers["deployment"].reconciles() - before < 10
