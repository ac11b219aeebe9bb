"""The controllers of StatefulSets and DaemonSets when writes fail or caches are stale, and what their Events say."""

import pytest

from tests.controllers import test_daemonset as daemons
from tests.controllers.test_statefulset import change, claim_template, names, stateful_set
from tests.controllers.workloads import distinct_events_about, make_all_ready, node, pods, set_ready, template

SETS = pytest.mark.fakekube(controllers=["statefulset"], rbac=True)
DAEMONS = pytest.mark.fakekube(controllers=["daemonset", "nodelifecycle"], rbac=True)
MANAGER = "kube-controller-manager*"
POD = "Pod web-0 in StatefulSet web"


# --- StatefulSets


@SETS
def test_what_is_said_about_pods_and_claims(fakekube):
    fakekube.create(stateful_set(1, volumeClaimTemplates=[claim_template()]))
    fakekube.settle()
    make_all_ready(fakekube)
    change(fakekube, replicas=0)
    assert distinct_events_about(fakekube, "StatefulSet") == [
        ("Normal", "SuccessfulCreate", f"Create Claim data-web-0 {POD} success"),
        ("Normal", "SuccessfulCreate", f"Create {POD} successful"),
        ("Normal", "SuccessfulDelete", f"Delete {POD} successful"),
    ]


@SETS
@pytest.mark.parametrize("management", ["OrderedReady", "Parallel"])
@pytest.mark.parametrize(
    ("verb", "resource", "reason", "text"),
    [
        ("create", "pods", "FailedCreate", f"Create {POD} failed error: "),
        ("create", "persistentvolumeclaims", "FailedCreate", f"Create Claim data-web-0 {POD} failed error: "),
        ("delete", "pods", "FailedDelete", f"Delete {POD} failed error: "),
        ("update", "pods", "FailedUpdate", f"Update {POD} failed error: "),
    ],
)
def test_a_write_that_fails_is_an_event_and_is_tried_again(fakekube, verb, resource, reason, text, management):
    rule = fakekube.fault(verb=verb, resource=resource, subresource="", user_agent=MANAGER, error=500)
    fakekube.create(stateful_set(1, volumeClaimTemplates=[claim_template()], podManagementPolicy=management))
    fakekube.settle()
    if verb == "update":
        make_all_ready(fakekube)
        label = {"statefulset.kubernetes.io/pod-name": None}
        fakekube.patch("v1", "Pod", "web-0", {"metadata": {"labels": label}})
    elif verb == "delete":
        change(fakekube, replicas=0)
    fakekube.advance("1s")
    failed = [event for event in distinct_events_about(fakekube, "StatefulSet") if event[0] == "Warning"]
    assert failed[0][1] == reason
    assert failed[0][2].startswith(text)
    if resource == "persistentvolumeclaims":
        assert failed[1][1] == "FailedCreate"
        assert failed[1][2].startswith(f"Create {POD} failed error: failed to create PVC data-web-0: ")
        assert names(fakekube) == []
    rule.disarm()
    fakekube.advance("20m")
    assert names(fakekube) == ([] if verb == "delete" else ["web-0"])
    done = {"create": "Create", "update": "Update", "delete": "Delete"}[verb]
    assert ("Normal", f"Successful{done}", f"{done} {POD} successful") in distinct_events_about(fakekube, "StatefulSet")
    if verb == "update":
        labels = fakekube.get("v1", "Pod", "web-0")["metadata"]["labels"]
        assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"


@SETS
def test_all_claims_that_cannot_be_created_are_named(fakekube):
    fakekube.fault(verb="create", resource="persistentvolumeclaims", error=500, times=2)
    fakekube.create(stateful_set(1, volumeClaimTemplates=[claim_template("a"), claim_template("b")]))
    fakekube.advance("1m")
    (text,) = [
        text
        for _, reason, text in distinct_events_about(fakekube, "StatefulSet")
        if reason == "FailedCreate" and "Claim" not in text
    ]
    assert text.startswith(f"Create {POD} failed error: [failed to create PVC a-web-0: ")
    assert ", failed to create PVC b-web-0: " in text
    assert text.endswith("]")
    assert names(fakekube) == ["web-0"]


@SETS
@pytest.mark.parametrize("resource", ["pods", "persistentvolumeclaims"])
def test_what_exists_already_is_no_event(fakekube, resource):
    """The answer of the creation is lost, and the cache does not have the object yet."""
    fakekube.settle()
    fakekube.faults.disturb_watches(resource=resource, delay="30s")
    fakekube.faults.cut_watches()
    fakekube.advance("1m")
    fakekube.fault(verb="create", resource=resource, error=500, committed=True, times=1)
    fakekube.create(stateful_set(1, volumeClaimTemplates=[claim_template()]))
    fakekube.advance("5s")
    assert fakekube.requests(verb="create", resource=resource, code=409)
    fakekube.advance("3m")
    assert names(fakekube) == ["web-0"]
    assert not [
        text
        for _, reason, text in distinct_events_about(fakekube, "StatefulSet")
        if reason == "FailedCreate" and "exists" in text and "Claim" in text
    ]


@SETS
def test_a_conflict_of_an_update_is_tried_again_at_once(fakekube):
    fakekube.create(stateful_set(1))
    fakekube.settle()
    make_all_ready(fakekube)
    fakekube.fault(verb="update", resource="pods", subresource="", user_agent=MANAGER, error=409, times=2)
    fakekube.patch(
        "v1",
        "Pod",
        "web-0",
        {"metadata": {"labels": {"apps.kubernetes.io/pod-index": None, "statefulset.kubernetes.io/pod-name": None}}},
    )
    fakekube.advance("1s")
    labels = fakekube.get("v1", "Pod", "web-0")["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert labels["apps.kubernetes.io/pod-index"] == "0"
    assert distinct_events_about(fakekube, "StatefulSet")[1:] == [
        ("Normal", "SuccessfulUpdate", f"Update {POD} successful")
    ]


@SETS
def test_a_pod_that_is_gone_already_counts_as_deleted(fakekube):
    fakekube.create(stateful_set(1))
    fakekube.settle()
    gone = lambda: fakekube.delete("v1", "Pod", "web-0", gracePeriodSeconds=0)  # noqa: E731
    fakekube.fault(verb="delete", resource="pods", user_agent=MANAGER, times=1, before=gone)
    change(fakekube, replicas=0)
    assert distinct_events_about(fakekube, "StatefulSet")[1:] == [
        ("Normal", "SuccessfulDelete", f"Delete {POD} successful")
    ]
    assert fakekube.controllers["statefulset"].errors("default/web") == []


@SETS
def test_a_claim_that_another_object_controls_keeps_the_policy_away(fakekube):
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u", "controller": True}
    meta = {"name": "data-web-0", "namespace": "default", "ownerReferences": [other]}
    spec = claim_template()["spec"]
    fakekube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    fakekube.create(
        stateful_set(1, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy)
    )
    fakekube.advance("1s")
    text = (
        "PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a manging controller, "
        "the retention policy is ignored for this claim"
    )
    assert ("Warning", "ConflictingController", text) in distinct_events_about(fakekube, "StatefulSet")
    owners = fakekube.get("v1", "PersistentVolumeClaim", "data-web-0")["metadata"]["ownerReferences"]
    assert [one["kind"] for one in owners] == ["ConfigMap"]


@SETS
@pytest.mark.parametrize(("when_scaled", "created"), [("Delete", False), ("Retain", True)])
def test_a_claim_of_a_former_pod_with_which_it_goes_is_waited_for(fakekube, when_scaled, created):
    former = {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "former"}
    meta = {"name": "data-web-0", "namespace": "default", "ownerReferences": [former]}
    spec = claim_template()["spec"]
    fakekube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    policy = {"whenDeleted": "Retain", "whenScaled": when_scaled}
    fakekube.create(
        stateful_set(1, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy)
    )
    fakekube.advance("5s")
    assert bool(names(fakekube)) == created
    fakekube.patch("v1", "PersistentVolumeClaim", "data-web-0", {"metadata": {"ownerReferences": None}})
    change(fakekube, replicas=2)
    fakekube.advance("5s")
    assert "web-0" in names(fakekube)


def revisions(fakekube):
    return fakekube.list("apps/v1", "ControllerRevision")


@SETS
@pytest.mark.parametrize(("same", "collisions"), [(True, 0), (False, 1)])
def test_a_revision_of_that_name_is_used_if_its_template_is_the_same(fakekube, same, collisions):
    """`controller_history.go`: CreateControllerRevision."""
    fakekube.create(stateful_set(0))
    fakekube.settle()
    (first,) = revisions(fakekube)
    fakekube.delete("apps/v1", "StatefulSet", "web")
    fakekube.delete("apps/v1", "ControllerRevision", first["metadata"]["name"])
    meta = {"name": first["metadata"]["name"], "namespace": "default", "labels": {"app": "other"}}
    data = first["data"] if same else {"spec": {"template": {"$patch": "replace"}}}
    fakekube.create(
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "revision": 1, "data": data}
    )
    fakekube.create(stateful_set(0))
    fakekube.settle()
    assert len(revisions(fakekube)) == 1 + collisions
    found = fakekube.get("apps/v1", "StatefulSet", "web")["status"]
    assert found.get("collisionCount", 0) == collisions
    assert (found["updateRevision"] == meta["name"]) is same


@SETS
@pytest.mark.parametrize("deleted", [False, True])
def test_orphaned_revisions_are_adopted_unless_the_set_is_being_deleted(fakekube, deleted):
    fakekube.create(stateful_set(0))
    fakekube.settle()
    (first,) = revisions(fakekube)
    if deleted:
        fakekube.patch("apps/v1", "StatefulSet", "web", {"metadata": {"finalizers": ["example.com/hold"]}})
        fakekube.delete("apps/v1", "StatefulSet", "web")
        fakekube.settle()
    orphaned = {"metadata": {"ownerReferences": None}}
    fakekube.patch("apps/v1", "ControllerRevision", first["metadata"]["name"], orphaned)
    change(fakekube, revisionHistoryLimit=5)
    (found,) = revisions(fakekube)
    assert bool(found["metadata"].get("ownerReferences")) is not deleted
    texts = [str(error) for error in fakekube.controllers["statefulset"].errors("default/web")]
    assert any(one.startswith("can't adopt ControllerRevisions: ") for one in texts) is deleted


# --- DaemonSets


def begun(fakekube, nodes=2, **spec):
    daemons.started(fakekube, nodes, **spec)


def reconciles(fakekube):
    return fakekube.controllers["daemonset"].reconciles()


@DAEMONS
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_pods_of_a_daemon_set_that_cannot_be_written(fakekube, verb):
    rule = fakekube.fault(verb=verb, resource="pods", user_agent=MANAGER, error=500)
    begun(fakekube)
    if verb == "delete":
        daemons.set_image(fakekube, "nginx:2")
    fakekube.advance("1s")
    failed = [event for event in distinct_events_about(fakekube, "DaemonSet") if event[0] == "Warning"]
    assert {event[1] for event in failed} == {f"Failed{verb.title()}"}
    assert fakekube.controllers["daemonset"].errors("default/agent")
    found = daemons.status(fakekube)
    assert (found["desiredNumberScheduled"], found["currentNumberScheduled"]) == (2, 0 if verb == "create" else 2)
    assert found["numberUnavailable"] == 2
    assert found["observedGeneration"] == (1 if verb == "create" else 2)
    rule.disarm()
    fakekube.advance("20m")
    make_all_ready(fakekube)
    assert daemons.images(fakekube) == ["nginx:1" if verb == "create" else "nginx:2"] * 2


@DAEMONS
def test_a_namespace_that_is_being_deleted_gets_no_daemon_pods_and_no_errors(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}})
    fakekube.create({**daemons.daemon_set(), "metadata": {"name": "agent", "namespace": "ending"}})
    fakekube.settle()
    fakekube.delete("v1", "Namespace", "ending", "")
    fakekube.create(node("n0"))
    fakekube.advance("1s")
    assert fakekube.requests(verb="create", resource="pods", code=403)
    assert distinct_events_about(fakekube, "DaemonSet") == []
    assert fakekube.controllers["daemonset"].errors("ending/agent") == []


@DAEMONS
def test_a_daemon_pod_that_is_gone_already_is_no_error(fakekube):
    begun(fakekube, 1)
    (pod,) = pods(fakekube)
    gone = lambda: fakekube.delete("v1", "Pod", pod["metadata"]["name"], gracePeriodSeconds=0)  # noqa: E731
    fakekube.fault(verb="delete", resource="pods", user_agent=MANAGER, times=1, before=gone)
    daemons.set_image(fakekube, "nginx:2")
    assert daemons.images(fakekube) == ["nginx:2"]
    assert fakekube.controllers["daemonset"].errors("default/agent") == []
    assert "FailedDelete" not in [reason for _, reason, _ in distinct_events_about(fakekube, "DaemonSet")]


@DAEMONS
@pytest.mark.parametrize(("times", "failed"), [(1, False), (2, True)])
def test_the_status_of_a_daemon_set_is_written_again_to_the_latest_object(fakekube, times, failed):
    fakekube.fault(verb="update", resource="daemonsets", subresource="status", error=409, times=times)
    begun(fakekube)
    assert bool(fakekube.controllers["daemonset"].errors("default/agent")) == failed
    fakekube.advance("1s")
    found = daemons.status(fakekube)
    assert (found["desiredNumberScheduled"], found["currentNumberScheduled"], found["observedGeneration"]) == (2, 2, 1)
    assert fakekube.requests(verb="get", resource="daemonsets", user_agent=MANAGER)


@DAEMONS
def test_a_stale_cache_of_pods_creates_no_second_daemon_pod(fakekube):
    fakekube.settle()
    fakekube.faults.disturb_watches(resource="pods", delay="20s")
    fakekube.faults.cut_watches()
    fakekube.advance("1m")
    begun(fakekube)
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"labels": {"again": "1"}}})
    fakekube.advance("10s")
    assert len(pods(fakekube)) == 2
    fakekube.advance("2m")
    assert len(pods(fakekube)) == 2
    assert daemons.status(fakekube)["currentNumberScheduled"] == 2


@DAEMONS
def test_a_daemon_set_that_is_being_deleted_creates_nothing(fakekube):
    begun(fakekube, 1)
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"finalizers": ["example.com/hold"]}})
    fakekube.delete("apps/v1", "DaemonSet", "agent")
    fakekube.create(node("n7"))
    fakekube.delete("v1", "Pod", pods(fakekube)[0]["metadata"]["name"], gracePeriodSeconds=0)
    fakekube.settle()
    assert pods(fakekube) == []


@DAEMONS
def test_a_daemon_set_of_the_same_name_begins_anew(fakekube):
    begun(fakekube, 2)
    fakekube.controllers["daemonset"].suspend()
    fakekube.delete("apps/v1", "DaemonSet", "agent")
    for pod in pods(fakekube):
        fakekube.delete("v1", "Pod", pod["metadata"]["name"], gracePeriodSeconds=0)
    fakekube.create(daemons.daemon_set())
    fakekube.controllers["daemonset"].resume()
    assert len(pods(fakekube)) == 2
    uid = fakekube.get("apps/v1", "DaemonSet", "agent")["metadata"]["uid"]
    assert {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods(fakekube)} == {uid}


@DAEMONS
def test_which_changes_of_nodes_and_revisions_reconcile_a_daemon_set(fakekube):
    selecting = {**template(), "spec": {**template()["spec"], "nodeSelector": {"pool": "a"}}}
    begun(fakekube, 1, template=selecting)
    set_ready(fakekube, pods(fakekube)[0])
    target = {"apiVersion": "v1", "kind": "Node", "name": "n0"}
    meta = {"name": pods(fakekube)[0]["metadata"]["name"], "namespace": "default"}
    fakekube.create({"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target})
    fakekube.advance("5s")

    def count(*change):
        before = reconciles(fakekube)
        fakekube.patch(*change)
        fakekube.settle()
        return reconciles(fakekube) - before

    (revision,) = [one["metadata"]["name"] for one in fakekube.list("apps/v1", "ControllerRevision")]
    taint = {"key": "k", "effect": "NoExecute"}
    assert count("v1", "Node", "n0", {"metadata": {"labels": {"other": "1"}}}, "") == 0
    assert count("v1", "Node", "n0", {"metadata": {"annotations": {"other": "1"}}}, "") == 0
    assert count("apps/v1", "ControllerRevision", revision, {"metadata": {"annotations": {"a": "1"}}}) == 1
    assert count("v1", "Node", "n0", {"spec": {"taints": [taint]}}, "") > 0
    assert pods(fakekube) == []
    fakekube.delete("v1", "Pod", meta["name"], gracePeriodSeconds=0)
    fakekube.settle()
    assert count("v1", "Node", "n0", {"metadata": {"labels": {"other": "2"}}}, "") == 0
    assert count("v1", "Node", "n0", {"spec": {"taints": []}}, "") > 0
    assert len(pods(fakekube)) == 1
    fakekube.delete("apps/v1", "ControllerRevision", revision)
    fakekube.settle()
    assert [one["metadata"]["name"] for one in fakekube.list("apps/v1", "ControllerRevision")] == [revision]


@DAEMONS
def test_orphaned_revisions_are_adopted(fakekube):
    begun(fakekube, 1)
    (revision,) = fakekube.list("apps/v1", "ControllerRevision")
    name = revision["metadata"]["name"]
    fakekube.patch("apps/v1", "ControllerRevision", name, {"metadata": {"ownerReferences": None}})
    fakekube.settle()
    (owner,) = fakekube.get("apps/v1", "ControllerRevision", name)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("DaemonSet", True)


@DAEMONS
def test_what_is_said_about_daemon_pods_that_have_ended(fakekube):
    begun(fakekube, 1)
    for phase, event in (
        ("Succeeded", ("Normal", "SucceededDaemonPod", "Found succeeded daemon pod {}, will try to delete it")),
        ("Failed", ("Warning", "FailedDaemonPod", "Found failed daemon pod {}, will try to kill it")),
    ):
        name = pods(fakekube)[0]["metadata"]["name"]
        fakekube.patch("v1", "Pod", name, {"status": {"phase": phase}}, subresource="status")
        fakekube.advance("1s")
        assert (*event[:2], event[2].format(f"default/{name} on node n0")) in distinct_events_about(
            fakekube, "DaemonSet"
        )
        assert ("Normal", "SuccessfulDelete", f"Deleted pod: {name}") in distinct_events_about(fakekube, "DaemonSet")
        assert len(pods(fakekube)) == 1
