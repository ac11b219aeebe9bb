"""Which pods of a DaemonSet are created and deleted, beside a model of `rollingUpdate`; its pods and its history."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.apps.daemonset.daemonplan import Plan, plan_node, plan_update
from fakekube.controllers.apps.daemonset.daemonpods import (
    by_age,
    generation,
    is_updated,
    pod_template,
    should_run,
    surge,
    target_node,
    unavailable,
    with_tolerations,
)
from fakekube.controllers.workload.podstate import timestamp
from tests.controllers.test_daemonset import images, set_image, started, status
from tests.controllers.workloads import make_all_ready, pods, set_ready

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAEMONS = pytest.mark.fakekube(controllers=["daemonset", "nodelifecycle"])


def daemons(most_surge=0, most_unavailable=1, *, kind="RollingUpdate", annotations=None, minimum=0, **spec):
    rolling = {"maxSurge": most_surge, "maxUnavailable": most_unavailable}
    strategy = {"type": kind, **({"rollingUpdate": rolling} if kind == "RollingUpdate" else {})}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [], **spec}}
    found = {"template": template, "updateStrategy": strategy, "minReadySeconds": minimum}
    return {"metadata": {"annotations": annotations or {}}, "spec": found}


def node(name="a", *effects, **labels):
    taints = [{"key": "k", "effect": effect} for effect in effects]
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}


def pod(name="p", hash="new", *, ready=None, phase="Running", deleted=False, created=0, bound=True):
    """A pod; `ready`: for how many seconds it is ready."""
    meta = {
        "name": name,
        "labels": {"controller-revision-hash": hash},
        "creationTimestamp": f"2026-01-01T00:00:0{created}Z",
    }
    if deleted:
        meta["deletionTimestamp"] = "t"
    conditions = []
    if ready is not None:
        since = timestamp((NOW - timedelta(seconds=ready)).replace(tzinfo=None))
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    return {
        "metadata": meta,
        "spec": {"nodeName": "n"} if bound else {},
        "status": {"phase": phase, "conditions": conditions},
    }


# --- nodes


@pytest.mark.parametrize(
    ("effects", "tolerations", "expected"),
    [
        ((), (), (True, True)),
        (("NoSchedule",), (), (False, True)),
        (("NoExecute",), (), (False, False)),
        (("PreferNoSchedule",), (), (True, True)),
        (("NoSchedule", "NoExecute"), (), (False, False)),
        (("NoExecute",), ({"key": "k", "operator": "Exists"},), (True, True)),
    ],
)
def test_nodes_that_get_a_pod_and_nodes_that_keep_it(effects, tolerations, expected):
    assert should_run(daemons(tolerations=list(tolerations)), node("a", *effects)) == expected


def test_nodes_that_do_not_match():
    assert should_run(daemons(nodeSelector={"x": "1"}), node(x="2")) == (False, False)
    assert should_run(daemons(nodeName="b"), node("a")) == (False, False)
    assert should_run(daemons(nodeName="a"), node("a")) == (True, True)
    pressure = {
        "metadata": {"name": "a"},
        "spec": {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]},
    }
    assert should_run(daemons(), pressure) == (True, True)
    offline = {
        "metadata": {"name": "a"},
        "spec": {"taints": [{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]},
    }
    assert should_run(daemons(), offline) == (False, True)
    assert should_run(daemons(hostNetwork=True), offline) == (True, True)


def test_own_tolerations_are_kept_and_equal_ones_are_not_repeated():
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    found = with_tolerations({"tolerations": [own, {"key": "x"}]})["tolerations"]
    assert found[0] == {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    assert (found[1], len(found)) == ({"key": "x"}, 7)


def test_the_template_of_the_pods():
    one = daemons(annotations={"deprecated.daemonset.template.generation": "3"})
    labels = pod_template(one, "h")["metadata"]["labels"]
    assert labels == {"app": "web", "pod-template-generation": "3", "controller-revision-hash": "h"}
    assert pod_template(daemons(), "")["metadata"]["labels"] == {"app": "web"}
    assert (generation(one), generation(daemons())) == ("3", None)
    assert is_updated(pod(hash="h"), "h", None)
    assert not is_updated(pod(hash="h"), "i", None)
    assert not is_updated(pod(hash=""), "", None)
    by_generation = {"metadata": {"labels": {"pod-template-generation": "3"}}}
    assert (is_updated(by_generation, "h", "3"), is_updated(by_generation, "h", "4")) == (True, False)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"key": "metadata.name", "operator": "In", "values": ["a"]}, "a"),
        ({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, None),
        ({"key": "metadata.name", "operator": "NotIn", "values": ["a"]}, None),
        ({"key": "metadata.uid", "operator": "In", "values": ["a"]}, None),
    ],
)
def test_the_node_that_a_pod_is_for(field, expected):
    rule = {"nodeSelectorTerms": [{}, {"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rule}}
    assert target_node({"spec": {"affinity": affinity}}) == expected
    assert target_node({"spec": {"affinity": affinity, "nodeName": "z"}}) == "z"
    assert target_node({"spec": {}}) is None


@pytest.mark.parametrize(
    ("value", "nodes", "expected"), [(2, 10, 2), ("25%", 10, 3), ("0%", 10, 0)]
)  # fmt: skip
def test_limits_of_an_update(value, nodes, expected):
    assert (surge(daemons(value, 0), nodes), unavailable(daemons(0, value), nodes)) == (expected, expected)
    assert (surge(daemons(kind="OnDelete"), 5), unavailable(daemons(kind="OnDelete"), 5)) == (0, 0)


def test_pods_by_age():
    listed = [pod("c", created=1), pod("b", created=2), pod("a", created=2), pod("z", bound=False)]
    assert [one["metadata"]["name"] for one in by_age(listed[::-1])] == ["c", "a", "b", "z"]


# --- one node


def planned(daemon_set, one, *present, missing=False):
    plan = Plan()
    plan_node(plan, daemon_set, one, None if missing else list(present), "new", NOW)
    names = [[each["metadata"]["name"] for each in listed] for listed in (plan.pods, plan.ended)]
    return plan.nodes, *names


@pytest.mark.parametrize(
    ("most_surge", "effects", "present", "expected"),
    [
        (0, (), [pod("a")], ([], [], [])),
        (0, (), [pod("b", created=2), pod("a", created=1), pod("c", created=3)], ([], ["b", "c"], [])),
        (0, (), [pod("a", deleted=True)], ([], [], [])),
        (0, (), [pod("a", phase="Failed"), pod("b", phase="Succeeded"), pod("c")], ([], [], ["a", "b"])),
        (0, ("NoSchedule",), [pod("a")], ([], [], [])),
        (0, ("NoExecute",), [pod("a"), pod("b", deleted=True)], ([], ["a"], [])),
        # during a surge there may be an old pod and a new one
        (1, (), [pod("a", deleted=True)], (["a"], [], [])),
        (1, ("NoSchedule",), [pod("a", deleted=True)], ([], [], [])),
        (1, (), [pod("new"), pod("old", "x", ready=5)], ([], [], [])),
        (1, (), [pod("new"), pod("old", "x")], ([], ["old"], [])),
        (1, (), [pod("new", ready=5), pod("old", "x", ready=5)], ([], ["old"], [])),
        (
            1,
            (),
            [pod("n1", created=1), pod("n2", created=2), pod("o1", "x", ready=5), pod("o2", "x", created=3)],
            ([], ["n2", "o2"], []),
        ),
        (1, (), [pod("a"), pod("b", created=1)], ([], ["b"], [])),
        (1, (), [pod("a")], ([], [], [])),
    ],
)
def test_what_a_node_needs(most_surge, effects, present, expected):
    assert planned(daemons(most_surge), node("a", *effects), *present) == expected


def test_a_node_without_pods_gets_one():
    assert planned(daemons(), node("a"), missing=True) == (["a"], [], [])
    assert planned(daemons(), node("a", "NoSchedule"), missing=True) == ([], [], [])


def test_a_surge_pod_has_to_be_ready_for_long_enough():
    present = [pod("new", ready=5), pod("old", "x", ready=5)]
    assert planned(daemons(1, minimum=5), node("a"), *present)[1] == ["old"]
    assert planned(daemons(1, minimum=6), node("a"), *present)[1] == []


# --- the rolling update, beside a model

#: What there is on a node: for the new and for the old pod "" (none), "up" (available) or "down".
STATES = st.tuples(st.sampled_from(["", "up", "down"]), st.sampled_from(["", "up", "down"]))


def made(name, hash, state):
    return pod(name, hash, ready=9 if state == "up" else None)


def by_unavailability(states, most):
    """`rollingUpdate` without a surge: the nodes whose old pod is deleted."""
    missing, broken, candidates = 0, [], []
    for name, (new, old) in states.items():
        if bool(new) == bool(old):
            missing += 1
        elif new:
            missing += new == "down"
        elif old == "down":
            broken.append(name)
            missing += 1
        elif missing < most:
            candidates.append(name)
    return broken + candidates[: max(most - missing, 0)]


def by_surge(states, most, wanted):
    """`rollingUpdate` with a surge: the nodes whose old pod is deleted, and those that get a new one."""
    surging = available = 0
    gone, nodes, unwanted, candidates = [], [], [], []
    for name, (new, old) in states.items():
        available += (old or new) == "up"
        if not old:
            continue
        if not new:
            if old == "down":
                (nodes if name in wanted else gone).append(name)
            elif name not in wanted:
                unwanted.append(name)
            elif surging < most:
                candidates.append(name)
        elif new == "down":
            surging += 1
        else:
            gone.append(name)
    gone += unwanted[: max(available - len(wanted), 0)]
    return gone, nodes + candidates[: max(most - surging, 0)]


@settings(max_examples=100)
@given(st.lists(st.tuples(STATES, st.booleans()), min_size=1, max_size=5), st.integers(0, 2), st.integers(0, 3))
def test_rolling_updates_are_those_of_the_model(rows, most_surge, most_unavailable):
    names = "abcde"[: len(rows)]
    states = dict(zip(names, (states for states, _ in rows), strict=True))
    wanted = [name for name, (_, suits) in zip(names, rows, strict=True) if suits]
    nodes = [node(name) if name in wanted else node(name, "NoSchedule") for name in names]
    present = {
        name: [made(f"{name}-{hash}", hash, state) for hash, state in (("new", new), ("old", old)) if state]
        for name, (new, old) in states.items()
    }
    present = {name: listed for name, listed in present.items() if listed}
    counted = {name: states[name] for name in names if name in wanted or name in present}
    plan = plan_update(daemons(most_surge, most_unavailable), nodes, present, "new", NOW)
    if most_surge:
        gone, created = by_surge(counted, most_surge, wanted)
    else:
        most = most_unavailable or (1 if wanted else 0)
        gone, created = by_unavailability(counted, most), []
    assert [one["metadata"]["name"] for one in plan.pods] == [f"{name}-old" for name in gone]
    assert list(plan.nodes) == created


def test_nodes_with_several_pods_of_a_template_wait():
    several = {"a": [pod("1", "x", ready=5), pod("2", "x", ready=5)], "b": [pod("3", "x", ready=5)]}
    nodes = [node("a"), node("b")]
    assert plan_update(daemons(0, 1), nodes, several, "new", NOW).pods == []
    assert plan_update(daemons(1, 0), nodes, several, "new", NOW).nodes == []
    assert plan_update(daemons(2, 0), nodes, several, "new", NOW).nodes == ["b"]
    leaving = {"a": [pod("1", "x", ready=5), pod("2", "x", deleted=True)]}
    found = plan_update(daemons(0, 1), nodes[:1], leaving, "new", NOW).pods
    assert [one["metadata"]["name"] for one in found] == ["1"]


# --- the controller


@DAEMONS
def test_ended_pods_are_replaced_failed_ones_after_a_delay_that_doubles(fakekube):
    started(fakekube, nodes=1)

    def end(phase):
        (one,) = pods(fakekube)
        fakekube.patch("v1", "Pod", one["metadata"]["name"], {"status": {"phase": phase}}, subresource="status")
        begun, name = fakekube.clock.now(), one["metadata"]["name"]
        fakekube.advance_until(lambda: [each["metadata"]["name"] for each in pods(fakekube)] not in ([name], []), "5m")
        return (fakekube.clock.now() - begun).total_seconds()

    assert end("Succeeded") == 0
    assert [end("Failed") for _ in range(4)] == [0, 1, 2, 4]
    assert len(fakekube.events(reason="FailedDaemonPod")) > 0
    assert len(fakekube.events(reason="SucceededDaemonPod")) == 1


@DAEMONS
def test_former_templates_are_kept_as_revisions_up_to_the_limit(fakekube):
    started(fakekube, nodes=1, revisionHistoryLimit=1)
    make_all_ready(fakekube)
    for image in ("nginx:2", "nginx:3", "nginx:4"):
        set_image(fakekube, image)
        make_all_ready(fakekube)
    found = fakekube.list("apps/v1", "ControllerRevision")
    assert sorted(one["revision"] for one in found) == [3, 4]
    set_image(fakekube, "nginx:3")
    make_all_ready(fakekube)
    assert sorted(one["revision"] for one in fakekube.list("apps/v1", "ControllerRevision")) == [4, 5]
    assert images(fakekube) == ["nginx:3"]
    newest = max(fakekube.list("apps/v1", "ControllerRevision"), key=lambda one: one["revision"])
    (running,) = pods(fakekube)
    assert (
        running["metadata"]["labels"]["controller-revision-hash"]
        == newest["metadata"]["labels"]["controller-revision-hash"]
    )


@DAEMONS
def test_the_counts_of_the_status(fakekube):
    started(fakekube, nodes=3, minReadySeconds=10)
    assert status(fakekube) == {
        "currentNumberScheduled": 3,
        "desiredNumberScheduled": 3,
        "numberMisscheduled": 0,
        "numberReady": 0,
        "numberUnavailable": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
    }
    written = len(fakekube.requests(verb="update", resource="daemonsets"))
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"annotations": {"look": "at it"}}})
    fakekube.settle()
    assert len(fakekube.requests(verb="update", resource="daemonsets")) == written
    for one in pods(fakekube)[:2]:
        set_ready(fakekube, one)
    fakekube.settle()
    found = status(fakekube)
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberUnavailable",
    )
    assert [found.get(name) for name in names] == [3, 3, 2, 3, 3]
    fakekube.advance(11)
    assert (status(fakekube)["numberAvailable"], status(fakekube)["numberUnavailable"]) == (2, 1)
    fakekube.patch("v1", "Node", "n0", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, "")
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"annotations": {"look": "again"}}})
    fakekube.advance(1)
    assert (status(fakekube)["desiredNumberScheduled"], status(fakekube)["numberMisscheduled"]) == (2, 1)
    fakekube.patch("v1", "Node", "n0", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}, "")
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"annotations": {"look": "once more"}}})
    fakekube.advance(1)
    assert sorted(target_node(one) for one in pods(fakekube)) == ["n1", "n2"]


@DAEMONS
def test_the_pod_for_a_deleted_node_goes_and_the_generation_is_observed(fakekube):
    started(fakekube, nodes=2)
    assert sorted(target_node(one) for one in pods(fakekube)) == ["n0", "n1"]
    fakekube.delete("v1", "Node", "n0", "")
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"spec": {"minReadySeconds": 1}})
    fakekube.settle()
    assert [target_node(one) for one in pods(fakekube)] == ["n1"]
    found = fakekube.get("apps/v1", "DaemonSet", "agent")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"] == 2


HASH = "controller-revision-hash"


def revisions(fakekube):
    found = fakekube.list("apps/v1", "ControllerRevision")
    return {one["metadata"]["name"]: one for one in found}


@DAEMONS
def test_revisions_with_the_same_template_become_one(fakekube):
    """`update.go`: dedupCurHistories keeps the one of the highest number and labels the pods with its hash."""
    started(fakekube, nodes=2)
    (first,) = revisions(fakekube).values()
    for number, other in ((7, "agent-b"), (3, "agent-a")):
        labels = {**first["metadata"]["labels"], HASH: f"of-{other}"}
        owners = first["metadata"]["ownerReferences"]
        meta = {"name": other, "namespace": "default", "labels": labels, "ownerReferences": owners}
        revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta}
        fakekube.create({**revision, "revision": number, "data": first["data"]})
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"annotations": {"why": "again"}}})
    fakekube.settle()
    assert {one: found["revision"] for one, found in revisions(fakekube).items()} == {"agent-b": 7}
    assert {one["metadata"]["labels"][HASH] for one in pods(fakekube)} == {"of-agent-b"}


@DAEMONS
@pytest.mark.parametrize(("same", "collisions"), [(True, None), (False, 1)])
def test_a_revision_of_that_name_is_used_if_its_template_is_the_same(fakekube, same, collisions):
    """`update.go`: snapshot; the name after a collision has another hash."""
    started(fakekube, nodes=1)
    ((name, first),) = revisions(fakekube).items()
    fakekube.delete("apps/v1", "DaemonSet", "agent")
    fakekube.delete("apps/v1", "ControllerRevision", name)
    meta = {"name": name, "namespace": "default", "labels": {"app": "other"}}
    data = first["data"] if same else {"spec": {"template": {"$patch": "replace"}}}
    revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta}
    fakekube.create({**revision, "revision": 1, "data": data})
    started(fakekube, nodes=0)
    fakekube.advance("1s")
    assert len(revisions(fakekube)) == (1 if same else 2)
    assert status(fakekube).get("collisionCount") == collisions
    assert bool(fakekube.controllers["daemonset"].errors("default/agent")) != same


@DAEMONS
def test_a_revision_without_a_hash_gets_its_name_as_the_label(fakekube):
    started(fakekube, nodes=1)
    (name,) = revisions(fakekube)
    fakekube.patch("apps/v1", "ControllerRevision", name, {"metadata": {"labels": {HASH: None}}})
    fakekube.settle()
    assert revisions(fakekube)[name]["metadata"]["labels"] == {"app": "web", HASH: name}


@DAEMONS
def test_revisions_that_pods_have_are_kept_beyond_the_limit(fakekube):
    started(fakekube, nodes=2, revisionHistoryLimit=2, updateStrategy={"type": "OnDelete"})
    for image in ("nginx:2", "nginx:3", "nginx:4"):
        set_image(fakekube, image)
    assert sorted(one["revision"] for one in revisions(fakekube).values()) == [1, 3, 4]
    fakekube.patch("apps/v1", "DaemonSet", "agent", {"metadata": {"annotations": {"why": "a change"}}})
    set_image(fakekube, "nginx:5")
    newest = max(revisions(fakekube).values(), key=lambda one: one["revision"])
    assert newest["metadata"]["annotations"]["why"] == "a change"
