"""The controller of StatefulSets: order, identity, claims and revisions."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.controllers.apps.statefulset.podidentity import ordinal, parent_and_ordinal
from fakekube.controllers.workload.podstate import is_ready
from fakekube.harness.engine import engine_of
from tests.controllers.workloads import make_all_ready, pods, set_ready, template

pytestmark = pytest.mark.fakekube(controllers=["statefulset"], rbac=True)


def stateful_set(replicas=2, image="nginx:1", **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "peers",
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
            **spec,
        },
    }


def claim_template(name="data"):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": spec}


def names(fakekube):
    return [pod["metadata"]["name"] for pod in pods(fakekube)]


def status(fakekube):
    return fakekube.get("apps/v1", "StatefulSet", "web")["status"]


def change(fakekube, **spec):
    fakekube.patch("apps/v1", "StatefulSet", "web", {"spec": spec})
    fakekube.settle()


def set_image(fakekube, image):
    change(fakekube, template={"spec": {"containers": [{"name": "c", "image": image}]}})


def image_of(pod):
    return pod["spec"]["containers"][0]["image"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-0", ("web", 0)),
        ("a-b-12", ("a-b", 12)),
        ("web", ("", -1)),
        ("web-", ("", -1)),
        ("web-2147483648", ("web", -1)),
        ("web-x1", ("", -1)),
    ],
)
def test_parent_and_ordinal_of_a_name(name, expected):
    assert parent_and_ordinal(name) == expected


def test_pods_come_one_after_the_other(fakekube):
    fakekube.create(stateful_set(3))
    fakekube.settle()
    for number in range(3):
        assert names(fakekube) == [f"web-{one}" for one in range(number + 1)]
        set_ready(fakekube, pods(fakekube)[number])
        fakekube.settle()
    found = status(fakekube)
    assert (found["replicas"], found["readyReplicas"], found["currentReplicas"]) == (3, 3, 3)
    assert [event["message"] for event in fakekube.events()] == [
        f"Create Pod web-{number} in StatefulSet web successful" for number in range(3)
    ]


def test_parallel_pods_come_at_once(fakekube):
    fakekube.create(stateful_set(3, podManagementPolicy="Parallel"))
    fakekube.settle()
    assert names(fakekube) == ["web-0", "web-1", "web-2"]


def test_min_ready_seconds_delay_the_next_pod(fakekube):
    fakekube.create(stateful_set(2, minReadySeconds=20))
    fakekube.settle()
    begun = fakekube.clock.now()
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.advance_until(lambda: len(names(fakekube)) == 2, "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=20)


@pytest.mark.slow
def test_rolling_update_replaces_the_highest_ordinal_first(fakekube):
    fakekube.create(stateful_set(3))
    fakekube.settle()
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert [image_of(pod) for pod in pods(fakekube)] == ["nginx:1", "nginx:1", "nginx:2"]
    make_all_ready(fakekube)
    assert {image_of(pod) for pod in pods(fakekube)} == {"nginx:2"}
    assert status(fakekube)["currentRevision"] == status(fakekube)["updateRevision"]
    assert [one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")] in ([1, 2], [2, 1])


def test_a_pod_that_is_replaced_is_none_of_the_current_revision(fakekube):
    """`stateful_set_control.go`: the count goes down with the deletion, before the pod is gone."""
    fakekube.create(stateful_set(3))
    fakekube.settle()
    make_all_ready(fakekube)
    before = len(fakekube.state.versions("apps/v1", "StatefulSet", "web"))
    change(fakekube, template=template("nginx:2"))
    make_all_ready(fakekube)
    later = [found["status"] for _, found in fakekube.state.versions("apps/v1", "StatefulSet", "web")][before:]
    counts = [one.get("currentReplicas", 0) for one in later if one["currentRevision"] != one["updateRevision"]]
    assert list(dict.fromkeys(counts)) == [2, 1, 0]


def test_a_former_template_gets_its_revision_again(fakekube):
    fakekube.create(stateful_set(1))
    fakekube.settle()
    make_all_ready(fakekube)
    first = status(fakekube)["updateRevision"]
    for image in ("nginx:2", "nginx:1"):
        set_image(fakekube, image)
        make_all_ready(fakekube)
    assert status(fakekube)["updateRevision"] == first
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [2, 3]


def test_history_limit_deletes_the_oldest_revisions(fakekube):
    fakekube.create(stateful_set(1, revisionHistoryLimit=1))
    fakekube.settle()
    make_all_ready(fakekube)
    for number in range(2, 6):
        set_image(fakekube, f"nginx:{number}")
        make_all_ready(fakekube)
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [4, 5]


def test_claims_belong_to_the_set_that_deletes_them(fakekube):
    retention = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    fakekube.create(
        stateful_set(1, volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=retention)
    )
    fakekube.settle()
    fakekube.controllers["statefulset"].enqueue("default/web")
    fakekube.settle()
    claim = fakekube.get("v1", "PersistentVolumeClaim", "data-web-0")
    owner = claim["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("StatefulSet", "web", True)
    assert claim["metadata"]["labels"] == {"app": "web"}
    change(fakekube, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"})
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.settle()
    assert "ownerReferences" not in fakekube.get("v1", "PersistentVolumeClaim", "data-web-0")["metadata"]


def test_a_claim_that_is_being_deleted_stops_the_pod(fakekube):
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-web-0", "namespace": "default", "finalizers": ["example.com/wait"]},
        "spec": claim_template()["spec"],
    }
    fakekube.create(claim)
    fakekube.delete("v1", "PersistentVolumeClaim", "data-web-0")
    fakekube.create(stateful_set(1, volumeClaimTemplates=[claim_template()]))
    fakekube.settle()
    assert names(fakekube) == []
    assert fakekube.events(reason="FailedCreate")[0]["message"] == (
        "Create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted"
    )


def test_a_pod_that_loses_its_name_label_gets_it_again(fakekube):
    fakekube.create(stateful_set(1))
    fakekube.settle()
    make_all_ready(fakekube)
    labels = {"statefulset.kubernetes.io/pod-name": None}
    fakekube.patch("v1", "Pod", "web-0", {"metadata": {"labels": labels}})
    fakekube.settle()
    found = fakekube.get("v1", "Pod", "web-0")["metadata"]["labels"]
    assert found["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert [event["reason"] for event in fakekube.events()][-1] == "SuccessfulUpdate"


def test_an_idle_statefulset_is_not_written(fakekube):
    fakekube.create(stateful_set(2))
    fakekube.settle()
    make_all_ready(fakekube)
    before = len([one for one in fakekube.requests() if one.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([one for one in fakekube.requests() if one.verb != "watch"]) == before


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    actions=st.lists(
        st.tuples(st.sampled_from(["scale", "image", "ready", "unready", "delete"]), st.integers(0, 4)), max_size=14
    )
)
def test_the_order_of_ordinals_holds_at_each_commit(actions):
    """A pod is created only when all lower ordinals are ready, and scaled away only when no higher one exists."""
    with FakeKube(controllers=["statefulset"], wall_clock=False) as fakekube:
        fakekube.create(stateful_set(3))
        fakekube.settle()
        broken = []

        def check(change):
            if change.collection != "pods":
                return
            present = {ordinal(pod): pod for pod in fakekube.list("v1", "Pod")}
            if change.before is None:
                number = ordinal(change.after.object)
                lower = [present.get(one) for one in range(number)]
                if not all(pod is not None and is_ready(pod) for pod in lower):
                    broken.append(f"web-{number} was created before all lower ordinals were ready")
            elif change.after is None and fakekube.controllers["statefulset"].processing:
                number = ordinal(change.before.object)
                wanted = fakekube.get("apps/v1", "StatefulSet", "web")["spec"]["replicas"]
                if number >= wanted and any(other > number for other in present):
                    broken.append(f"web-{number} was scaled away before a higher ordinal")

        engine_of(fakekube).server.on_write(check)
        for index, (action, which) in enumerate(actions):
            present = pods(fakekube)
            if action == "scale":
                change(fakekube, replicas=which)
            elif action == "image":
                set_image(fakekube, f"nginx:{index + 2}")
            elif present and action == "delete":
                fakekube.delete("v1", "Pod", present[which % len(present)]["metadata"]["name"])
            elif present:
                set_ready(fakekube, present[which % len(present)], action == "ready")
            fakekube.settle()
        make_all_ready(fakekube)
        assert broken == []
        wanted = fakekube.get("apps/v1", "StatefulSet", "web")["spec"]["replicas"]
        assert names(fakekube) == [f"web-{number}" for number in range(wanted)]
