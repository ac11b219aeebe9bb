"""The controller of DaemonSets: nodes, rolling updates, failed pods."""

from datetime import timedelta

import pytest

from fakekube.controllers.apps.daemonset.daemonpods import for_node, target_node, with_tolerations
from tests.controllers.workloads import make_all_ready, node, pods, set_ready, template

pytestmark = pytest.mark.fakekube(controllers=["daemonset", "nodelifecycle"], rbac=True)


def daemon_set(image="nginx:1", **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template(image), **spec},
    }


def started(fakekube, nodes=3, **spec):
    for number in range(nodes):
        fakekube.create(node(f"n{number}", labels={"pool": "a"}))
    fakekube.create(daemon_set(**spec))
    fakekube.settle()


def status(fakekube):
    return fakekube.get("apps/v1", "DaemonSet", "agent")["status"]


def images(fakekube):
    return sorted(pod["spec"]["containers"][0]["image"] for pod in pods(fakekube))


def set_image(fakekube, image):
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"spec": spec})
    fakekube.settle()


def test_each_node_gets_a_pod(fakekube):
    started(fakekube)
    assert sorted(target_node(pod) for pod in pods(fakekube)) == ["n0", "n1", "n2"]
    make_all_ready(fakekube)
    found = status(fakekube)
    assert (found["desiredNumberScheduled"], found["numberReady"], found["numberAvailable"]) == (3, 3, 3)
    assert "numberUnavailable" not in found
    before = fakekube.controllers["daemonset"].reconciles()
    fakekube.advance("1m")  # nothing is to be checked later without minReadySeconds
    assert fakekube.controllers["daemonset"].reconciles() == before
    fakekube.create(node("n3"))
    fakekube.settle()
    assert len(pods(fakekube)) == 4


def test_a_node_that_no_longer_matches_loses_its_pod(fakekube):
    spec = {**template(), "spec": {**template()["spec"], "nodeSelector": {"pool": "a"}}}
    started(fakekube, nodes=2, template=spec)
    for pod in pods(fakekube):
        meta = {"name": pod["metadata"]["name"], "namespace": "default"}
        target = {"apiVersion": "v1", "kind": "Node", "name": target_node(pod)}
        fakekube.create({"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target})
    fakekube.settle()
    fakekube.patch("v1", "Node", "n0", {"metadata": {"labels": {"pool": None}}}, "")
    fakekube.settle()
    assert [target_node(pod) for pod in pods(fakekube)] == ["n1"]


def test_rolling_update_replaces_one_pod_at_a_time(fakekube):
    started(fakekube)
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert images(fakekube) == ["nginx:1", "nginx:1", "nginx:2"]
    make_all_ready(fakekube)
    assert images(fakekube) == ["nginx:2"] * 3
    assert status(fakekube)["updatedNumberScheduled"] == 3


def test_rolling_update_with_surge_keeps_the_old_pod_until_the_new_one_is_ready(fakekube):
    started(fakekube, updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert images(fakekube) == ["nginx:1"] * 3 + ["nginx:2"]
    make_all_ready(fakekube)
    assert images(fakekube) == ["nginx:2"] * 3


def test_on_delete_waits_for_the_deletion(fakekube):
    started(fakekube, nodes=1, updateStrategy={"type": "OnDelete"})
    make_all_ready(fakekube)
    set_image(fakekube, "nginx:2")
    assert images(fakekube) == ["nginx:1"]
    fakekube.delete("v1", "Pod", pods(fakekube)[0]["metadata"]["name"])
    fakekube.settle()
    assert images(fakekube) == ["nginx:2"]


def test_failed_pods_are_replaced_after_delays_that_double(fakekube):
    started(fakekube, nodes=1)
    times, begun = [], fakekube.clock.now()
    for _ in range(4):
        name = pods(fakekube)[0]["metadata"]["name"]
        fakekube.patch("v1", "Pod", name, {"status": {"phase": "Failed"}}, subresource="status")
        fakekube.advance_until(lambda name=name: not fakekube.exists("v1", "Pod", name), "1h")
        fakekube.settle()
        times.append(fakekube.clock.now() - begun)
    assert times == [timedelta(seconds=seconds) for seconds in (0, 1, 3, 7)]


def test_history_keeps_the_revisions_of_the_limit(fakekube):
    started(fakekube, nodes=1, revisionHistoryLimit=1)
    make_all_ready(fakekube)
    for number in range(2, 6):
        set_image(fakekube, f"nginx:{number}")
        make_all_ready(fakekube)
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [4, 5]


def test_min_ready_seconds_delay_availability(fakekube):
    started(fakekube, nodes=1, minReadySeconds=30)
    set_ready(fakekube, pods(fakekube)[0])
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: status(fakekube).get("numberAvailable") == 1, "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=30)


def test_a_pod_names_its_node_by_affinity_beside_what_its_template_has():
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": []}
    made = for_node({"spec": {"affinity": {"nodeAffinity": preferred, "podAffinity": {}}}}, "n1")
    assert target_node(made) == "n1"
    assert made["spec"]["affinity"].keys() == {"nodeAffinity", "podAffinity"}
    assert "preferredDuringSchedulingIgnoredDuringExecution" in made["spec"]["affinity"]["nodeAffinity"]


def test_tolerations_are_added_once():
    once = with_tolerations({"hostNetwork": True})
    assert len(once["tolerations"]) == 7
    assert with_tolerations(once) == once


def test_f4_the_data_of_a_revision_have_their_keys_in_the_order_of_go(fakekube):
    """F4: kubectl rollout undo compares the bytes of a revision with those of the present template."""
    started(fakekube)
    (revision,) = fakekube.list("apps/v1", "ControllerRevision")

    def is_sorted(value):
        if isinstance(value, dict):
            return list(value) == sorted(value) and all(map(is_sorted, value.values()))
        return all(map(is_sorted, value)) if isinstance(value, list) else True

    assert next(iter(revision["data"]["spec"]["template"])) == "$patch"
    assert is_sorted(revision["data"])
