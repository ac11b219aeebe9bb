"""The scheduler: which node a pod gets, why it gets none, when it is tried again, and what it preempts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.controllers.scheduler import schedulingqueue
from fakekube.controllers.workload import nodefit, podrequests
from fakekube.controllers.workload.podstate import condition

SCHEDULER = ["scheduler"]
ZONE = "topology.kubernetes.io/zone"


def node(name, labels=None, taints=(), cpu="4", memory="8Gi", pods="10", **spec):
    """A Node without a kubelet."""
    labels = {"kubernetes.io/hostname": name, **(labels or {})}
    resources = {"cpu": cpu, "memory": memory, "pods": pods, "example.com/gpu": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(taints), **spec},
        "status": {"capacity": resources, "allocatable": resources},
    }


def pod(name, labels=None, cpu="", requests=None, ports=(), **spec):
    resources = {"requests": requests or ({"cpu": cpu} if cpu else {}), "limits": requests or {}}
    container = {"name": "c", "image": "nginx:1", "resources": resources, "ports": list(ports)}
    meta = {"name": name, "namespace": "default", "labels": labels or {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def add(kube, *nodes):
    """Create nodes without the taint that kube-apiserver gives to new ones."""
    for one in nodes:
        kube.create(one)
        kube.patch("v1", "Node", one["metadata"]["name"], {"spec": {"taints": one["spec"]["taints"] or None}})


def place(kube, made):
    """Create a pod and return its node; None if it has none."""
    kube.create(made)
    kube.settle()
    return where(kube, made["metadata"]["name"])


def priority(kube, name, value, **more):
    """Create a PriorityClass."""
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    kube.create({**kind, "metadata": {"name": name}, "value": value, **more})


def where(kube, name):
    return kube.get("v1", "Pod", name)["spec"].get("nodeName")


def why(kube, name):
    """The message of the condition PodScheduled."""
    found = kube.get("v1", "Pod", name)["status"]["conditions"]
    return next(one["message"] for one in found if one["type"] == "PodScheduled")


# --- binding ---------------------------------------------------------------------------------------------------------


@pytest.mark.fakekube(controllers=SCHEDULER, rbac=True)
def test_a_pod_is_bound_as_the_scheduler_does_it(fakekube):
    add(fakekube, node("a"))
    assert place(fakekube, pod("web")) == "a"
    written = fakekube.requests(user="system:kube-scheduler")
    writes = [(one.verb, one.resource, one.subresource) for one in written if one.verb == "create"]
    assert writes == [("create", "pods", "binding"), ("create", "events", "")]
    (event,) = fakekube.events(reason="Scheduled")
    assert event["message"] == "Successfully assigned default/web to a"
    assert (event["reportingComponent"], event["action"]) == ("default-scheduler", "Binding")
    assert fakekube.requests(code=403) == []


@pytest.mark.slow
@pytest.mark.fakekube(controllers=SCHEDULER)
def test_without_nodes_a_pod_waits_for_one(fakekube):
    assert place(fakekube, pod("web")) is None
    assert why(fakekube, "web") == "no nodes available to schedule pods"
    add(fakekube, node("a"))
    fakekube.advance(1)
    assert where(fakekube, "web") == "a"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_pods_of_other_schedulers_and_gated_pods_are_left_alone(fakekube):
    add(fakekube, node("a"))
    assert place(fakekube, pod("theirs", schedulerName="mine")) is None
    assert place(fakekube, pod("gated", schedulingGates=[{"name": "example.com/wait"}])) is None
    fakekube.patch("v1", "Pod", "gated", {"spec": {"schedulingGates": None}})
    fakekube.settle()
    assert where(fakekube, "gated") == "a"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_pods_of_a_higher_priority_are_scheduled_first(fakekube):
    priority(fakekube, "low", 1)
    priority(fakekube, "high", 10)
    fakekube.controllers["scheduler"].suspend()
    add(fakekube, node("a", cpu="1"))
    fakekube.create(pod("one", cpu="1", priorityClassName="low"))
    fakekube.create(pod("two", cpu="1", priorityClassName="high"))
    fakekube.controllers["scheduler"].resume()
    assert (where(fakekube, "one"), where(fakekube, "two")) == (None, "a")
    assert fakekube.events(reason="Preempted") == []


# --- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "made", "message"),
    [
        ([node("a"), node("b", cpu="1")], pod("p", cpu="5"), "2 Insufficient cpu"),
        ([node("a")], pod("p", requests={"cpu": "5", "memory": "9Gi"}), "1 Insufficient cpu, 1 Insufficient memory"),
        ([node("a")], pod("p", requests={"example.com/gpu": "2"}), "1 Insufficient example.com/gpu"),
        ([node("a", pods="0")], pod("p"), "1 Too many pods"),
        ([node("a", unschedulable=True)], pod("p"), "1 node(s) were unschedulable"),
        (
            [node("a"), node("b", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])],
            pod("p", cpu="5"),
            "1 Insufficient cpu, 1 node(s) had untolerated taint(s)",
        ),
        ([node("a")], pod("p", nodeSelector={"disk": "ssd"}), "1 node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_why_a_pod_fits_nowhere(nodes, made, message):
    with FakeKube(controllers=SCHEDULER) as kube:
        add(kube, *nodes)
        assert place(kube, made) is None
        start = f"0/{len(nodes)} nodes are available: {message}. preemption: 0/{len(nodes)} nodes are available: "
        assert why(kube, "p").startswith(start)
        (event,) = kube.events(reason="FailedScheduling")
        assert event["message"] == why(kube, "p")
        assert event["type"] == "Warning"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_the_message_about_preemption_has_a_reason_for_each_node(fakekube):
    add(fakekube, node("a"), node("b", unschedulable=True), node("c", cpu="1"))
    assert place(fakekube, pod("first", cpu="3")) == "a"
    assert place(fakekube, pod("p", cpu="3")) is None
    assert why(fakekube, "p") == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )


def node_affinity(**terms):
    return {"affinity": {"nodeAffinity": terms}}


def required(*expressions):
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    }


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, {"b"}),
        (node_affinity(**required({"key": "disk", "operator": "NotIn", "values": ["ssd"]})), {"a", "c"}),
        (node_affinity(**required({"key": "size", "operator": "Gt", "values": ["3"]})), {"c"}),
        (node_affinity(**required({"key": "size", "operator": "Lt", "values": ["3"]})), {"b"}),
        (node_affinity(**required({"key": "disk", "operator": "DoesNotExist"})), {"a"}),
        (
            node_affinity(
                preferredDuringSchedulingIgnoredDuringExecution=[
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
                    {
                        "weight": 9,
                        "preference": {"matchExpressions": [{"key": "size", "operator": "In", "values": ["4"]}]},
                    },
                ]
            ),
            {"c"},
        ),
        ({"tolerations": [{"key": "k", "operator": "Exists"}], "nodeSelector": {"tainted": "yes"}}, {"d"}),
    ],
)
def test_labels_and_affinity_choose_nodes(spec, chosen):
    with FakeKube(controllers=SCHEDULER) as kube:
        taint = {"key": "k", "value": "v", "effect": "NoExecute"}
        add(
            kube,
            node("a"),
            node("b", {"disk": "ssd", "size": "2"}),
            node("c", {"disk": "hdd", "size": "4"}),
            node("d", {"tainted": "yes", "disk": "hdd"}, taints=[taint]),
        )
        assert place(kube, pod("p", **spec)) in chosen


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_host_ports_conflict_on_one_node(fakekube):
    add(fakekube, node("a"), node("b"))
    ports = [{"containerPort": 80, "hostPort": 8080}]
    assert {place(fakekube, pod("one", ports=ports)), place(fakekube, pod("two", ports=ports))} == {"a", "b"}
    assert place(fakekube, pod("three", ports=ports)) is None
    assert "2 node(s) didn't have free ports for the requested pod ports" in why(fakekube, "three")


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_free_nodes_are_preferred(fakekube):
    add(fakekube, node("a"), node("b"))
    first = place(fakekube, pod("one", {"app": "one"}, cpu="3"))
    assert place(fakekube, pod("two", {"app": "two"}, cpu="1")) != first


# --- affinity between pods, and spreading ----------------------------------------------------------------------------


def term(app, key="kubernetes.io/hostname"):
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def pod_affinity(kind, app, key="kubernetes.io/hostname"):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term(app, key)]}}}


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_anti_affinity_keeps_pods_apart(fakekube):
    add(fakekube, node("a"), node("b"))
    apart = pod_affinity("podAntiAffinity", "web")
    assert {place(fakekube, pod("one", **apart)), place(fakekube, pod("two", **apart))} == {"a", "b"}
    assert place(fakekube, pod("three", **apart)) is None
    assert "2 node(s) didn't match pod anti-affinity rules" in why(fakekube, "three")
    assert place(fakekube, pod("four")) is None
    assert "2 node(s) didn't satisfy existing pods anti-affinity rules" in why(fakekube, "four")


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_affinity_keeps_pods_together(fakekube):
    add(fakekube, node("a", {ZONE: "x"}), node("b", {ZONE: "y"}), node("c", {ZONE: "y"}))
    together = pod_affinity("podAffinity", "web", ZONE)
    first = place(fakekube, pod("one", **together))  # the first one matches its own term
    zone = {"a": "x", "b": "y", "c": "y"}
    assert zone[place(fakekube, pod("two", **together))] == zone[first]
    assert place(fakekube, pod("three", **pod_affinity("podAffinity", "db"))) is None
    assert "3 node(s) didn't match pod affinity rules" in why(fakekube, "three")


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_preferred_anti_affinity_is_a_score(fakekube):
    add(fakekube, node("a"), node("b"))
    weighted = [{"weight": 100, "podAffinityTerm": term("web")}]
    apart = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}}
    names = [place(fakekube, pod(name, **apart)) for name in ("one", "two")]
    assert sorted(names) == ["a", "b"]


def spread(when="DoNotSchedule", key=ZONE, **more):
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **more}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "web"}}}]}


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_topology_spread(fakekube):
    add(fakekube, node("a", {ZONE: "x"}, pods="2"), node("b", {ZONE: "y"}, pods="1"), node("c"))
    found = [place(fakekube, pod(f"p{number}", **spread())) for number in range(4)]
    assert sorted(found[:2]) == ["a", "b"]
    assert found[2:] == ["a", None]
    assert why(fakekube, "p3").startswith(
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label), "
        "2 Too many pods."
    )


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_topology_spread_counts_the_domains_that_are_required(fakekube):
    add(fakekube, node("a", {ZONE: "x"}))
    assert place(fakekube, pod("one", **spread(minDomains=2))) == "a"
    assert place(fakekube, pod("two", **spread(minDomains=2))) is None
    assert "1 node(s) didn't match pod topology spread constraints." in why(fakekube, "two")


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_topology_spread_as_a_score(fakekube):
    add(fakekube, node("a", {ZONE: "x"}), node("b", {ZONE: "y"}, cpu="400"))
    found = [place(fakekube, pod(f"p{number}", **spread("ScheduleAnyway"))) for number in range(4)]
    assert sorted(found) == ["a", "a", "b", "b"]


# --- trying again ----------------------------------------------------------------------------------------------------


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_pod_is_tried_again_when_room_is_made(fakekube):
    add(fakekube, node("a", cpu="1"))
    place(fakekube, pod("one", cpu="1"))
    assert place(fakekube, pod("two", cpu="1")) is None
    fakekube.advance(100)
    assert len(fakekube.controllers["scheduler"].history("default/two")) == 1  # nothing has changed
    fakekube.delete("v1", "Pod", "one", gracePeriodSeconds=0)
    fakekube.settle()
    assert where(fakekube, "two") == "a"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_attempts_back_off_from_1_to_10_seconds(fakekube):
    add(fakekube, node("a", cpu="1"))
    fakekube.create(pod("web", cpu="2"))
    fakekube.settle()
    for number in range(60):
        fakekube.patch("v1", "Node", "a", {"metadata": {"labels": {"try": str(number)}}})
        fakekube.advance(1)
    times = [int(one.total_seconds()) for one in fakekube.controllers["scheduler"].times("default/web")]
    assert times == [0, 1, 3, 7, 15, 25, 35, 45, 55]


def test_back_off_by_attempts():
    assert [schedulingqueue.backoff(number) for number in range(1, 7)] == [1, 2, 4, 8, 10, 10]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_an_unschedulable_pod_is_written_once(fakekube):
    add(fakekube, node("a", cpu="1"))
    place(fakekube, pod("web", cpu="2"))
    for number in range(5):
        fakekube.patch("v1", "Node", "a", {"metadata": {"labels": {"try": str(number)}}})
        fakekube.advance(20)
    assert len(fakekube.requests(verb="patch", resource="pods", subresource="status")) == 1


# --- preemption ------------------------------------------------------------------------------------------------------


@pytest.mark.fakekube(nodes=0, controllers=["scheduler", "kubelet"], rbac=True)
def test_a_pod_of_a_higher_priority_preempts(fakekube):
    priority(fakekube, "high", 100)
    fakekube.nodes.add("a", cpu=2)
    fakekube.create(pod("low", cpu="2"))
    fakekube.advance(5)
    fakekube.create(pod("high", cpu="2", priorityClassName="high"))
    fakekube.settle()
    assert fakekube.get("v1", "Pod", "high")["status"]["nominatedNodeName"] == "a"
    assert fakekube.get("v1", "Pod", "low")["metadata"]["deletionTimestamp"]
    found = fakekube.get("v1", "Pod", "low")["status"]["conditions"]
    (disrupted,) = [one for one in found if one["type"] == "DisruptionTarget"]
    assert disrupted["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    uid = fakekube.get("v1", "Pod", "high")["metadata"]["uid"]
    (event,) = fakekube.events(reason="Preempted")
    assert event["message"] == f"Preempted by pod {uid} on node a"
    fakekube.advance(3)
    assert where(fakekube, "high") == "a"
    assert not fakekube.exists("v1", "Pod", "low")
    assert fakekube.requests(code=403) == []


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_preemption_takes_as_few_pods_as_it_can_and_the_least_important_ones(fakekube):
    priority(fakekube, "mid", 50)
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="4"))
    for name, cpu, rank in (("small", "1", {}), ("large", "2", {}), ("mid", "1", {"priorityClassName": "mid"})):
        place(fakekube, pod(name, cpu=cpu, **rank))
    place(fakekube, pod("high", cpu="2", priorityClassName="high"))
    leaving = [one["metadata"]["name"] for one in fakekube.list("v1", "Pod") if "deletionTimestamp" in one["metadata"]]
    assert leaving == ["large"]


def started(kube, name, time):
    """Report a pod as running since a time, as its kubelet would."""
    kube.patch("v1", "Pod", name, {"status": {"phase": "Running", "startTime": time}}, subresource="status")
    kube.settle()


def leaving(kube):
    return [one["metadata"]["name"] for one in kube.list("v1", "Pod") if "deletionTimestamp" in one["metadata"]]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_of_two_victims_of_equal_priority_the_one_that_started_later_goes(fakekube):
    """e2e, second pack: the scheduler knows when the pods of a node were started."""
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="2"))
    for name, time in (("early", "2020-01-01T00:00:00Z"), ("late", "2024-01-01T00:00:00Z"), ("waiting", None)):
        place(fakekube, pod(name, cpu="600m"))
        if time:
            started(fakekube, name, time)
    place(fakekube, pod("first", cpu="600m", priorityClassName="high"))
    assert leaving(fakekube) == ["waiting"]
    place(fakekube, pod("second", cpu="600m", priorityClassName="high"))
    assert leaving(fakekube) == ["late", "waiting"]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_of_two_nodes_with_equal_victims_the_one_whose_victim_started_later(fakekube):
    """e2e, second pack: the tie-break between nodes."""
    priority(fakekube, "high", 100)
    add(fakekube, *[node(name, cpu="2") for name in "abc"])
    for name, time in (("a", "2021-01-01T00:00:00Z"), ("b", "2024-01-01T00:00:00Z"), ("c", "2022-01-01T00:00:00Z")):
        place(fakekube, pod(f"on-{name}", cpu="2", nodeSelector={"kubernetes.io/hostname": name}))
        started(fakekube, f"on-{name}", time)
    place(fakekube, pod("high", cpu="2", priorityClassName="high"))
    assert leaving(fakekube) == ["on-b"]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_fewer_victims_win_also_with_negative_priorities(fakekube):
    priority(fakekube, "low", -10)
    add(fakekube, node("a", cpu="2"), node("b", cpu="2"))
    for name, where_, cpu in (("a1", "a", "1"), ("a2", "a", "1"), ("b1", "b", "2")):
        selector = {"kubernetes.io/hostname": where_}
        place(fakekube, pod(name, cpu=cpu, nodeSelector=selector, priorityClassName="low"))
    place(fakekube, pod("high", cpu="2"))
    assert leaving(fakekube) == ["b1"]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_the_condition_of_a_victim_comes_after_those_that_it_has(fakekube):
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="2"))
    place(fakekube, pod("low", cpu="2"))
    place(fakekube, pod("high", cpu="2", priorityClassName="high"))
    found = fakekube.get("v1", "Pod", "low")["status"]["conditions"]
    assert [one["type"] for one in found] == ["PodScheduled", "DisruptionTarget"]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_nominated_pod_of_a_lower_priority_loses_its_node(fakekube):
    priority(fakekube, "mid", 50)
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="2"))
    place(fakekube, pod("low", cpu="1", terminationGracePeriodSeconds=300))
    place(fakekube, pod("other", cpu="1", terminationGracePeriodSeconds=300))
    place(fakekube, pod("mid", cpu="1", priorityClassName="mid"))
    assert fakekube.get("v1", "Pod", "mid")["status"]["nominatedNodeName"] == "a"
    place(fakekube, pod("high", cpu="2", priorityClassName="high"))
    assert fakekube.get("v1", "Pod", "high")["status"]["nominatedNodeName"] == "a"
    assert "nominatedNodeName" not in fakekube.get("v1", "Pod", "mid")["status"]


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_nomination_that_another_client_writes_counts(fakekube):
    """The room of a nominated pod is kept from pods of a lower priority."""
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="2"))
    place(fakekube, pod("chosen", cpu="2", priorityClassName="high", nodeSelector={"pool": "x"}))
    status = {"status": {"nominatedNodeName": "a"}}
    fakekube.patch("v1", "Pod", "chosen", status, subresource="status")
    fakekube.settle()
    assert place(fakekube, pod("later", cpu="1")) is None
    fakekube.patch("v1", "Pod", "chosen", {"status": {"nominatedNodeName": None}}, subresource="status")
    fakekube.settle()
    assert place(fakekube, pod("next", cpu="1")) == "a"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_pod_that_never_preempts(fakekube):
    priority(fakekube, "high", 100)
    add(fakekube, node("a", cpu="2"))
    place(fakekube, pod("low", cpu="2"))
    priority(fakekube, "polite", 100, preemptionPolicy="Never")
    assert place(fakekube, pod("polite", cpu="2", priorityClassName="polite")) is None
    assert why(fakekube, "polite") == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )


# --- volumes ---------------------------------------------------------------------------------------------------------


def with_claim(name):
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def claim(name="data", storage_class="fast"):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": name, "namespace": "default"}
    spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_claims_that_are_missing_or_unbound(fakekube):
    add(fakekube, node("a"))
    assert place(fakekube, pod("web", **with_claim("data"))) is None
    assert why(fakekube, "web") == '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
    fakekube.create(claim())
    fakekube.advance(2)
    assert why(fakekube, "web") == (
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_claims_that_cannot_be_used(fakekube):
    add(fakekube, node("a"))
    volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}
    assert place(fakekube, pod("web", volumes=[volume])) is None
    awaited = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-data"'
    assert why(fakekube, "web") == f"0/1 nodes are available: {awaited}. not found"
    fakekube.create(claim("web-data"))
    fakekube.advance(2)
    foreign = "PVC default/web-data was not created for pod default/web (pod is not owner)"
    assert why(fakekube, "web") == f"0/1 nodes are available: {foreign}. not found"
    lost = {**claim("lost"), "status": {"phase": "Lost"}}
    lost["spec"]["volumeName"] = "gone"
    fakekube.create(lost)
    fakekube.patch("v1", "PersistentVolumeClaim", "lost", {"status": {"phase": "Lost"}}, subresource="status")
    assert place(fakekube, pod("db", **with_claim("lost"))) is None
    text = 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "gone"'
    assert why(fakekube, "db") == f"0/1 nodes are available: {text}. not found"


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_bound_claim_whose_volume_does_not_exist(fakekube):
    add(fakekube, node("a"))
    bound = claim("bound")
    bound["spec"]["volumeName"] = "gone"
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    fakekube.create(bound)
    assert place(fakekube, pod("web", **with_claim("bound"))) is None
    assert why(fakekube, "web") == (
        "0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s). "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_a_claim_that_waits_for_its_first_consumer_gets_the_node(fakekube):
    add(fakekube, node("a"))
    meta = {"name": "fast"}
    fakekube.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": meta,
            "provisioner": "example.com/disks",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    fakekube.create(claim())
    assert place(fakekube, pod("web", **with_claim("data"))) is None
    found = fakekube.get("v1", "PersistentVolumeClaim", "data")
    assert found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"


@pytest.mark.slow
def test_equal_nodes_are_chosen_by_the_seed():
    def chosen(seed):
        with FakeKube(controllers=SCHEDULER, seed=seed) as kube:
            add(kube, *[node(name) for name in "abcdefgh"])
            return [place(kube, pod(f"p{number}", {"app": str(number)})) for number in range(3)]

    assert chosen(1) == chosen(1)
    assert len({chosen(seed)[0] for seed in range(6)}) > 1


# --- model -----------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["pod", "important pod", "delete", "node", "wait"]), st.integers(1, 4)), max_size=25
)


def used(pods):
    """The thousandths of CPUs that the pods of each node request."""
    found = {}
    for one in pods.values():
        name = one["spec"].get("nodeName")
        if name and one["status"]["phase"] not in ("Succeeded", "Failed"):
            found[name] = found.get(name, 0) + podrequests.pod_requests(one)["cpu"]
    return found


def check_no_node_is_overcommitted(kube):
    """Replays all revisions of all pods: at each of them every node has room for its pods."""
    changes = []
    for name in (f"p{number}" for number in range(25)):
        changes += [(time, name, version) for time, version in kube.state.versions("v1", "Pod", name)]
    pods = {}
    for _, name, version in sorted(changes, key=lambda one: (one[0], _revision(one[2]))):
        pods.pop(name, None)
        if version is not None:
            pods[name] = version
        assert all(amount <= 4000 for amount in used(pods).values())


def _revision(version):
    return 0 if version is None else int(version["metadata"]["resourceVersion"])


@pytest.mark.slow
@given(STEPS)
@settings(max_examples=25)
def test_no_revision_has_more_on_a_node_than_it_can_take(steps):
    with FakeKube(nodes=0, controllers=["scheduler", "kubelet"], wall_clock=False) as kube:
        priority(kube, "high", 100)
        kube.nodes.add("n0", cpu=4)
        for number, (step, size) in enumerate(steps):
            if step == "node":
                kube.nodes.add(f"n{number + 1}", cpu=4)
            elif step == "wait":
                kube.advance(size)
            elif step == "delete":
                alive = sorted(one["metadata"]["name"] for one in kube.list("v1", "Pod"))
                if alive:
                    kube.delete("v1", "Pod", alive[size % len(alive)])
            else:
                more = {"priorityClassName": "high"} if step == "important pod" else {}
                kube.create(pod(f"p{number}", cpu=str(size), **more))
        kube.advance(60)
        check_no_node_is_overcommitted(kube)
        pending = [one for one in kube.list("v1", "Pod") if not one["spec"].get("nodeName")]
        room = dict.fromkeys((one["metadata"]["name"] for one in kube.list("v1", "Node")), 4000)
        for name, amount in used({one["metadata"]["name"]: one for one in kube.list("v1", "Pod")}).items():
            room[name] -= amount
        assert all(podrequests.pod_requests(one)["cpu"] > max(room.values()) for one in pending)


# --- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [("1", {}), ("500m", {})]}, 1500),
        ({"containers": [("1", {})], "initContainers": [("3", {})]}, 3000),
        ({"containers": [("1", {})], "initContainers": [("500m", {"restartPolicy": "Always"})]}, 1500),
        ({"containers": [("1", {})], "initContainers": [("1", {"restartPolicy": "Always"}), ("2", {})]}, 3000),
        ({"containers": [("1", {})], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [("1", {})], "resources": {"requests": {"cpu": "2"}}}, 2000),
    ],
)
def test_requests_of_a_pod(spec, expected):
    made = dict(spec)
    for field in ("containers", "initContainers"):
        if field in made:
            made[field] = [{"resources": {"requests": {"cpu": cpu}}, **more} for cpu, more in made[field]]
    assert podrequests.pod_requests({"spec": made})["cpu"] == expected


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        ({"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Exists"}, {"key": "b", "effect": "NoSchedule"}, False),
        ({"key": "a", "value": "1"}, {"key": "a", "value": "1", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "2"}, {"key": "a", "value": "1", "effect": "NoSchedule"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}, False),
    ],
)
def test_tolerations(toleration, taint, expected):
    assert nodefit.tolerates(toleration, taint) is expected


@pytest.mark.fakekube(controllers=SCHEDULER)
@pytest.mark.parametrize(("value", "taken"), [(10, False), (9, False), (11, True)])
def test_the_room_of_a_nominated_pod_is_kept_for_it_unless_another_is_more_important(fakekube, value, taken):
    priority(fakekube, "low", 1)
    priority(fakekube, "high", 10)
    priority(fakekube, "other", value)
    add(fakekube, node("a", cpu="2"))
    assert place(fakekube, pod("victim", cpu="2", priorityClassName="low")) == "a"
    assert place(fakekube, pod("nominated", cpu="2", priorityClassName="high")) is None
    assert fakekube.get("v1", "Pod", "nominated")["status"]["nominatedNodeName"] == "a"
    fakekube.delete("v1", "Pod", "victim", gracePeriodSeconds=0)
    assert place(fakekube, pod("late", cpu="2", priorityClassName="other")) == ("a" if taken else None)
    fakekube.advance(2)
    assert where(fakekube, "nominated") == (None if taken else "a")


@pytest.mark.fakekube(controllers=SCHEDULER)
def test_the_condition_of_a_pod_keeps_its_time_while_it_waits(fakekube):
    def scheduled():
        return condition(fakekube.get("v1", "Pod", "p"), "PodScheduled")

    begun = f"{fakekube.clock.now():%Y-%m-%dT%H:%M:%SZ}"
    place(fakekube, pod("p"))
    first = scheduled()
    assert (first["status"], first["lastTransitionTime"]) == ("False", begun)
    fakekube.advance("1m")
    add(fakekube, node("n", unschedulable=True))
    fakekube.advance("5m")
    assert scheduled()["message"] != first["message"]
    assert scheduled()["lastTransitionTime"] == begun
    fakekube.patch("v1", "Node", "n", {"spec": {"unschedulable": None, "taints": None}})
    fakekube.advance("5m")
    assert (scheduled()["status"], where(fakekube, "p")) == ("True", "n")
    assert scheduled()["lastTransitionTime"] > begun
