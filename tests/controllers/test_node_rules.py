"""Rules of the controllers of nodes: taints with several tolerations, health, zones, rates, and pods to collect."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.controllers.nodelifecycle import podgarbagecollector
from fakekube.controllers.nodelifecycle.evictionlimit import ZoneTainter
from fakekube.controllers.nodelifecycle.nodehealth import (
    expires,
    observed,
    unreachable_conditions,
    zone_of,
    zone_state,
)
from fakekube.controllers.nodelifecycle.nodelifecyclecontroller import GRACE, PERIOD, STARTUP_GRACE, eviction_rate
from fakekube.controllers.nodelifecycle.nodetaints import has_taint, present_keys, wanted_keys
from fakekube.controllers.nodelifecycle.nodettl import STEPS, ClusterSize
from fakekube.controllers.nodelifecycle.tainteviction import no_execute, toleration_time
from fakekube.controllers.workload.podstate import condition
from tests.controllers.test_nodes import elapsed, heartbeat, pod, ready, taints
from tests.controllers.workloads import node, set_ready

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NODES = pytest.mark.fakekube(controllers=["nodelifecycle", "taint-eviction-controller", "podgc"])
EVICTION = pytest.mark.fakekube(controllers=["taint-eviction-controller"])


def after(seconds):
    return NOW + timedelta(seconds=seconds)


# --- tolerations


def taint(key, effect="NoExecute"):
    return {"key": key, "effect": effect}


def tolerate(key, seconds=None):
    limited = {} if seconds is None else {"tolerationSeconds": seconds, "effect": "NoExecute"}
    return {"key": key, "operator": "Exists", **limited}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([tolerate("a", 300), tolerate("b", 60)], 60.0),
        ([tolerate("a", 60), tolerate("b", 300)], 60.0),
        ([tolerate("a", 60), tolerate("b")], 60.0),
        ([tolerate("a"), tolerate("b")], None),
        ([tolerate("a", 60)], 0.0),
        ([tolerate("a", 60), tolerate("a", 300), tolerate("b")], 60.0),
        ([tolerate("a", 0), tolerate("b", 300)], 0.0),
        ([tolerate("a", 300), tolerate("b", 300), tolerate("c", 1)], 300.0),
    ],
)
def test_several_taints_are_tolerated_for_the_shortest_time(tolerations, expected):
    assert toleration_time([taint("a"), taint("b")], tolerations) == expected
    assert toleration_time([taint("b"), taint("a")], tolerations) == expected


@given(
    st.sets(st.sampled_from("abc"), min_size=1),
    st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9)), max_size=5),
)
def test_the_time_of_tolerations_is_that_of_the_model(keys, rows):
    used = [seconds for key, seconds in rows if key in keys]
    limits = [seconds for seconds in used if seconds is not None]
    expected = min(limits, default=None) if keys <= {key for key, _ in rows} else 0
    assert toleration_time([taint(key) for key in sorted(keys)], [tolerate(*row) for row in rows]) == expected


def set_taints(fakekube, *keys):
    found = [taint(key) for key in keys]
    fakekube.patch("v1", "Node", "n1", {"spec": {"taints": found or None}}, "")
    fakekube.settle()


def evictions(fakekube):
    return [event["message"] for event in fakekube.events(reason="TaintManagerEviction")]


def tolerating(fakekube, *rows):
    fakekube.create(node())
    fakekube.patch("v1", "Node", "n1", {"spec": {"taints": None}}, "")
    fakekube.create(pod(tolerations=[tolerate(*row) for row in rows]))
    fakekube.settle()


def is_deleted(fakekube):
    return bool(fakekube.get("v1", "Pod", "p")["metadata"].get("deletionTimestamp"))


@EVICTION
def test_a_second_taint_does_not_extend_a_planned_eviction(fakekube):
    tolerating(fakekube, ("a", 60), ("b", 90))
    set_taints(fakekube, "a")
    begun = fakekube.clock.now()
    fakekube.advance(20)
    set_taints(fakekube, "a", "b")
    fakekube.advance_until(lambda: is_deleted(fakekube), "10m")
    assert elapsed(fakekube, begun) == timedelta(seconds=60)
    fakekube.delete("v1", "Pod", "p", gracePeriodSeconds=0)
    fakekube.settle()
    assert evictions(fakekube) == ["Marking for deletion Pod default/p"]


@EVICTION
@pytest.mark.parametrize(("seconds", "at"), [(-5, 0), (0, 0), (1, 1), (2, 2)])
def test_a_pod_stays_for_the_seconds_of_its_toleration(fakekube, seconds, at):
    """`taint_eviction.go`: getMinTolerationTime, negative seconds are none."""
    tolerating(fakekube, ("a", seconds))
    begun = fakekube.clock.now()
    set_taints(fakekube, "a")
    fakekube.advance_until(lambda: is_deleted(fakekube), "1m")
    assert elapsed(fakekube, begun) == timedelta(seconds=at)
    assert evictions(fakekube) == ["Marking for deletion Pod default/p"]


@EVICTION
def test_a_toleration_that_is_added_cancels_an_eviction(fakekube):
    tolerating(fakekube, ("a", 60))
    set_taints(fakekube, "a")
    fakekube.advance(10)
    found = fakekube.get("v1", "Pod", "p")
    listed = [one for one in found["spec"]["tolerations"] if one.get("key") != "a"]
    listed.append({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60})
    fakekube.update({**found, "spec": {**found["spec"], "tolerations": [*listed, {"key": "b", "operator": "Exists"}]}})
    fakekube.advance(10)
    set_taints(fakekube, "a", "b")
    fakekube.advance(39)
    assert not is_deleted(fakekube)
    fakekube.advance(1)
    assert is_deleted(fakekube)


@EVICTION
def test_an_eviction_is_cancelled_when_its_taint_goes(fakekube):
    tolerating(fakekube, ("a", 60))
    set_taints(fakekube, "a")
    fakekube.advance(59)
    set_taints(fakekube)
    fakekube.advance(100)
    assert not is_deleted(fakekube)
    assert evictions(fakekube) == ["Cancelling deletion of Pod default/p"]
    set_taints(fakekube, "a")
    fakekube.advance(59)
    assert not is_deleted(fakekube)
    fakekube.advance(1)
    assert is_deleted(fakekube)


@EVICTION
def test_an_untolerated_taint_replaces_a_planned_eviction_at_once(fakekube):
    tolerating(fakekube, ("a", 60))
    set_taints(fakekube, "a")
    fakekube.advance(10)
    set_taints(fakekube, "a", "x")
    assert is_deleted(fakekube)
    assert evictions(fakekube) == ["Cancelling deletion of Pod default/p", "Marking for deletion Pod default/p"]


@EVICTION
def test_a_taint_that_is_tolerated_for_ever_cancels_nothing_and_another_effect_is_ignored(fakekube):
    tolerating(fakekube, ("a",))
    set_taints(fakekube, "a")
    fakekube.patch("v1", "Node", "n1", {"spec": {"taints": [taint("x", "NoSchedule")]}}, "")
    fakekube.advance("1h")
    assert not is_deleted(fakekube)
    assert evictions(fakekube) == []
    assert no_execute({"spec": {"taints": [taint("x", "NoSchedule"), taint("y")]}}) == [taint("y")]


@EVICTION
def test_a_pod_that_is_bound_to_a_tainted_node_is_evicted(fakekube):
    fakekube.create(node())
    set_taints(fakekube, "a")
    fakekube.create(pod())
    fakekube.create(pod("q", tolerations=[tolerate("a", 30)]))
    fakekube.settle()
    assert is_deleted(fakekube)
    assert not fakekube.get("v1", "Pod", "q")["metadata"].get("deletionTimestamp")
    fakekube.delete("v1", "Pod", "q", gracePeriodSeconds=0)
    fakekube.advance(60)
    assert evictions(fakekube) == ["Marking for deletion Pod default/p", "Cancelling deletion of Pod default/q"]


# --- health


def seen(heartbeat=None, created=0, status="True"):
    conditions = [{"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}] if heartbeat else []
    meta = {"name": "n", "creationTimestamp": f"2026-01-01T12:00:{created:02}Z"}
    return {"metadata": meta, "status": {"conditions": conditions}}


def lease(renewed):
    return {"spec": {"renewTime": renewed}}


def test_a_node_is_alive_while_its_status_or_its_lease_moves():
    first = observed(None, seen("t1"), None, after(5))
    assert first.probed == after(5)
    assert observed(first, seen("t1"), None, after(10)).probed == after(5)
    assert observed(first, seen("t2"), None, after(10)).probed == after(10)
    leased = observed(first, seen("t1"), lease("t1"), after(10))
    assert (leased.probed, leased.renewed) == (after(10), "t1")
    assert observed(leased, seen("t1"), lease("t1"), after(15)).probed == after(10)
    assert observed(leased, seen("t1"), lease("t0"), after(15)).probed == after(10)
    assert observed(leased, seen("t1"), lease("t2"), after(15)).probed == after(15)
    assert observed(leased, seen("t1"), None, after(15)).renewed == "t1"
    assert observed(leased, seen("t2"), None, after(15)).renewed == "t1"
    assert observed(leased, seen("t1", status="False"), None, after(15)).ready["status"] == "False"


def test_a_node_without_a_status_counts_from_its_creation():
    fresh = observed(None, seen(created=3), None, after(20))
    assert fresh.probed == after(3)
    assert expires(fresh, 50, 60) == after(63)
    alive = observed(fresh, seen("t1"), None, after(30))
    assert (alive.probed, expires(alive, 50, 60)) == (after(30), after(80))
    assert observed(alive, seen(), None, after(40)).probed == after(40)
    assert (GRACE, STARTUP_GRACE, PERIOD) == (50, 60, 5)


def test_conditions_of_a_node_that_is_not_heard_of():
    found = unreachable_conditions(
        {
            "metadata": {"creationTimestamp": "t0"},
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "True", "lastHeartbeatTime": "t1", "lastTransitionTime": "t1"},
                    {"type": "DiskPressure", "status": "Unknown", "lastTransitionTime": "t1"},
                    {"type": "Other", "status": "True"},
                ]
            },
        },
        NOW,
    )
    now = "2026-01-01T12:00:00Z"
    assert found[0] == {
        "type": "Ready",
        "status": "Unknown",
        "lastHeartbeatTime": "t1",
        "lastTransitionTime": now,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    assert found[1] == {"type": "DiskPressure", "status": "Unknown", "lastTransitionTime": "t1"}
    assert found[2] == {"type": "Other", "status": "True"}
    assert [(one["type"], one["reason"], one["lastHeartbeatTime"], one["lastTransitionTime"]) for one in found[3:]] == [
        ("MemoryPressure", "NodeStatusNeverUpdated", "t0", now),
        ("PIDPressure", "NodeStatusNeverUpdated", "t0", now),
    ]


@pytest.mark.parametrize(
    ("good", "bad", "state"),
    [
        (0, 0, "Normal"),
        (0, 1, "FullDisruption"),
        (1, 1, "Normal"),
        (1, 2, "Normal"),  # more than two have to be bad
        (2, 3, "PartialDisruption"),
        (3, 3, "Normal"),
        (9, 11, "PartialDisruption"),  # exactly 55 %
        (10, 12, "Normal"),
    ],
)
def test_states_of_zones(good, bad, state):
    nodes = [{"status": "True"}] * good + [None, *({"status": "Unknown"} for _ in range(bad - 1))] * bool(bad)
    assert zone_state(nodes, 0.55) == state


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ":\0:z"),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, "r:\0:z"),
        ({"failure-domain.beta.kubernetes.io/region": "r"}, "r:\0:"),
        ({"failure-domain.beta.kubernetes.io/zone": "old", "topology.kubernetes.io/zone": "z"}, ":\0:z"),
    ],
)
def test_keys_of_zones(labels, zone):
    assert zone_of({"metadata": {"labels": labels}}) == zone


# --- taints by condition


def conditioned(unschedulable=False, **statuses):
    conditions = [{"type": kind, "status": status} for kind, status in statuses.items()]
    return {"spec": {"unschedulable": unschedulable}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("one", "keys"),
    [
        (conditioned(Ready="True", MemoryPressure="False"), []),
        (conditioned(Ready="False"), ["not-ready"]),
        (conditioned(Ready="Unknown"), ["unreachable"]),
        (conditioned(MemoryPressure="True", DiskPressure="True"), ["memory-pressure", "disk-pressure"]),
        (conditioned(NetworkUnavailable="True", PIDPressure="True"), ["network-unavailable", "pid-pressure"]),
        (conditioned(True, Ready="True"), ["unschedulable"]),
        (conditioned(MemoryPressure="Unknown"), []),
    ],
)
def test_taints_by_condition(one, keys):
    assert wanted_keys(one) == [f"node.kubernetes.io/{key}" for key in keys]


def test_present_taints_are_those_of_conditions():
    prefix = "node.kubernetes.io/"
    found = [taint(prefix + "not-ready", "NoSchedule"), taint(prefix + "unreachable"), taint("mine", "NoSchedule")]
    one = {"spec": {"taints": [*found, taint(prefix + "unschedulable", "NoSchedule")]}}
    assert present_keys(one) == [prefix + "not-ready", prefix + "unschedulable"]
    assert has_taint(one, prefix + "unreachable", "NoExecute")
    assert not has_taint(one, prefix + "unreachable", "NoSchedule")
    assert not has_taint({"spec": {}}, "mine", "NoSchedule")


@NODES
def test_taints_of_conditions_are_swapped_and_others_stay(fakekube):
    fakekube.create(node(taints=[taint("mine", "NoSchedule")]))
    fakekube.settle()
    for status, expected in (("False", "not-ready"), ("Unknown", "unreachable")):
        patch = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        fakekube.patch("v1", "Node", "n1", patch, "", subresource="status")
        fakekube.advance(15)
        assert ("mine", "NoSchedule") in taints(fakekube)
        assert {key for key, effect in taints(fakekube) if effect == "NoSchedule"} == {"mine", expected}


@NODES
def test_a_node_that_says_that_it_is_not_ready_is_tainted_for_eviction_and_its_pods_are_left_to_it(fakekube):
    fakekube.create(node("n1"))
    fakekube.create(node("n2"))
    fakekube.create(pod())
    fakekube.settle()
    set_ready(fakekube, fakekube.get("v1", "Pod", "p"))
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    fakekube.patch("v1", "Node", "n1", patch, "", subresource="status")
    fakekube.advance(15)
    assert ("not-ready", "NoExecute") in taints(fakekube)
    found = fakekube.get("v1", "Pod", "p")["status"]["conditions"]
    assert [one["status"] for one in found if one["type"] == "Ready"] == ["True"]
    assert fakekube.events(reason="NodeNotReady") == []
    patch["status"]["conditions"][0]["status"] = "True"
    fakekube.patch("v1", "Node", "n1", patch, "", subresource="status")
    heartbeat(fakekube, "n2")
    fakekube.advance(10)
    assert taints(fakekube) == []


@NODES
@pytest.mark.parametrize(("status", "key"), [("False", "not-ready"), ("Unknown", "unreachable")])
def test_a_node_gets_only_the_taint_of_its_status(fakekube, status, key):
    """`node_lifecycle_controller.go`: doNoExecuteTaintingPass."""
    for name in ("n1", "n2"):
        fakekube.create(node(name))
    fakekube.settle()
    patch = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
    fakekube.patch("v1", "Node", "n1", patch, "", subresource="status")
    fakekube.advance("20s")
    seen = set()
    for _, found in fakekube.state.versions("v1", "Node", "n1", namespace=""):
        seen.update(one["key"] for one in found["spec"].get("taints") or () if one["effect"] == "NoExecute")
    assert seen == {f"node.kubernetes.io/{key}"}


@NODES
def test_nodes_of_a_zone_are_tainted_ten_seconds_apart(fakekube):
    for number in range(1, 6):
        fakekube.create(node(f"n{number}"))
    fakekube.settle()
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    for name in ("n1", "n2"):
        fakekube.patch("v1", "Node", name, patch, "", subresource="status")
    begun, times = fakekube.clock.now(), []
    for name in ("n1", "n2"):
        fakekube.advance_until(lambda name=name: ("not-ready", "NoExecute") in taints(fakekube, name), "5m")
        times.append(elapsed(fakekube, begun).total_seconds())
    assert times[1] - times[0] == 10
    assert times[0] <= 5


@NODES
def test_a_small_zone_that_is_partly_disrupted_is_not_tainted(fakekube):
    for number in range(1, 6):
        fakekube.create(node(f"n{number}"))
    fakekube.settle()
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    for name in ("n1", "n2", "n3"):
        fakekube.patch("v1", "Node", name, patch, "", subresource="status")
    for _ in range(30):
        for name in ("n1", "n2", "n3", "n4", "n5"):
            heartbeat(fakekube, name)
        fakekube.advance(5)
    assert [name for name in ("n1", "n2", "n3") if ("not-ready", "NoExecute") in taints(fakekube, name)] == []


@NODES
def test_events_of_nodes_that_come_and_go(fakekube):
    fakekube.create(node("n1"))
    fakekube.advance(5)
    fakekube.delete("v1", "Node", "n1", "")
    fakekube.advance(5)
    found = [event["message"] for event in fakekube.events() if event["involvedObject"]["kind"] == "Node"]
    assert found == [
        "Node n1 event: Registered Node n1 in Controller",
        "Node n1 event: Removing Node n1 from Controller",
    ]
    fakekube.create(node("n2"))
    fakekube.advance(5)
    assert ready(fakekube, "n2")["status"] == "True"


# --- rates


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [
        ("Normal", 1, 0.1),
        ("FullDisruption", 100, 0.1),
        ("PartialDisruption", 50, 0),
        ("PartialDisruption", 51, 0.01),
    ],
)
def test_rates_of_zones(state, size, rate):
    """`node_lifecycle_controller.go`: setLimiterInZone."""
    assert eviction_rate(state, size) == rate


def test_nodes_are_taken_in_order_at_a_rate():
    zone = ZoneTainter(0.1)
    assert (zone.take(NOW), zone.due) == (None, None)
    for name in ("a", "b", "a"):
        zone.add(name)
    assert zone.take(NOW) == "a"
    assert (zone.take(after(9)), zone.due) == (None, after(10))
    zone.add("a")  # tainted already
    assert zone.take(after(10)) == "b"
    assert (zone.take(after(30)), zone.due) == (None, None)
    zone.remove("a")
    zone.add("a")
    zone.set_rate(0)
    assert (zone.take(after(40)), zone.due) == (None, None)
    zone.set_rate(1)
    assert zone.take(after(40)) == "a"
    zone.add("c")
    zone.remove("c")
    assert zone.take(after(90)) is None


@pytest.mark.parametrize("number", range(len(STEPS) - 1))
def test_the_time_of_a_large_cluster_has_a_hysteresis(number):
    _, most, seconds = STEPS[number]
    size = ClusterSize(most - 1, number)
    size.added()
    assert (size.nodes, size.seconds) == (most, seconds)
    size.added()
    assert size.seconds == STEPS[number + 1][2]
    lower = STEPS[number + 1][0]
    size = ClusterSize(lower + 1, number + 1)
    size.removed()
    assert (size.nodes, size.seconds) == (lower, STEPS[number + 1][2])
    size.removed()
    assert size.seconds == seconds


def test_the_times_of_the_steps():
    """`ttl_controller.go`: ttlBoundaries, which overlap so that a cluster does not change between two of them."""
    size, grown, shrunk = ClusterSize(), {}, {}
    for _ in range(2500):
        before = size.seconds
        size.added()
        if size.seconds != before:
            grown[size.nodes] = size.seconds
    for _ in range(2500):
        before = size.seconds
        size.removed()
        if size.seconds != before:
            shrunk[size.nodes] = size.seconds
    assert grown == {101: 15, 501: 30, 1001: 60, 2001: 300}
    assert shrunk == {1799: 60, 899: 30, 449: 15, 89: 0}


@pytest.mark.fakekube(controllers=["ttl-controller"])
def test_nodes_get_the_time_as_an_annotation(fakekube):
    fakekube.create(node())
    fakekube.settle()
    name = "node.alpha.kubernetes.io/ttl"
    assert fakekube.get("v1", "Node", "n1", "")["metadata"]["annotations"][name] == "0"
    fakekube.patch("v1", "Node", "n1", {"metadata": {"annotations": {name: "x"}}}, "")
    fakekube.settle()
    assert fakekube.get("v1", "Node", "n1", "")["metadata"]["annotations"][name] == "0"


# --- pods to collect

PODGC = ["podgc"]


def test_the_oldest_of_too_many_ended_pods_go_evicted_ones_first(monkeypatch):
    monkeypatch.setattr(podgarbagecollector, "THRESHOLD", 2)
    with FakeKube(controllers=PODGC) as kube:
        kube.create(node())
        for name, phase, reason in (
            ("old", "Succeeded", ""),
            ("run", "Running", ""),
            ("new", "Failed", ""),
            ("evicted", "Failed", "Evicted"),
            ("last", "Succeeded", "Evicted"),
        ):
            kube.create(pod(name))
            kube.patch("v1", "Pod", name, {"status": {"phase": phase, "reason": reason}}, subresource="status")
            kube.advance(1)
        kube.advance(20)
        assert [one["metadata"]["name"] for one in kube.list("v1", "Pod")] == ["last", "new", "run"]
    assert podgarbagecollector.QUARANTINE == 40


@pytest.mark.fakekube(controllers=PODGC)
def test_a_terminating_pod_without_a_node_goes_at_the_next_look(fakekube):
    fakekube.create(
        {
            **pod(),
            "metadata": {**pod()["metadata"], "finalizers": ["example.com/x"]},
            "spec": {**pod()["spec"], "nodeName": None},
        }
    )
    fakekube.create(pod("bound"))
    fakekube.create(node())
    fakekube.delete("v1", "Pod", "p")
    fakekube.delete("v1", "Pod", "bound")
    fakekube.advance(25)
    found = fakekube.get("v1", "Pod", "p")
    assert found["status"]["phase"] == "Failed"
    assert fakekube.get("v1", "Pod", "bound")["status"]["phase"] == "Pending"


@pytest.mark.fakekube(controllers=PODGC)
def test_pods_of_a_node_that_returns_within_the_quarantine_stay(fakekube):
    fakekube.create(node())
    fakekube.create(pod())
    fakekube.settle()
    fakekube.delete("v1", "Node", "n1", "")
    fakekube.advance(30)
    fakekube.create(node())
    fakekube.advance(60)
    assert fakekube.get("v1", "Pod", "p")["status"]["phase"] == "Pending"
    fakekube.delete("v1", "Node", "n1", "")
    fakekube.advance(39)
    assert fakekube.exists("v1", "Pod", "p")


@pytest.mark.fakekube(controllers=PODGC)
@pytest.mark.parametrize(
    ("status", "tainted", "deleted", "gone"),
    [
        ("False", True, True, True),
        ("True", True, True, False),
        ("False", False, True, False),
        ("False", True, False, False),
    ],
)
def test_pods_of_nodes_out_of_service(fakekube, status, tainted, deleted, gone):
    fakekube.create(node(ready=status))
    fakekube.create(pod())
    if deleted:
        fakekube.delete("v1", "Pod", "p")
    if tainted:
        set_taints(fakekube, "node.kubernetes.io/out-of-service")
    fakekube.advance(30)
    assert fakekube.exists("v1", "Pod", "p") is not gone


def test_pods_are_looked_at_only_when_there_may_be_something_to_delete(monkeypatch):
    monkeypatch.setattr(podgarbagecollector, "THRESHOLD", 2)
    with FakeKube(controllers=PODGC) as kube:
        kube.create(node())
        kube.settle()

        def looks(work):
            before = kube.controllers["podgc"].reconciles()
            work()
            kube.advance(25)
            return kube.controllers["podgc"].reconciles() - before

        def end(name):
            kube.create(pod(name))
            kube.patch("v1", "Pod", name, {"status": {"phase": "Succeeded"}}, subresource="status")

        def label(value, taints=None):
            spec = {"taints": taints}
            kube.patch("v1", "Node", "n1", {"metadata": {"labels": {"x": value}}, "spec": spec}, "")

        assert looks(lambda: [end("a"), end("b"), kube.create(pod("runs"))]) == 0
        assert looks(lambda: kube.delete("v1", "Pod", "b", gracePeriodSeconds=0)) <= 1
        assert looks(lambda: end("c")) == 0
        assert looks(lambda: label("1", [taint("other")])) == 0
        assert looks(lambda: label("2", [taint("other"), taint("node.kubernetes.io/out-of-service")])) >= 1
        label("3")
        assert looks(lambda: end("d")) >= 1
        assert [one["metadata"]["name"] for one in kube.list("v1", "Pod")] == ["c", "d", "runs"]
        assert looks(lambda: kube.create(pod("lost", "missing"))) >= 1


@EVICTION
def test_a_deletion_is_tried_five_times_10_ms_apart(fakekube):
    fakekube.create(node("n1", taints=[taint("k")]))
    rule = fakekube.fault(verb="delete", resource="pods", error=500)
    fakekube.create(pod())
    fakekube.advance(0.04)
    tries = [round(one.at * 1000) for one in fakekube.requests(verb="delete", resource="pods")]
    assert [one - tries[0] for one in tries] == [0, 10, 20, 30, 40]
    assert len(fakekube.controllers["taint-eviction-controller"].errors("default/p")) == 1
    rule.disarm()
    fakekube.advance(1)
    assert fakekube.get("v1", "Pod", "p")["metadata"]["deletionTimestamp"]


@pytest.mark.fakekube(controllers=["nodelifecycle"])
def test_pods_of_a_node_that_is_lost_are_not_ready(fakekube):
    """Those that are gone, have no condition or are not ready are left alone; one that is bound later is not."""
    fakekube.create(node("n1"))
    for name in ("bare", "down", "gone", "up"):
        fakekube.create(pod(name))
        if name != "bare":
            set_ready(fakekube, fakekube.get("v1", "Pod", name), name != "down")
    gone = lambda: fakekube.delete("v1", "Pod", "gone", gracePeriodSeconds=0)  # noqa: E731
    fakekube.fault(verb="update", resource="pods", name="gone", times=1, before=gone)
    fakekube.advance("1m")
    later = pod("later")
    del later["spec"]["nodeName"]
    fakekube.create(later)
    set_ready(fakekube, later)
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    meta = {"name": "later", "namespace": "default"}
    fakekube.create({"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target})
    fakekube.settle()
    found = {one["metadata"]["name"]: condition(one, "Ready") for one in fakekube.list("v1", "Pod")}
    assert {name: one and one["status"] for name, one in found.items()} == {
        "bare": None,
        "down": "False",
        "later": "False",
        "up": "False",
    }
    events = fakekube.events(reason="NodeNotReady")
    assert sorted(one["involvedObject"]["name"] for one in events) == ["later", "n1", "up"]
    assert {one["message"] for one in events} == {"Node n1 status is now: NodeNotReady", "Node is not ready"}
    assert fakekube.controllers["nodelifecycle"].errors() == []
