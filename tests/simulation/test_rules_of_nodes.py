"""Which pods lose their nodes, and when; what is done to nodes and pods as kubectl, the scheduler or a failure does it."""

from types import SimpleNamespace

import pytest

from fakekube import FakeKube
from fakekube.simulation import allocations
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.atoms import Drain, Evict, Lose, Preempt
from fakekube.simulation.nodeplans import node_faults
from fakekube.simulation.observation import Observation
from fakekube.simulation.running.nodehands import NodeHands
from tests.simulation.observations import commit

# --- which pods, and when


def pod(uid="u-a", node="", ready=False, policy="Always", owners=()):
    meta = {"name": "a", "uid": uid, **({"ownerReferences": [{"uid": one} for one in owners]} if owners else {})}
    spec = {"restartPolicy": policy, **({"nodeName": node} if node else {})}
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"conditions": conditions}}


BARE, BOUND, READY = pod(), pod(node="n"), pod(node="n", ready=True)


def life(number=1, target="pod/a", actor="operator db", uid="u-a", **more):
    """A pod is created, bound to a node, and ready."""
    bare, bound, ready = pod(uid, **more), pod(uid, "n", **more), pod(uid, "n", True, **more)
    return [
        commit(number, "create", target, actor, after=bare),
        commit(number + 1, "update", target, "scheduler", bare, bound),
        commit(number + 2, "update", target, "kubelet", bound, ready, 2),
    ]


def planned(*commits):
    reference = Observation(0, commits=list(commits))
    return [str(one) for one in node_faults(reference, reference.by_operators())]


WHEN = "@update pod/a{status.conditions[Ready].status,status.conditions[Ready].type}#2"


def test_each_way_in_which_a_pod_of_an_operator_leaves_its_node():
    ways = ["evict(pod/a)", "lose(pod/a, 600)", "preempt(pod/a)", "drain(pod/a, 60)", "lose(pod/a, 120)"]
    assert planned(*life()) == [f"{one}{WHEN}" for one in ways]


@pytest.mark.parametrize(
    ("commits", "planned_for"),
    [
        pytest.param(life(actor="test"), 0, id="of-the-test"),
        pytest.param([commit(9, "create", "replicaset/r", "operator db", after={"metadata": {"uid": "r"}}),
                      *life(11, actor="controller replicaset", owners=["r"])], 5, id="of-a-workload-of-an-operator"),
        pytest.param([commit(8, "create", "deployment/d", "operator db", after={"metadata": {"uid": "d"}}),
                      commit(9, "create", "replicaset/r", "controller deployment",
                             after={"metadata": {"uid": "r", "ownerReferences": [{"uid": "d"}]}}),
                      *life(11, actor="controller replicaset", owners=["r"])], 5, id="of-its-owner"),
        pytest.param([commit(9, "create", "replicaset/r", "test", after={"metadata": {"uid": "r"}}),
                      *life(11, actor="controller replicaset", owners=["r"])], 0, id="of-a-workload-of-the-test"),
        pytest.param(life(owners=["u-a"], actor="test"), 0, id="its-own-owner"),
        pytest.param(life(policy="Never"), 0, id="that-runs-to-an-end"),
        pytest.param([*life(), *life(11, "pod/b", uid="u-b", policy="OnFailure")], 4, id="beside-one-that-ends"),
        pytest.param(life()[:2], 0, id="that-is-never-ready"),
        pytest.param(life()[:1], 0, id="that-is-on-no-node"),
    ],
)  # fmt: skip
def test_the_pods_that_leave_their_nodes(commits, planned_for):
    assert len(planned(*commits)) == planned_for


def test_no_more_than_three_pods_leave_their_nodes():
    commits = [one for number in range(5) for one in life(10 * number + 1, f"pod/p{number}", uid=f"u{number}")]
    found = planned(*commits)
    assert sorted({one.partition("(")[2].partition(")")[0].partition(",")[0] for one in found}) == [
        "pod/p0",
        "pod/p1",
        "pod/p2",
    ]


def update(number, target, actor, **more):
    before = {"metadata": {"uid": "x"}, "spec": {"n": number}}
    return commit(number, "update", target, actor, before, {**before, "spec": {"n": number + 1}}, number, **more)


def moments(*later):
    """The revisions of the changes at which a pod is evicted."""
    commits = [*life(), *later]
    reference = Observation(0, commits=commits)
    by_anchor = {str(one.anchor): one.revision for one in reversed(commits)}
    faults = node_faults(reference, reference.by_operators())
    return [by_anchor[str(one.at)] for one in faults if isinstance(one, Evict)]


def test_a_pod_leaves_its_node_when_it_is_ready_and_at_later_writes():
    assert moments() == [3]
    assert moments(update(10, "store/a", "operator db")) == [3, 10]
    writes = [update(number, "store/a", "operator db") for number in (10, 11, 12)]
    assert moments(*writes) == [3, 10, 12], "the next and the last write"
    tests = [update(number, "store/b", "test") for number in (13, 14, 15)]
    assert moments(*writes, *tests) == [3, 10, 13, 12, 15]
    assert moments(update(10, "store/a", "kubelet")) == [3], "of others nothing"
    assert moments(update(10, "store/a", "operator db", rest=True)) == [3], "nor in the check for writes at rest"


def test_a_pod_leaves_its_node_before_it_is_deleted():
    deleted = commit(20, "delete", "pod/a", "operator db", before=READY)
    before, after = update(10, "store/a", "operator db"), update(30, "store/a", "operator db")
    assert moments(before, deleted, after) == [3, 10]
    assert moments(before, after) == [3, 10, 30]


def test_a_pod_that_comes_back_leaves_its_node_until_it_is_deleted_for_good():
    def deleted(number):
        return commit(number, "delete", "pod/a", "operator db", before=READY)

    writes = [update(number, "store/a", "operator db") for number in (10, 15, 30)]
    back = commit(14, "create", "pod/a", "operator db", after=BARE, occurrence=2)
    assert moments(writes[0], deleted(12), back, writes[1], deleted(20), writes[2]) == [3, 10, 15]


def test_the_names_and_addresses_of_nodes():
    final = {
        "node/n": {"metadata": {"name": "n"}, "status": {"addresses": [{"address": "10.0.0.1"}, {"address": ""}]}},
        "node/m": {"metadata": {"name": "m"}},
        "pod/a": {
            "metadata": {"name": "x"},
            "status": {"podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]},
        },
        "svc/s": {"spec": {"clusterIPs": ["None"], "ports": [{"nodePort": 30000}, {}]}},
    }
    assert allocations.nodes(final) == {"n", "m", "10.0.0.1"}
    assert allocations.assigned(final) == {"10.1.0.1", "fd00::1"}
    assert allocations.drawn(final) == {"30000"}


# --- what is done


class Recorder:
    """Where pods are anchored, and whether another client than the operator writes."""

    racing = False

    def anchor_of(self, collection, path, before, after):
        return Anchor("create", f"pod/{path.rpartition('/')[2]}", (), 1)


AT = Anchor("update", "pod/a", (), 1)


def running(name, **more):
    meta = {"name": name, "namespace": "default", **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
def kube():
    with FakeKube(nodes=1, detect={"all": "off"}) as kube:
        for name in ("a", "b"):
            kube.create(running(name))
        (node,) = kube.nodes
        static = running("static", annotations={"kubernetes.io/config.mirror": "x"})
        kube.create({**static, "spec": {**static["spec"], "nodeName": node}})
        kube.advance(5)
        yield kube


def hands(kube):
    return NodeHands(kube, Recorder(), "racer/1")


def sent(kube):
    return [f"{one.verb} {one.resource}{'/' + one.subresource if one.subresource else ''} {one.name} {one.code}"
            for one in kube.requests(user_agent="racer/1")]  # fmt: skip


def test_a_pod_is_evicted(kube):
    end = hands(kube).disrupt(Evict("pod/a", AT))
    assert sent(kube) == [], "right after the present change"
    kube.settle()
    end()
    kube.advance(40)
    assert sent(kube) == ["create pods/eviction a 201"]
    assert (kube.exists("v1", "Pod", "a"), kube.exists("v1", "Pod", "b")) == (False, True)


def test_an_eviction_is_tried_again_while_a_budget_refuses_it(kube):
    selector = {"matchLabels": {"app": "a"}}
    kube.patch("v1", "Pod", "a", {"metadata": {"labels": selector["matchLabels"]}})
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "x", "namespace": "default"},
    }
    kube.create({**budget, "spec": {"minAvailable": 1, "selector": selector}})
    hands(kube).disrupt(Evict("pod/a", AT))
    kube.advance(12)
    assert sent(kube) == ["create pods/eviction a 429"] * 3
    kube.delete("policy/v1", "PodDisruptionBudget", "x")
    kube.advance(5)
    assert sent(kube)[3:] == ["create pods/eviction a 201"]


def test_an_eviction_is_not_tried_for_ever(kube):
    kube.fault(verb="create", resource="pods", subresource="eviction", error=429, user_agent="racer*", times=None)
    hands(kube).disrupt(Evict("pod/a", AT))
    kube.advance(600)
    assert len(sent(kube)) == 61, "each five seconds for five minutes, and once more"


def test_what_is_done_to_pods_is_known_as_the_write_of_a_racer(kube):
    marks = []

    class Marked(Recorder):
        def __setattr__(self, name, value):
            marks.append((name, value, len(sent(kube))))

    NodeHands(kube, Marked(), "racer/1").disrupt(Preempt("pod/a", AT))
    kube.settle()
    assert marks == [("racing", True, 0), ("racing", False, 1), ("racing", True, 1), ("racing", False, 2)]


def test_a_pod_is_preempted(kube):
    hands(kube).disrupt(Preempt("pod/a", AT))
    kube.settle()
    assert sent(kube) == ["patch pods/status a 200", "delete pods a 200"]
    reasons = {one["type"]: one.get("reason") for one in kube.get("v1", "Pod", "a")["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "PreemptionByScheduler"


def test_a_node_is_drained_and_used_again(kube):
    (node,) = kube.nodes
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    kube.create(running("daemon", ownerReferences=[owner]))
    kube.advance(5)
    end = hands(kube).disrupt(Drain("pod/a", 60, AT))
    kube.settle()
    assert kube.get("v1", "Node", node, "")["spec"]["unschedulable"]
    assert sent(kube) == [f"patch nodes {node} 200", "create pods/eviction a 201", "create pods/eviction b 201"]
    end()
    assert not kube.get("v1", "Node", node, "")["spec"].get("unschedulable")


def test_a_node_is_lost_and_comes_back(kube):
    (node,) = kube.nodes
    made = hands(kube)
    end = made.disrupt(Lose("pod/a", 60, AT))
    assert kube.nodes[node].is_lost
    assert made.disrupt(Lose("pod/b", 60, AT)) is None, "it is lost already"
    end()
    assert not kube.nodes[node].is_lost
    assert sent(kube) == []


@pytest.mark.parametrize("fault", [Evict("pod/z", AT), Drain("pod/z", 60, AT), Lose("pod/z", 60, AT)])
def test_a_pod_that_is_on_no_node_is_left_alone(kube, fault):
    assert hands(kube).disrupt(fault) is None
    kube.delete("v1", "Pod", "a", gracePeriodSeconds=30)
    assert hands(kube).disrupt(Evict("pod/a", AT)) is None, "it is being deleted"


def test_without_nodes_nothing_happens():
    with FakeKube(detect={"all": "off"}) as kube:
        kube.create(running("a"))
        made = NodeHands(kube, SimpleNamespace(), "racer/1")
        assert (made.has_nodes, made.disrupt(Evict("pod/a", AT))) == (False, None)
