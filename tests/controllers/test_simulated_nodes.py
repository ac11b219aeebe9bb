"""Simulated nodes: what their kubelets write, and how a test loses and recovers them."""

import pytest

from fakekube import FakeKube, User

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
}


def lease(kube, name="node-1"):
    return kube.get("coordination.k8s.io/v1", "Lease", name, "kube-node-lease")


def condition(kube, kind, name="node-1"):
    found = kube.get("v1", "Node", name)["status"]["conditions"]
    return next(one for one in found if one["type"] == kind)


@pytest.mark.fakekube(nodes=2, rbac=True)
def test_nodes_are_registered_with_status_and_lease(fakekube):
    first = fakekube.get("v1", "Node", "node-1")
    assert first["status"]["allocatable"]["cpu"] == "8"
    assert first["status"]["addresses"][0] == {"type": "InternalIP", "address": "172.18.0.2"}
    assert first["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.2"
    assert first["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert "taints" not in first["spec"]
    assert condition(fakekube, "Ready")["status"] == "True"
    assert fakekube.get("v1", "Node", "node-2")["spec"]["podCIDR"] == "10.244.1.0/24"
    found = lease(fakekube)
    assert found["spec"]["holderIdentity"] == "node-1"
    assert found["metadata"]["ownerReferences"][0]["uid"] == first["metadata"]["uid"]
    users = {one.user for one in fakekube.requests(verb="create", resource="nodes")}
    assert users == {"system:node:node-1", "system:node:node-2"}
    assert fakekube.requests(code=403) == []


@pytest.mark.fakekube(controllers=["kubelet"])
def test_the_kubelet_alone_has_one_node(fakekube):
    assert [one["metadata"]["name"] for one in fakekube.list("v1", "Node")] == ["node-1"]


@pytest.mark.fakekube(nodes=1)
def test_leases_are_renewed_every_10_s_and_the_status_is_reported_every_5_min(fakekube):
    fakekube.advance(minutes=10)
    renewed = [one.at for one in fakekube.requests(verb="update", resource="leases")]
    assert renewed == [10.0 * number for number in range(1, 61)]
    reported = [one.at for one in fakekube.requests(verb="patch", resource="nodes", subresource="status")]
    assert reported == [300, 600]
    assert condition(fakekube, "Ready")["lastHeartbeatTime"] == "2026-01-01T00:10:00Z"
    assert condition(fakekube, "Ready")["lastTransitionTime"] == "2026-01-01T00:00:00Z"


@pytest.mark.fakekube(nodes=1)
def test_a_lost_node_writes_nothing_until_it_recovers(fakekube):
    fakekube.create(POD)
    fakekube.advance(15)
    before = len(fakekube.requests(user_agent="kubelet*"))
    fakekube.nodes["node-1"].lose()
    fakekube.delete("v1", "Pod", "web")
    fakekube.advance(minutes=10)
    assert len(fakekube.requests(user_agent="kubelet*")) == before
    assert fakekube.exists("v1", "Pod", "web")
    assert lease(fakekube)["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"
    fakekube.nodes["node-1"].recover()
    assert lease(fakekube)["spec"]["renewTime"] == "2026-01-01T00:10:15.000000Z"
    fakekube.advance(1)
    assert not fakekube.exists("v1", "Pod", "web")


def ready(kube):
    found = kube.get("v1", "Pod", "web")["status"]["conditions"]
    return [(one["status"], one["lastTransitionTime"]) for one in found if one["type"] == "Ready"]


@pytest.mark.fakekube(nodes=1, controllers=["nodelifecycle"])
def test_a_pod_is_ready_again_when_its_node_recovers_in_time(fakekube):
    fakekube.create(POD)
    fakekube.advance(15)
    since = ready(fakekube)
    fakekube.nodes["node-1"].lose()
    fakekube.advance(minutes=2)
    assert [status for status, _ in ready(fakekube)] == ["False"]
    fakekube.nodes["node-1"].recover()
    fakekube.advance(10)
    assert [status for status, _ in ready(fakekube)] == ["True"]
    assert ready(fakekube) > since


@pytest.mark.fakekube(nodes=1)
def test_a_pod_that_was_bound_to_a_lost_node_starts_when_it_recovers(fakekube):
    fakekube.nodes["node-1"].lose()
    fakekube.create(POD)
    fakekube.advance(20)
    assert fakekube.get("v1", "Pod", "web")["spec"]["nodeName"] == "node-1"
    fakekube.nodes["node-1"].recover()
    fakekube.advance(10)
    assert fakekube.get("v1", "Pod", "web")["status"]["phase"] == "Running"


@pytest.mark.fakekube(nodes=1)
def test_pressure_and_readiness_are_reported_at_once(fakekube):
    node = fakekube.nodes["node-1"]
    node.pressure("memory")
    assert condition(fakekube, "MemoryPressure")["reason"] == "KubeletHasInsufficientMemory"
    node.pressure("memory", under=False)
    assert condition(fakekube, "MemoryPressure")["status"] == "False"
    node.not_ready("the network is down")
    assert condition(fakekube, "Ready")["message"] == "the network is down"
    node.ready()
    assert condition(fakekube, "Ready")["reason"] == "KubeletReady"
    counts = {one["reason"]: one["count"] for one in fakekube.events() if one["involvedObject"]["kind"] == "Node"}
    assert counts == {
        "Starting": 1,
        "NodeReady": 2,
        "NodeHasInsufficientMemory": 1,
        "NodeHasSufficientMemory": 1,
        "NodeNotReady": 1,
    }


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("pressure", "kind", "good", "bad", "events"),
    [
        (
            "memory",
            "MemoryPressure",
            ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
            ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
        ),
        (
            "disk",
            "DiskPressure",
            ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            ("KubeletHasDiskPressure", "kubelet has disk pressure"),
            ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
        ),
        (
            "pid",
            "PIDPressure",
            ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
            ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
        ),
    ],
)
def test_the_condition_and_the_events_of_a_pressure(fakekube, pressure, kind, good, bad, events):
    """`nodestatus/setters.go`: MemoryPressureCondition and its neighbours."""
    node, seen = fakekube.nodes["node-1"], []
    for under in (False, True, False):
        fakekube.advance(1)
        node.pressure(pressure, under=under)
        found = condition(fakekube, kind)
        seen.append((found["status"], (found["reason"], found["message"]), found["lastTransitionTime"][17:19]))
    assert seen == [("False", good, "00"), ("True", bad, "02"), ("False", good, "03")]
    reasons = [one["reason"] for one in fakekube.events() if one["involvedObject"]["kind"] == "Node"]
    assert [one for one in reasons if one not in ("Starting", "NodeReady")] == events


@pytest.mark.fakekube(nodes=1)
def test_nodes_are_added_with_what_they_have(fakekube):
    taints = ["dedicated=db:NoSchedule", {"key": "k", "effect": "NoExecute"}]
    made = fakekube.nodes.add(
        "big", cpu=64, memory="256Gi", pods=500, labels={"size": "xl"}, taints=taints, resources={"example.com/gpu": 4}
    )
    assert made.name == "big"
    found = fakekube.get("v1", "Node", "big")
    assert found["spec"]["taints"] == [
        {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
        {"key": "k", "effect": "NoExecute"},
    ]
    assert found["metadata"]["labels"]["size"] == "xl"
    allocatable = found["status"]["allocatable"]
    assert (allocatable["cpu"], allocatable["pods"], allocatable["example.com/gpu"]) == ("64", "500", "4")
    assert found["spec"]["podCIDR"] == "10.244.4.0/22"
    with pytest.raises(ValueError, match="there is a node 'big' already"):
        fakekube.nodes.add("big")
    with pytest.raises(ValueError, match="expected 'key=value:Effect'"):
        fakekube.nodes.add("bad", taints=["dedicated"])


@pytest.mark.fakekube(nodes=1)
def test_a_node_without_a_lease(fakekube):
    fakekube.nodes.add("quiet", lease_duration=0)
    fakekube.advance(60)
    assert not fakekube.exists("coordination.k8s.io/v1", "Lease", "quiet", "kube-node-lease")


@pytest.mark.fakekube(nodes=1)
def test_a_node_that_was_deleted_is_not_registered_again(fakekube):
    fakekube.delete("v1", "Node", "node-1", None)
    fakekube.advance(minutes=6)
    assert fakekube.list("v1", "Node") == []
    fakekube.nodes.add("node-1")
    assert fakekube.exists("v1", "Node", "node-1", None)


@pytest.mark.fakekube(nodes=1)
def test_unknown_nodes(fakekube):
    with pytest.raises(KeyError, match=r"no simulated node 'n2' \(nodes: node-1\)"):
        fakekube.nodes["n2"]


@pytest.mark.parametrize(("nodes", "error"), [("3", TypeError), (True, TypeError), (-1, ValueError)])
def test_the_number_of_nodes_is_checked(nodes, error):
    with pytest.raises(error, match="nodes="):
        FakeKube(nodes=nodes)


@pytest.mark.fakekube(nodes=1, rbac=True)
def test_the_node_authorizer_is_part_of_rbac_with_kubelets(fakekube):
    from controllerlib import ApiError, Client

    client = Client(fakekube.access.transport(user=User("system:node:node-1", groups=("system:nodes",))))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    fakekube.create(secret)

    async def read():
        await client.get("v1", "Secret", "s", "default")

    with pytest.raises(ApiError, match="no relationship found between node 'node-1' and this object"):
        fakekube.run(read())


@pytest.mark.slow
def test_nodes_of_the_ini_file(pytester):
    pytester.makeini("[pytest]\nfakekube_nodes = 2\n")
    pytester.makepyfile("def test_it(fakekube):\n    assert len(fakekube.list('v1', 'Node')) == 2\n")
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
