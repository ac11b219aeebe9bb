"""The controllers of nodes: taints, lost nodes, evictions, and pods that no kubelet ends."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.controllers.nodelifecycle.tainteviction import toleration_time
from fakekube.controllers.workload.nodefit import matches_node, tolerates, untolerated_taint
from fakekube.controllers.workload.podstate import condition
from tests.controllers.workloads import node, set_ready, template

pytestmark = pytest.mark.fakekube(controllers=["nodelifecycle", "taint-eviction-controller", "podgc"], rbac=True)


def taints(fakekube, name="n1"):
    found = fakekube.get("v1", "Node", name, "")["spec"].get("taints") or []
    return [(one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in found]


def ready(fakekube, name="n1"):
    return condition(fakekube.get("v1", "Node", name, ""), "Ready")


def heartbeat(fakekube, name):
    now = f"{fakekube.clock.now().isoformat()}"[:26].removesuffix("+00:00")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "renewTime": f"{now[:19]}.000000Z"},
    }
    fakekube.apply(lease)


def pod(name="p", node_name="n1", **spec):
    meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {**template()["spec"], "nodeName": node_name, **spec},
    }


def elapsed(fakekube, since):
    return fakekube.clock.now() - since


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        ({"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "b"}, {"key": "a", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "c"}, {"key": "a", "value": "b", "effect": "NoSchedule"}, False),
        ({"key": "a", "effect": "NoExecute", "operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}, False),
        ({"key": "a", "operator": "Gt", "value": "5"}, {"key": "a", "value": "6", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "value": "6", "effect": "NoSchedule"}, False),
    ],
)
def test_tolerations(toleration, taint, expected):
    assert tolerates(toleration, taint) is expected


@given(st.lists(st.sampled_from(["a", "b", "c"])), st.sets(st.sampled_from(["a", "b", "c"])))
def test_an_untolerated_taint_is_one_without_a_toleration(keys, tolerated):
    present = [{"key": key, "effect": "NoExecute"} for key in keys]
    tolerations = [{"key": key, "operator": "Exists"} for key in tolerated]
    found = untolerated_taint(present, tolerations, ("NoExecute",))
    left = [key for key in keys if key not in tolerated]
    assert (found["key"] if found else None) == (left[0] if left else None)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"nodeSelector": {"pool": "a"}}, True),
        ({"nodeSelector": {"pool": "b"}}, False),
        ({"required": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a", "b"]}]}]}, True),
        ({"required": [{"matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]}]}, False),
        ({"required": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}, True),
        ({"required": [{"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["3"]}]}]}, True),
        ({"required": [{}]}, False),
    ],
)
def test_required_labels_of_a_node(spec, expected):
    terms = spec.pop("required", None)
    if terms is not None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec = {"affinity": {"nodeAffinity": required}}
    assert matches_node(spec, node(labels={"pool": "a", "cores": "4"})) is expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], 0.0),
        ([{"key": "a", "operator": "Exists"}], None),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": 300}], 300.0),
        ([{"operator": "Exists", "tolerationSeconds": 60}, {"key": "a", "operator": "Exists"}], 60.0),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": -1}], 0.0),
        ([{"key": "b", "operator": "Exists"}], 0.0),
    ],
)
def test_time_that_taints_are_tolerated(tolerations, expected):
    assert toleration_time([{"key": "a", "effect": "NoExecute"}], tolerations) == expected


def test_a_ready_node_loses_its_taint_and_gets_those_of_its_conditions(fakekube):
    fakekube.create(node())
    assert taints(fakekube) == [("not-ready", "NoSchedule")]
    fakekube.settle()
    assert taints(fakekube) == []
    pressure = [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]
    fakekube.patch("v1", "Node", "n1", {"status": {"conditions": pressure}}, "", subresource="status")
    fakekube.patch("v1", "Node", "n1", {"spec": {"unschedulable": True}}, "")
    fakekube.settle()
    assert sorted(taints(fakekube)) == [("disk-pressure", "NoSchedule"), ("unschedulable", "NoSchedule")]


def test_labels_of_former_names_follow(fakekube):
    fakekube.create(node(labels={"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}))
    fakekube.settle()
    labels = fakekube.get("v1", "Node", "n1", "")["metadata"]["labels"]
    assert (labels["beta.kubernetes.io/os"], labels["beta.kubernetes.io/arch"]) == ("linux", "arm64")


def test_pods_of_a_lost_node_are_evicted_after_five_minutes(fakekube):
    """A lost node is unreachable after 50 s, at the next look; its pods tolerate that for 300 s."""
    fakekube.create(node("n1"))
    fakekube.create(node("n2"))
    fakekube.create(pod())
    fakekube.settle()
    set_ready(fakekube, fakekube.get("v1", "Pod", "p"))
    begun = fakekube.clock.now()
    heartbeat(fakekube, "n1")

    def keep_alive():
        heartbeat(fakekube, "n2")
        fakekube.advance(5)

    while ready(fakekube)["status"] == "True":
        keep_alive()
    assert elapsed(fakekube, begun) == timedelta(seconds=55)
    assert ready(fakekube)["reason"] == "NodeStatusUnknown"
    assert ("unreachable", "NoSchedule") in taints(fakekube)
    assert ("unreachable", "NoExecute") in taints(fakekube)
    assert condition(fakekube.get("v1", "Pod", "p"), "Ready")["status"] == "False"
    tainted = fakekube.clock.now()
    while not fakekube.get("v1", "Pod", "p")["metadata"].get("deletionTimestamp"):
        keep_alive()
    assert elapsed(fakekube, tainted) == timedelta(seconds=300)
    target = condition(fakekube.get("v1", "Pod", "p"), "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "DeletionByTaintManager")
    assert [event["message"] for event in fakekube.events(reason="TaintManagerEviction")] == [
        "Marking for deletion Pod default/p"
    ]


def test_a_node_that_returns_keeps_its_pods(fakekube):
    fakekube.create(node("n1"))
    fakekube.create(node("n2"))
    fakekube.create(pod())
    fakekube.settle()
    for _ in range(20):
        heartbeat(fakekube, "n2")
        fakekube.advance(5)
    assert ("unreachable", "NoExecute") in taints(fakekube)
    now = f"{fakekube.clock.now().isoformat()[:19]}Z"
    alive = [{"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}]
    fakekube.patch("v1", "Node", "n1", {"status": {"conditions": alive}}, "", subresource="status")
    for _ in range(2):
        heartbeat(fakekube, "n2")
        fakekube.advance(5)
    assert taints(fakekube) == []
    assert fakekube.events(reason="TaintManagerEviction")[0]["message"] == "Cancelling deletion of Pod default/p"


def test_no_pod_is_evicted_when_all_nodes_are_lost(fakekube):
    """So many lost nodes are more likely a problem of the control plane."""
    fakekube.create(node("n1"))
    fakekube.create(node("n2"))
    fakekube.create(pod())
    fakekube.settle()
    fakekube.advance(minutes=30)
    assert ready(fakekube)["status"] == "Unknown"
    assert ("unreachable", "NoExecute") not in taints(fakekube)
    assert not fakekube.get("v1", "Pod", "p")["metadata"].get("deletionTimestamp")


def test_pods_of_a_deleted_node_go_after_the_quarantine(fakekube):
    fakekube.create(node())
    fakekube.create(pod())
    fakekube.settle()
    fakekube.delete("v1", "Node", "n1", "")
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: not fakekube.exists("v1", "Pod", "p"), "1h")
    assert elapsed(fakekube, begun) == timedelta(seconds=40)


def test_a_terminating_pod_of_a_node_out_of_service_goes(fakekube):
    fakekube.create(node("n1", ready="False"))
    fakekube.create(pod())
    fakekube.delete("v1", "Pod", "p")
    fakekube.settle()
    assert fakekube.exists("v1", "Pod", "p")
    out = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
    fakekube.patch("v1", "Node", "n1", {"spec": {"taints": out}}, "")
    fakekube.advance(20)
    assert not fakekube.exists("v1", "Pod", "p")


def test_without_nodes_nothing_is_asked(fakekube):
    fakekube.settle()
    before = len([one for one in fakekube.requests() if one.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([one for one in fakekube.requests() if one.verb != "watch"]) == before
