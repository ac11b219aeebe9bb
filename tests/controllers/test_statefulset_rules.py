"""The identity and the claims of a StatefulSet's pods, the order of its pods, its revisions."""

import pytest

from fakekube.controllers.apps.controllerrevision import in_order, is_same_revision, with_revision
from fakekube.controllers.apps.statefulset.podidentity import (
    claims,
    has_identity,
    has_storage,
    identified,
    new_pod,
    ordinals,
)
from fakekube.controllers.apps.statefulset.retention import has_stale_owner, is_up_to_date, with_owners
from tests.controllers.test_statefulset import (
    change,
    claim_template,
    image_of,
    names,
    set_image,
    stateful_set,
    status,
)
from tests.controllers.workloads import make_all_ready, pods, set_ready

SETS = pytest.mark.fakekube(controllers=["statefulset"])


def a_set(replicas=2, start=None, policy=None, templates=("data",)):
    found = stateful_set(replicas, volumeClaimTemplates=[claim_template(name) for name in templates])
    found["metadata"]["uid"] = "set"
    if start is not None:
        found["spec"]["ordinals"] = {"start": start}
    if policy is not None:
        when = dict(zip(("whenDeleted", "whenScaled"), policy, strict=True))
        found["spec"]["persistentVolumeClaimRetentionPolicy"] = when
    return found


def a_pod(number, uid="pod"):
    return {"metadata": {"name": f"web-{number}", "uid": uid, "namespace": "default"}, "spec": {}}


# --- identity


@pytest.mark.parametrize(
    ("replicas", "start", "expected"), [(2, None, [0, 1]), (2, 5, [5, 6]), (0, 5, []), (1, 0, [0])]
)
def test_ordinals(replicas, start, expected):
    assert list(ordinals(a_set(replicas, start))) == expected


def test_a_pod_has_its_name_its_labels_and_its_claims():
    one = a_set(templates=("data", "logs"))
    one["spec"]["template"]["spec"]["volumes"] = [{"name": "logs", "emptyDir": {}}, {"name": "own", "emptyDir": {}}]
    made = new_pod(one, "rev", 3)
    assert made["metadata"]["name"] == made["spec"]["hostname"] == "web-3"
    assert made["spec"]["subdomain"] == "peers"
    assert made["metadata"]["labels"] == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-3",
        "apps.kubernetes.io/pod-index": "3",
        "controller-revision-hash": "rev",
    }
    assert made["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-3"}},
        {"name": "logs", "persistentVolumeClaim": {"claimName": "logs-web-3"}},
        {"name": "own", "emptyDir": {}},
    ]
    assert has_identity(one, made)
    assert has_storage(one, made)
    assert not has_storage(one, a_pod(3))
    assert not has_identity(one, a_pod(3))
    assert has_identity(one, identified(one, a_pod(3)))
    assert not has_identity(one, {**made, "metadata": {**made["metadata"], "name": "other-3"}})
    wrong = {
        **made,
        "spec": {
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}, made["spec"]["volumes"][1]]
        },
    }
    assert not has_storage(one, wrong)


def test_claims_have_the_labels_of_the_selector():
    one = a_set()
    one["spec"]["volumeClaimTemplates"][0]["metadata"] |= {"labels": {"x": "1", "app": "no"}, "annotations": {"a": "1"}}
    (claim,) = claims(one, a_pod(4)).values()
    assert claim["metadata"] == {
        "name": "data-web-4",
        "namespace": "default",
        "labels": {"x": "1", "app": "web"},
        "annotations": {"a": "1"},
    }


# --- who owns the claims


def owned(*rows):
    """A claim with references: (kind, name, uid, whether it is the controller)."""
    listed = [
        {
            "apiVersion": "v1" if kind == "Pod" else "apps/v1",
            "kind": kind,
            "name": name,
            "uid": uid,
            "controller": is_controller,
        }
        for kind, name, uid, is_controller in rows
    ]
    return {"metadata": {"name": "c", "ownerReferences": listed}}


BY_SET, BY_POD, BY_OTHER = ("StatefulSet", "web", "set", True), ("Pod", "web-1", "pod", True), ("X", "x", "x", True)
KEEP, ON_DELETE, ON_SCALE, BOTH = ("Retain", "Retain"), ("Delete", "Retain"), ("Retain", "Delete"), ("Delete", "Delete")


@pytest.mark.parametrize(
    ("policy", "number", "owners"),
    [
        (None, 1, []),
        (KEEP, 1, []),
        (KEEP, 9, []),
        (ON_DELETE, 1, ["set"]),
        (ON_DELETE, 9, ["set"]),
        (ON_SCALE, 1, []),
        (ON_SCALE, 9, ["pod"]),
        (BOTH, 1, ["set"]),
        (BOTH, 9, ["pod"]),
    ],
)
def test_the_owners_that_the_retention_policy_gives(policy, number, owners):
    one, pod = a_set(2, policy=policy), a_pod(number)
    for before in (owned(), owned(BY_SET), owned(("Pod", f"web-{number}", "pod", True)), owned(("X", "x", "x", False))):
        after = with_owners(before, one, pod)
        kept = [each["uid"] for each in after["metadata"]["ownerReferences"]]
        assert [uid for uid in kept if uid != "x"] == owners
        assert is_up_to_date(after, one, pod)
        was = [each["uid"] for each in before["metadata"]["ownerReferences"] if each["uid"] != "x"]
        assert is_up_to_date(before, one, pod) is (was == owners)


@pytest.mark.parametrize(
    ("claim", "policy", "expected"),
    [
        (owned(("StatefulSet", "web", "former", True)), ON_DELETE, True),  # it goes with its former owner
        (owned(("Pod", "web-1", "former", True)), ON_SCALE, True),
        (owned(BY_OTHER), ON_DELETE, True),  # another object controls it: the policy is ignored
        (owned(BY_OTHER, BY_SET), ON_DELETE, False),
        (owned(BY_OTHER, BY_POD), ON_DELETE, False),
        (owned(BY_OTHER), KEEP, True),
        (owned(("StatefulSet", "web", "set", False)), ON_DELETE, False),  # not as the controller
        (owned(("Pod", "web-1", "pod", False)), ON_SCALE, False),
    ],
)
def test_owners_of_others(claim, policy, expected):
    assert is_up_to_date(claim, a_set(2, policy=policy), a_pod(1)) is expected


def test_a_claim_that_another_object_controls_loses_our_owners():
    found = with_owners(owned(BY_OTHER, BY_SET), a_set(2, policy=ON_DELETE), a_pod(1))
    assert [one["uid"] for one in found["metadata"]["ownerReferences"]] == ["x"]


def test_stale_owners_have_the_name_but_another_uid():
    assert has_stale_owner(owned(("Pod", "web-1", "old", True)), a_pod(1), "v1", "Pod")
    assert not has_stale_owner(owned(BY_POD), a_pod(1), "v1", "Pod")
    assert not has_stale_owner(owned(("Pod", "web-2", "old", True)), a_pod(1), "v1", "Pod")
    assert not has_stale_owner(owned(("StatefulSet", "web-1", "old", True)), a_pod(1), "v1", "Pod")


# --- revisions


def test_the_order_of_revisions():
    def revision(name, number, created):
        return {"metadata": {"name": name, "creationTimestamp": created}, "revision": number, "data": {"x": name}}

    rows = [revision("b", 2, "1"), revision("a", 2, "2"), revision("d", 1, "3"), revision("c", 2, "1")]
    assert [one["metadata"]["name"] for one in in_order(rows)] == ["d", "b", "c", "a"]
    assert not is_same_revision(rows[0], rows[1])
    template = {"$patch": "replace", "spec": 1}
    found = with_revision({"spec": {"replicas": 2, "template": 0}}, {"data": {"spec": {"template": template}}})
    assert found == {"spec": {"replicas": 2, "template": {"spec": 1}}}


# --- the order of the pods


def begin(fakekube, replicas=3, **spec):
    fakekube.create(stateful_set(replicas, **spec))
    fakekube.settle()


@SETS
def test_pods_are_created_one_after_the_other(fakekube):
    begin(fakekube)
    assert names(fakekube) == ["web-0"]
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.settle()
    assert names(fakekube) == ["web-0", "web-1"]
    fakekube.settle()
    assert names(fakekube) == ["web-0", "web-1"]


@SETS
def test_a_pod_has_to_be_ready_for_long_enough_before_the_next_one(fakekube):
    begin(fakekube, minReadySeconds=10)
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.advance(9)
    assert names(fakekube) == ["web-0"]
    fakekube.advance(1)
    assert names(fakekube) == ["web-0", "web-1"]


@SETS
def test_parallel_pods_do_not_wait(fakekube):
    begin(fakekube, podManagementPolicy="Parallel", ordinals={"start": 5})
    assert names(fakekube) == ["web-5", "web-6", "web-7"]
    change(fakekube, replicas=1)
    assert names(fakekube) == ["web-5"]


@SETS
def test_pods_are_scaled_away_from_the_highest_ordinal_while_the_others_are_ready(fakekube):
    begin(fakekube)
    make_all_ready(fakekube)
    for number in (0, 2):
        set_ready(fakekube, pods(fakekube)[number], False)
    change(fakekube, replicas=0)
    assert names(fakekube) == ["web-0", "web-1", "web-2"]  # web-2 waits for web-0, the first that is not available
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.settle()
    assert names(fakekube) == []


@SETS
def test_a_pod_that_is_being_deleted_is_waited_for_before_the_next_one_goes(fakekube):
    begin(fakekube)
    make_all_ready(fakekube)
    fakekube.patch("v1", "Pod", "web-2", {"metadata": {"finalizers": ["example.com/hold"]}})
    change(fakekube, replicas=1)
    assert names(fakekube) == ["web-0", "web-1"]
    fakekube.patch("v1", "Pod", "web-2", {"metadata": {"finalizers": None}})
    fakekube.settle()
    assert names(fakekube) == ["web-0"]


@SETS
def test_a_failed_pod_is_replaced_and_one_that_is_being_deleted_is_waited_for(fakekube):
    begin(fakekube)
    make_all_ready(fakekube)
    uid = pods(fakekube)[1]["metadata"]["uid"]
    fakekube.patch("v1", "Pod", "web-1", {"status": {"phase": "Failed"}}, subresource="status")
    fakekube.advance(1)
    assert [one["metadata"]["uid"] == uid for one in pods(fakekube) if one["metadata"]["name"] == "web-1"] == [False]
    make_all_ready(fakekube)
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    fakekube.patch("v1", "Pod", "web-0", held)
    fakekube.delete("v1", "Pod", "web-0", gracePeriodSeconds=0)
    fakekube.delete("v1", "Pod", "web-1", gracePeriodSeconds=0)
    fakekube.settle()
    assert names(fakekube) == ["web-2"]
    fakekube.patch("v1", "Pod", "web-0", {"metadata": {"finalizers": None}})
    fakekube.settle()
    assert names(fakekube) == ["web-0", "web-2"]


@SETS
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, ["nginx:2"] * 3),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, ["nginx:1", "nginx:2", "nginx:2"]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, ["nginx:1", "nginx:1", "nginx:2"]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}, ["nginx:1"] * 3),
        ({"type": "OnDelete"}, ["nginx:1"] * 3),
    ],
)
def test_updates_replace_pods_down_to_the_partition(fakekube, strategy, expected):
    begin(fakekube, updateStrategy=strategy)
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    for _ in range(4):
        make_all_ready(fakekube)
    assert [image_of(one) for one in pods(fakekube)] == expected
    found = status(fakekube)
    assert (found["currentRevision"] == found["updateRevision"]) is (expected == ["nginx:2"] * 3)
    assert found.get("updatedReplicas", 0) == expected.count("nginx:2")
    fakekube.delete("v1", "Pod", "web-0", gracePeriodSeconds=0)
    fakekube.settle()
    again = next(image_of(one) for one in pods(fakekube) if one["metadata"]["name"] == "web-0")
    below = strategy.get("rollingUpdate", {}).get("partition", 0) > 0
    assert again == ("nginx:1" if below else "nginx:2")


@SETS
def test_a_rolling_update_waits_for_each_pod(fakekube):
    begin(fakekube)
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert [image_of(one) for one in pods(fakekube)] == ["nginx:1", "nginx:1", "nginx:2"]
    fakekube.advance(5)
    assert [image_of(one) for one in pods(fakekube)] == ["nginx:1", "nginx:1", "nginx:2"]
    set_ready(fakekube, next(one for one in pods(fakekube) if one["metadata"]["name"] == "web-2"))
    fakekube.settle()
    assert [image_of(one) for one in pods(fakekube)] == ["nginx:1", "nginx:2", "nginx:2"]


@pytest.mark.fakekube(controllers=["statefulset"], feature_gates={"MaxUnavailableStatefulSet": True})
@pytest.mark.parametrize(
    ("rolling", "unready", "replaced"),
    [
        ({}, (), ["web-4"]),
        ({"maxUnavailable": 2}, (), ["web-3", "web-4"]),
        ({"maxUnavailable": "50%"}, (), ["web-3", "web-4"]),
        ({"maxUnavailable": "1%"}, (), ["web-4"]),
        ({"maxUnavailable": 3, "partition": 3}, (), ["web-3", "web-4"]),
        ({"maxUnavailable": 2}, ("web-0",), ["web-4"]),
        ({"maxUnavailable": 1}, ("web-0",), []),
        ({"maxUnavailable": 3}, ("web-4",), ["web-2", "web-3", "web-4"]),
        (None, (), ["web-4"]),
        (None, ("web-0",), []),
    ],
)
def test_a_rolling_update_replaces_as_many_pods_as_may_be_unavailable(fakekube, rolling, unready, replaced):
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    begin(fakekube, 5, podManagementPolicy="Parallel", updateStrategy=strategy)
    make_all_ready(fakekube)
    for pod in pods(fakekube):
        set_ready(fakekube, pod, pod["metadata"]["name"] not in unready)
    set_image(fakekube, "nginx:2")
    assert [one["metadata"]["name"] for one in pods(fakekube) if image_of(one) == "nginx:2"] == replaced


@SETS
def test_a_stored_number_of_unavailable_pods_has_no_effect_without_its_feature(fakekube):
    begin(fakekube, 5, podManagementPolicy="Parallel")
    make_all_ready(fakekube)
    stored = fakekube.get("apps/v1", "StatefulSet", "web")
    stored["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 3
    fakekube.state.force(stored)
    set_image(fakekube, "nginx:2")
    assert [one["metadata"]["name"] for one in pods(fakekube) if image_of(one) == "nginx:2"] == ["web-4"]


@SETS
def test_claims_are_created_again_and_follow_the_policy(fakekube):
    when = {"whenDeleted": "Retain", "whenScaled": "Delete"}
    begin(fakekube, 2, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=when)
    make_all_ready(fakekube)
    kind = ("v1", "PersistentVolumeClaim")
    assert [one["metadata"]["name"] for one in fakekube.list(*kind)] == ["data-web-0", "data-web-1"]
    change(fakekube, replicas=1)
    owners = [one["metadata"].get("ownerReferences", []) for one in fakekube.list(*kind)]
    assert [[each["kind"] for each in listed] for listed in owners] == [[], ["Pod"]]
    change(fakekube, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"})
    (first, *_) = fakekube.list(*kind)
    assert [one["kind"] for one in first["metadata"]["ownerReferences"]] == ["StatefulSet"]


@SETS
def test_former_templates_are_kept_up_to_the_limit(fakekube):
    begin(fakekube, 1, revisionHistoryLimit=1)
    make_all_ready(fakekube)
    for image in ("nginx:2", "nginx:3", "nginx:4"):
        set_image(fakekube, image)
        make_all_ready(fakekube)
        fakekube.settle()
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [3, 4]
    set_image(fakekube, "nginx:3")
    make_all_ready(fakekube)
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [4, 5]
