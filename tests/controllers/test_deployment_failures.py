"""The controller of Deployments: what it writes, and what happens when a write fails or the cache is stale."""

from itertools import pairwise

import pytest

from fakekube.controllers.workload.podstate import condition
from fakekube.controllers.workload.templatehash import template_hash
from tests.controllers.test_deployment import OTHER_OWNER
from tests.controllers.workloads import deployment, events_about, make_all_ready, pods, template

ALONE = pytest.mark.fakekube(controllers=["deployment"], rbac=True)
BOTH = pytest.mark.fakekube(controllers=["deployment", "replicaset"], rbac=True)


def get(fakekube, name="web"):
    return fakekube.get("apps/v1", "Deployment", name)


def sets(fakekube):
    """The ReplicaSets by their image."""
    found = fakekube.list("apps/v1", "ReplicaSet")
    return {one["spec"]["template"]["spec"]["containers"][0]["image"]: one for one in found}


def sizes(fakekube):
    return {image: one["spec"]["replicas"] for image, one in sets(fakekube).items()}


def change(fakekube, image=None, **spec):
    if image is not None:
        spec["template"] = {"spec": {"containers": [{"name": "c", "image": image}]}}
    fakekube.patch("apps/v1", "Deployment", "web", {"spec": spec})
    fakekube.settle()


def progress(fakekube):
    found = condition(get(fakekube), "Progressing")
    return None if found is None else (found["status"], found["reason"], found["message"])


# --- the new ReplicaSet


@ALONE
def test_the_new_replica_set(fakekube):
    made = deployment(3, minReadySeconds=5, template={**template(), "metadata": {"labels": {"app": "web", "x": "y"}}})
    stored = fakekube.create(made | {"metadata": {**made["metadata"], "annotations": {"note": "n"}}})
    fakekube.settle()
    ((one),) = fakekube.list("apps/v1", "ReplicaSet")
    hash = template_hash(stored["spec"]["template"])
    meta, spec = one["metadata"], one["spec"]
    labels = {"app": "web", "x": "y", "pod-template-hash": hash}
    assert (meta["name"], meta["labels"]) == (f"web-{hash}", labels)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": stored["metadata"]["uid"]}
    assert meta["ownerReferences"] == [{**reference, "controller": True, "blockOwnerDeletion": True}]
    assert meta["annotations"] == {
        "note": "n",
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert spec["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": hash}}
    assert (spec["replicas"], spec["minReadySeconds"]) == (3, 5)
    assert spec["template"]["metadata"]["labels"] == labels
    assert get(fakekube)["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert events_about(fakekube, "Deployment") == [
        ("Normal", "ScalingReplicaSet", f"Scaled up replica set web-{hash} from 0 to 3")
    ]
    assert progress(fakekube) == ("True", "NewReplicaSetCreated", f'Created new replica set "web-{hash}"')


@ALONE
def test_the_new_replica_set_follows_annotations_and_min_ready_seconds(fakekube):
    fakekube.create(deployment(0))
    fakekube.settle()
    assert events_about(fakekube, "Deployment") == []  # nothing was scaled
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"annotations": {"a": "1"}}})
    change(fakekube, minReadySeconds=7)
    (one,) = sets(fakekube).values()
    assert (one["metadata"]["annotations"]["a"], one["spec"]["minReadySeconds"]) == ("1", 7)
    change(fakekube, minReadySeconds=0)
    assert not sets(fakekube)["nginx:1"]["spec"].get("minReadySeconds")


@ALONE
def test_a_long_name_leaves_room_for_the_hash(fakekube):
    stored = fakekube.create(deployment(1, name="d" * 253))
    fakekube.settle()
    (one,) = fakekube.list("apps/v1", "ReplicaSet")
    hash = template_hash(stored["spec"]["template"])
    assert one["metadata"]["name"] == "d" * (252 - len(hash)) + "-" + hash


@ALONE
def test_a_lost_condition_of_progress_is_that_of_a_replica_set_that_was_found(fakekube):
    fakekube.create(deployment(1))
    fakekube.settle()
    (one,) = sets(fakekube).values()
    stored = get(fakekube)
    del stored["status"]["conditions"]
    fakekube.controllers["deployment"].suspend()
    fakekube.update(stored, subresource="status")
    fakekube.controllers["deployment"].reconcile_next()
    text = f'Found new replica set "{one["metadata"]["name"]}"'
    assert progress(fakekube) == ("True", "FoundNewReplicaSet", text)
    fakekube.controllers["deployment"].resume()


@ALONE
@pytest.mark.parametrize(("deadline", "noted"), [(600, True), (2**31 - 1, False)])
def test_a_creation_that_fails_is_a_condition_and_an_event(fakekube, deadline, noted):
    rule = fakekube.fault(verb="create", resource="replicasets", error=500)
    stored = fakekube.create(deployment(1, progressDeadlineSeconds=deadline))
    fakekube.advance("1s")
    name = f"web-{template_hash(stored['spec']['template'])}"
    event = events_about(fakekube, "Deployment")[0]
    assert event[:2] == ("Warning", "ReplicaSetCreateError")
    assert event[2].startswith(f'Failed to create new replica set "{name}": ')
    assert progress(fakekube) == (("False", *event[1:]) if noted else None)
    rule.disarm()
    fakekube.advance("20m")
    assert sizes(fakekube) == {"nginx:1": 1}
    assert events_about(fakekube, "Deployment")[-1] == (
        "Normal",
        "ScalingReplicaSet",
        f"Scaled up replica set {name} from 0 to 1",
    )
    if noted:
        assert progress(fakekube)[0] == "True" or progress(fakekube)[1] == "ProgressDeadlineExceeded"
    else:
        assert progress(fakekube) is None


@ALONE
def test_a_namespace_that_is_being_deleted_has_no_event_of_a_failed_creation(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
    controller = fakekube.controllers["deployment"]
    controller.suspend()
    fakekube.create(deployment(1) | {"metadata": {"name": "web", "namespace": "ending"}})
    fakekube.delete("v1", "Namespace", "ending", "")
    controller.resume()
    assert fakekube.requests(verb="create", resource="replicasets", code=403)
    assert events_about(fakekube, "Deployment") == []
    assert "conditions" not in fakekube.get("apps/v1", "Deployment", "web", "ending").get("status", {})


@ALONE
@pytest.mark.parametrize("image", ["nginx:1", "other:1"])
def test_a_replica_set_of_another_owner_is_a_collision_whatever_its_template(fakekube, image):
    controller = fakekube.controllers["deployment"]
    controller.suspend()
    stored = fakekube.create(deployment(1))
    name = f"web-{template_hash(stored['spec']['template'])}"
    taken = {**deployment(image=image), "kind": "ReplicaSet"}
    fakekube.create({**taken, "metadata": {"name": name, "namespace": "default", "ownerReferences": [OTHER_OWNER]}})
    controller.resume()
    fakekube.advance(1)
    found = {one["metadata"]["name"] for one in fakekube.list("apps/v1", "ReplicaSet")}
    assert get(fakekube)["status"]["collisionCount"] == 1
    assert found == {name, f"web-{template_hash(stored['spec']['template'], 1)}"}
    assert "ReplicaSetCreateError" not in [reason for _, reason, _ in events_about(fakekube, "Deployment")]


@ALONE
def test_a_replica_set_that_the_cache_does_not_have_yet_is_no_collision(fakekube):
    fakekube.settle()
    fakekube.faults.disturb_watches(resource="replicasets", delay="30s")
    fakekube.faults.cut_watches()
    fakekube.advance("1m")
    fakekube.create(deployment(2))
    fakekube.settle()
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"labels": {"again": "1"}}})
    fakekube.advance("10s")
    assert fakekube.requests(verb="create", resource="replicasets", code=409)
    assert fakekube.requests(verb="get", resource="replicasets", code=200)
    fakekube.advance("1m")
    assert sizes(fakekube) == {"nginx:1": 2}
    assert "collisionCount" not in get(fakekube)["status"]
    assert [reason for _, reason, _ in events_about(fakekube, "Deployment")] == ["ScalingReplicaSet"]


# --- sizes


@ALONE
def test_without_active_replica_sets_the_newest_one_is_scaled(fakekube):
    """A paused Deployment whose template has no ReplicaSet yet: the one that was created last follows its size."""
    fakekube.create(deployment(0, image="a:1"))
    for image in ("b:1", "c:1", "d:1"):
        fakekube.advance("2s")
        change(fakekube, image)
    change(fakekube, "e:1", paused=True, replicas=3)
    assert sizes(fakekube) == {"a:1": 0, "b:1": 0, "c:1": 0, "d:1": 3}
    change(fakekube, replicas=0)
    change(fakekube, "b:1")
    change(fakekube, replicas=2)
    assert sizes(fakekube) == {"a:1": 0, "b:1": 2, "c:1": 0, "d:1": 0}, "the new one, though it is older"


@ALONE
def test_the_events_and_annotations_of_sizes(fakekube):
    fakekube.create(deployment(2))
    fakekube.settle()
    change(fakekube, replicas=5)
    change(fakekube, replicas=1)
    (one,) = sets(fakekube).values()
    name, notes = one["metadata"]["name"], one["metadata"]["annotations"]
    assert [text for _, _, text in events_about(fakekube, "Deployment")] == [
        f"Scaled up replica set {name} from 0 to 2",
        f"Scaled up replica set {name} from 2 to 5",
        f"Scaled down replica set {name} from 5 to 1",
    ]
    assert notes["deployment.kubernetes.io/desired-replicas"] == "1"
    assert notes["deployment.kubernetes.io/max-replicas"] == "2"
    change(fakekube, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 9}}, replicas=2)
    (one,) = sets(fakekube).values()
    assert one["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "11"


# --- Recreate


RECREATE = {"type": "Recreate", "rollingUpdate": None}


@BOTH
@pytest.mark.parametrize(("phase", "waits"), [("Failed", False), ("Succeeded", False), ("Running", True)])
def test_a_recreate_waits_for_old_pods_that_have_not_ended(fakekube, phase, waits):
    fakekube.create(deployment(2, strategy=RECREATE))
    fakekube.settle()
    make_all_ready(fakekube)
    for pod in pods(fakekube):
        name = pod["metadata"]["name"]
        fakekube.patch("v1", "Pod", name, {"metadata": {"finalizers": ["example.com/hold"]}})
    change(fakekube, "nginx:2")
    assert sizes(fakekube) == {"nginx:1": 0}
    for pod in fakekube.list("v1", "Pod"):
        fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"status": {"phase": phase}}, subresource="status")
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"labels": {"again": "1"}}})
    fakekube.advance("5s")
    assert sizes(fakekube) == ({"nginx:1": 0} if waits else {"nginx:1": 0, "nginx:2": 2})


@ALONE
def test_a_recreate_waits_until_the_old_replica_sets_report_no_pods(fakekube):
    fakekube.create(deployment(2, strategy=RECREATE))
    fakekube.settle()
    name = sets(fakekube)["nginx:1"]["metadata"]["name"]
    report = lambda count: fakekube.patch(  # noqa: E731
        "apps/v1", "ReplicaSet", name, {"status": {"replicas": count}}, subresource="status"
    )
    report(1)
    change(fakekube, "nginx:2")
    assert sizes(fakekube) == {"nginx:1": 0}
    assert events_about(fakekube, "Deployment")[-1][2] == f"Scaled down replica set {name} from 2 to 0"
    report(0)
    fakekube.settle()
    assert sizes(fakekube) == {"nginx:1": 0, "nginx:2": 2}
    assert sets(fakekube)["nginx:2"]["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert sets(fakekube)["nginx:2"]["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "2"


@BOTH
def test_a_finished_recreate_deletes_its_history(fakekube):
    fakekube.create(deployment(1, strategy=RECREATE, revisionHistoryLimit=1))
    for image in ("nginx:1", "nginx:2", "nginx:3"):
        change(fakekube, image)
        make_all_ready(fakekube)
    assert sizes(fakekube) == {"nginx:2": 0, "nginx:3": 1}


# --- writes that fail


@BOTH
@pytest.mark.parametrize("error", [409, 500])
def test_a_rollout_goes_on_when_a_replica_set_could_not_be_scaled(fakekube, error):
    fakekube.create(deployment(2))
    fakekube.settle()
    make_all_ready(fakekube)
    old = sets(fakekube)["nginx:1"]["metadata"]["name"]
    fakekube.fault(verb="update", resource="replicasets", subresource="", name=old, error=error, times=1)
    change(fakekube, "nginx:2")
    make_all_ready(fakekube)
    fakekube.advance("5s")
    make_all_ready(fakekube)
    assert sizes(fakekube) == {"nginx:1": 0, "nginx:2": 2}
    assert progress(fakekube)[1] == "NewReplicaSetAvailable"


@BOTH
@pytest.mark.parametrize("how", ["gone", "fails"])
def test_a_history_that_cannot_be_deleted_is_tried_again(fakekube, how):
    fakekube.create(deployment(1, revisionHistoryLimit=0))
    fakekube.settle()
    make_all_ready(fakekube)
    old = sets(fakekube)["nginx:1"]["metadata"]["name"]
    gone = lambda: fakekube.delete("apps/v1", "ReplicaSet", old)  # noqa: E731
    fault = {"before": gone} if how == "gone" else {"error": 500}
    fakekube.fault(verb="delete", resource="replicasets", times=1, user_agent="kube-controller-manager*", **fault)
    change(fakekube, "nginx:2")
    make_all_ready(fakekube)
    fakekube.advance("5s")
    assert sizes(fakekube) == {"nginx:2": 1}
    errors = [error.code for error in fakekube.controllers["deployment"].errors("default/web")]
    assert (500 in errors, 404 in errors) == (how == "fails", False)


@BOTH
def test_a_deployment_that_is_being_deleted_only_has_its_status_written(fakekube):
    fakekube.create(deployment(1))
    fakekube.settle()
    fakekube.patch("apps/v1", "Deployment", "web", {"metadata": {"finalizers": ["example.com/hold"]}})
    fakekube.delete("apps/v1", "Deployment", "web")
    change(fakekube, "nginx:2", replicas=4)
    make_all_ready(fakekube)
    assert sizes(fakekube) == {"nginx:1": 1}
    found = get(fakekube)
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert found["status"]["readyReplicas"] == 1


@pytest.mark.fakekube(controllers=["deployment"])
def test_which_changes_of_replica_sets_reconcile_a_deployment(fakekube):
    fakekube.create(deployment(1))
    fakekube.settle()
    (made,) = fakekube.list("apps/v1", "ReplicaSet")
    owners = made["metadata"]["ownerReferences"]

    def count(change, *arguments):
        before = fakekube.controllers["deployment"].reconciles()
        change(*arguments)
        fakekube.settle()
        return fakekube.controllers["deployment"].reconciles() - before

    def copy(name, **meta):
        return {**made, "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}, **meta}}

    def patch(name, **meta):
        return fakekube.patch, "apps/v1", "ReplicaSet", name, {"metadata": meta}

    stranger = [{**owners[0], "uid": "u"}]
    assert count(fakekube.create, copy("of-another", ownerReferences=stranger)) == 0
    assert count(fakekube.create, copy("its-own", ownerReferences=owners)) > 0
    assert count(fakekube.create, copy("unlike", labels={"app": "db"})) == 0
    assert count(fakekube.create, copy("orphan", labels={"app": "web"})) > 0
    assert owners_of(fakekube, "orphan") == owners
    assert count(*patch("unlike", annotations={"a": "1"})) == 0
    assert count(*patch("unlike", labels={"app": "web"})) > 0
    assert owners_of(fakekube, "unlike") == owners
    assert count(*patch("its-own", annotations={"a": "1"})) > 0
    assert count(*patch("its-own", ownerReferences=stranger)) > 0
    assert count(*patch("its-own", annotations={"a": "2"})) == 0
    assert count(*patch("orphan", ownerReferences=None)) > 0
    assert owners_of(fakekube, "orphan") == owners
    assert count(fakekube.delete, "apps/v1", "ReplicaSet", "of-another") == 0
    assert count(fakekube.delete, "apps/v1", "ReplicaSet", "orphan") > 0


def owners_of(fakekube, name):
    return fakekube.get("apps/v1", "ReplicaSet", name)["metadata"]["ownerReferences"]


@pytest.mark.fakekube(controllers=["deployment"])
@pytest.mark.parametrize(("strategy", "looked"), [("Recreate", [0, 1]), ("RollingUpdate", [0, 0])])
def test_the_last_pod_that_is_deleted_reconciles_a_deployment_of_strategy_recreate(fakekube, strategy, looked):
    """`deployment_controller.go`: deletePod."""
    fakekube.create(deployment(1, strategy={"type": strategy}))
    fakekube.settle()
    (made,) = fakekube.list("apps/v1", "ReplicaSet")
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": made["metadata"]["name"]}
    reference |= {"uid": made["metadata"]["uid"], "controller": True}
    for name, owners in (("a", [reference]), ("b", [reference]), ("c", [{**reference, "uid": "u"}]), ("d", None)):
        meta = {"name": name, "namespace": "default", "labels": {"app": "web"}, "ownerReferences": owners}
        fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template()["spec"]})
    fakekube.settle()
    counts = [fakekube.controllers["deployment"].reconciles()]
    for name in ("c", "d", "a", "b"):
        fakekube.delete("v1", "Pod", name)
        fakekube.settle()
        counts.append(fakekube.controllers["deployment"].reconciles())
    assert [after - before for before, after in pairwise(counts)] == [0, 0, *looked]


@pytest.mark.fakekube(controllers=["deployment"])
def test_only_replica_sets_whose_present_spec_was_seen_are_deleted_from_the_history(fakekube):
    """`deployment_controller.go`: cleanupDeployment."""
    fakekube.create(deployment(0, revisionHistoryLimit=0))
    fakekube.settle()
    (made,) = fakekube.list("apps/v1", "ReplicaSet")
    fakekube.controllers["deployment"].suspend()
    for number, name in enumerate(("seen", "unseen"), 2):
        meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
        meta["ownerReferences"] = made["metadata"]["ownerReferences"]
        other = {**made["spec"]["template"], "spec": template(f"nginx:{number}")["spec"]}
        fakekube.create({**made, "metadata": meta, "spec": {**made["spec"], "template": other}})
    for name in (made["metadata"]["name"], "seen"):
        observed = {"status": {"replicas": 0, "observedGeneration": 1}}
        fakekube.patch("apps/v1", "ReplicaSet", name, observed, subresource="status")
    fakekube.controllers["deployment"].resume()
    fakekube.advance("1s")
    left = [one["metadata"]["name"] for one in fakekube.list("apps/v1", "ReplicaSet")]
    assert sorted(left) == sorted([made["metadata"]["name"], "unseen"])
