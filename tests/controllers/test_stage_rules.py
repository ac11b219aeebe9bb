"""Which stage decides about a container, images that are pulled, and when waiting pods are tried again."""

import pytest

from controllerlib.random import SeededRandom
from fakekube.controllers.kubelet.nodeworld import NamespacedObjects, NodeWorld, Stages
from fakekube.controllers.kubelet.podrun import Container
from fakekube.controllers.kubelet.stage import (
    Command,
    Exit,
    Hang,
    PodSelector,
    ProbeResult,
    Run,
    Stage,
    Start,
)
from tests.controllers.test_scheduler import add, node, place, pod


def a_pod(policy="Never", owner=None, uid="u"):
    owners = [{"kind": owner, "controller": True}] if owner else []
    meta = {"name": "p", "namespace": "ns", "uid": uid, "ownerReferences": owners}
    return {"metadata": meta, "spec": {"restartPolicy": policy}}


def container(*command, role="main", name="c", restarts=0):
    return Container(name, {"name": name, "command": list(command)}, role, restarts=restarts)


def decided(at, pod, container, *added):
    stages = Stages(SeededRandom(1))
    for one in added:
        stages.add(one)
    found = stages.find(at, pod, container)
    return None if found is None else (found[0].action, found[1])


WAITS = ("sh", "-c", "until test -f a; do sleep 1; done; exit 4")


@pytest.mark.parametrize(
    ("at", "pod", "container", "expected"),
    [
        ("creating", a_pod(), container(), (Start(), 1.0)),
        ("terminating", a_pod(), container(), (Exit(0), 1.0)),
        ("probing", a_pod(), container(), None),
        # without a command
        ("running", a_pod(), container(), (Run(), 0.0)),
        ("running", a_pod("Always"), container(), (Run(), 0.0)),
        ("running", a_pod("Never", "Job"), container(), (Exit(0), 1.0)),
        ("running", a_pod("Never", "Job"), container(role="sidecar"), (Run(), 0.0)),
        ("running", a_pod("Always"), container(role="init"), (Exit(0), 1.0)),
        ("running", a_pod("Always"), container(role="sidecar"), (Run(), 0.0)),
        # with a command
        ("running", a_pod("Never"), container("false"), (Exit(1), 1.0)),
        ("running", a_pod("OnFailure"), container("sleep", "7"), (Exit(0), 7.0)),
        ("running", a_pod("Never", "Job"), container("sh", "-c", "sleep 3; exit 2"), (Exit(2), 3.0)),
        ("running", a_pod("Never", "Job"), container("sleep", "infinity"), (Run(), 0.0)),
        ("running", a_pod("Always"), container("false"), (Run(), 0.0)),
        ("running", a_pod("Never"), container("false", role="sidecar"), (Run(), 0.0)),
        ("running", a_pod("Always"), container("false", role="init"), (Exit(1), 1.0)),
        # loops that wait: an init container is through at once, another one waits for ever
        ("running", a_pod("Never"), container(*WAITS), (Run(), 0.0)),
        ("running", a_pod("Never"), container(*WAITS, role="init"), (Exit(0), 1.0)),
    ],
)
def test_the_default_stages(at, pod, container, expected):
    assert decided(at, pod, container) == expected


def test_added_stages_decide_before_the_default_ones_the_latest_first():
    first = Stage("first", "running", Exit(1), delay=5.0)
    second = Stage("second", "running", Hang(), container="x*")
    assert decided("running", a_pod(), container(), first, second) == (Exit(1), 5.0)
    assert decided("running", a_pod(), container(name="xy"), first, second) == (Hang(), 0.0)
    assert decided("running", a_pod(), container(name="xy"), second, first) == (Exit(1), 5.0)
    assert decided("creating", a_pod(), container(), first) == (Start(), 1.0)


def test_an_added_stage_of_commands_leaves_containers_without_one_to_the_next():
    reads = Stage("reads", "running", Command(), delay=9.0)
    assert decided("running", a_pod("Always"), container("false"), reads) == (Exit(1), 9.0)
    assert decided("running", a_pod("Always"), container(), reads) == (Run(), 0.0)


def test_the_jitter_is_part_of_the_delay_and_follows_pod_container_and_restarts():
    jittered = Stage("j", "running", Exit(), delay=2.0, jitter=3.0)
    cases = [(uid, name, n) for uid in "uv" for name in "cd" for n in (0, 1)]
    found = [decided("running", a_pod(uid=u), container(name=name, restarts=n), jittered)[1] for u, name, n in cases]
    assert len(set(found)) == len(cases)
    assert all(2.0 <= one < 5.0 for one in found)
    again = [decided("running", a_pod(uid=u), container(name=name, restarts=n), jittered)[1] for u, name, n in cases]
    assert again == found


def test_stages_are_forgotten_by_their_selector_or_the_uids_of_their_pods():
    def left(*gone):
        stages = Stages(SeededRandom(1))
        stages.add(Stage("labels", "running", Exit(1), PodSelector(name="p")))
        stages.add(Stage("other", "running", Exit(2), PodSelector(name="q")))
        stages.add(Stage("pods", "running", Exit(3), PodSelector(uids=frozenset({"u", "v"}))))
        for selector, uids in gone:
            stages.forget(selector, uids)
        return [stages.find("running", a_pod(uid=uid), container())[0].name for uid in "uvw"]

    other, ours = PodSelector(name="x"), PodSelector(name="p")
    assert left() == ["pods", "pods", "labels"]
    assert left((other, ["u"])) == ["labels", "pods", "labels"]
    assert left((other, ["u"]), (other, ["v"])) == ["labels", "labels", "labels"]
    assert left((ours, [])) == ["pods", "pods", "run"]
    assert left((ours, ["u", "v"])) == ["run", "run", "run"]


def test_a_reset_keeps_the_configured_stages_in_their_order():
    configured = [Stage("first", "running", Exit(1), container="x*"), Stage("second", "running", Exit(2))]
    stages = Stages(SeededRandom(1), configured)
    stages.add(Stage("added", "running", Exit(3), PodSelector(name="p")))
    found = [stages.find("running", a_pod(), container(name=name))[0].name for name in ("x", "y")]
    stages.reset()
    found += [stages.find("running", a_pod(), container(name=name))[0].name for name in ("x", "y")]
    assert found == ["added", "added", "first", "second"]


def test_scripts_are_the_added_actions_of_probes():
    stages = Stages(SeededRandom(1))
    bad, good = ProbeResult("readiness", False), ProbeResult("readiness", True)
    stages.add(Stage("a", "probing", bad))
    stages.add(Stage("b", "running", Exit()))
    stages.add(Stage("c", "probing", good, container="other"))
    stages.add(Stage("d", "probing", good))
    assert stages.scripts(a_pod(), container()) == [good, bad]


@pytest.mark.parametrize(
    ("policy", "pulls"), [("Always", [True, True]), ("IfNotPresent", [True, False]), ("Never", [False, False])]
)
def test_images_are_pulled_by_policy_and_kept_on_the_node(policy, pulls):
    images = {"here:1"}
    world = NodeWorld(Stages(SeededRandom(1)), images, NamespacedObjects({}, "ns"))
    assert [world.pull("new:1", policy) for _ in range(2)] == pulls
    assert world.pull("here:1", policy) == (policy == "Always")
    assert images == {"here:1", "new:1"}


def test_a_pod_without_references_has_no_problems_and_reads_nothing():
    world = NodeWorld(Stages(SeededRandom(1)), set(), NamespacedObjects({}, "ns"))
    assert world.volume_problem({"spec": {}}) == ""
    assert world.config_problem({"spec": {}}, {"name": "c"}) == ""


# --- the scheduler: pods that wait


def node_of(kube, name):
    return kube.get("v1", "Pod", name)["spec"].get("nodeName")


NOT_BESIDE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


@pytest.mark.fakekube(controllers=["scheduler"])
@pytest.mark.parametrize(
    ("leaves", "free"),
    [("deleted", True), ("Succeeded", True), ("Failed", True), ("relabelled", True), ("annotated", False)],
)
def test_a_pod_that_waits_for_another_one_is_tried_when_that_one_counts_no_more(fakekube, leaves, free):
    add(fakekube, node("a"))
    assert place(fakekube, pod("db", {"app": "db"})) == "a"
    assert place(fakekube, pod("web", affinity=NOT_BESIDE)) is None
    fakekube.advance("20s")  # the back-off is over
    before = fakekube.controllers["scheduler"].reconciles()
    if leaves == "deleted":
        fakekube.delete("v1", "Pod", "db", gracePeriodSeconds=0)
    elif leaves == "relabelled":
        fakekube.patch("v1", "Pod", "db", {"metadata": {"labels": {"app": "other"}}})
    elif leaves == "annotated":
        fakekube.patch("v1", "Pod", "db", {"metadata": {"annotations": {"app": "other"}}})
    else:
        fakekube.patch("v1", "Pod", "db", {"status": {"phase": leaves}}, subresource="status")
    fakekube.settle()
    assert node_of(fakekube, "web") == ("a" if free else None)
    assert (fakekube.controllers["scheduler"].reconciles() > before) == free


@pytest.mark.fakekube(controllers=["scheduler"])
@pytest.mark.parametrize(("left", "free"), [("1", True), ("3", False)])
def test_a_pod_that_is_made_smaller_frees_its_room_at_once(fakekube, left, free):
    add(fakekube, node("a", cpu="4"))
    assert place(fakekube, pod("big", cpu="3")) == "a"
    assert place(fakekube, pod("web", cpu="2")) is None
    fakekube.advance("20s")
    resources = {"containers": [{"name": "c", "resources": {"requests": {"cpu": left}}}]}
    fakekube.patch("v1", "Pod", "big", {"spec": resources}, subresource="resize")
    fakekube.settle()
    assert node_of(fakekube, "web") == ("a" if free else None)


@pytest.mark.fakekube(controllers=["scheduler"])
def test_a_pod_that_waits_for_a_companion_is_tried_when_that_one_is_placed(fakekube):
    """The scheduler that has bound the companion itself missed the moment: the pod waited for ever."""
    beside = {"podAffinity": NOT_BESIDE["podAntiAffinity"]}
    add(fakekube, node("a"))
    assert place(fakekube, pod("web", affinity=beside)) is None
    fakekube.advance("20s")
    assert place(fakekube, pod("db", {"app": "db"})) == "a"
    assert node_of(fakekube, "web") == "a"


@pytest.mark.fakekube(controllers=["scheduler"])
def test_the_back_off_since_the_last_attempt_counts_when_a_pod_is_tried_again(fakekube):
    add(fakekube, node("a", cpu="1"))
    begun = fakekube.clock.now()
    assert place(fakekube, pod("web", cpu="3")) is None
    fakekube.advance("400ms")
    fakekube.patch("v1", "Node", "a", {"status": {"allocatable": {"cpu": "4"}}}, subresource="status")
    fakekube.advance_until(lambda: node_of(fakekube, "web") == "a", "1m")
    assert (fakekube.clock.now() - begun).total_seconds() == 1.0
