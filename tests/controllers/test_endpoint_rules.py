"""Pure rules of Endpoints and EndpointSlices: which pods, which ports, how they are distributed, what is noticed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib import Request
from controllerlib.controller import CreateEvent
from fakekube.controllers.serviceendpoints.endpointscontroller import _annotations, _is_up_to_date, _left_over
from fakekube.controllers.serviceendpoints.endpointsubsets import CAPACITY, repacked, truncated
from fakekube.controllers.serviceendpoints.servicepods import (
    TriggerTimes,
    addresses,
    has_changed,
    has_hostname,
    is_endpoint,
    is_headless,
    is_relabeled,
    selects,
    target_port,
)
from fakekube.controllers.serviceendpoints.slices import (
    MOST,
    SliceChanges,
    distributed,
    endpoint_key,
    is_same_endpoint,
    ports_key,
)
from fakekube.controllers.serviceendpoints.slicetracker import SliceTracker
from fakekube.controllers.serviceendpoints.traffichints import distribution_of, hint
from tests.controllers.test_endpoints import add_pod, service, slices, started, subsets
from tests.controllers.workloads import node, set_ready


def pod(*ips, phase="Running", deleted=False, ready_at=None, name="p", **spec):
    meta = {"name": name, "namespace": "default", **({"deletionTimestamp": "t"} if deleted else {})}
    status = {"phase": phase, "podIPs": [{"ip": ip} for ip in ips]}
    if ready_at:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": ready_at}
        status["conditions"] = [{"type": "Initialized"}, ready]
    return {"metadata": meta, "spec": {"containers": [], **spec}, "status": status}


# --- which pods


@pytest.mark.parametrize(
    ("one", "ready_only", "terminating_too"),
    [
        (pod("1.1.1.1"), True, True),
        (pod(), False, False),
        (pod("1.1.1.1", phase="Succeeded"), False, False),
        (pod("1.1.1.1", phase="Failed"), False, False),
        (pod("1.1.1.1", deleted=True), False, True),
        (pod("1.1.1.1", deleted=True, phase="Failed"), False, False),
    ],
)
def test_pods_that_are_endpoints(one, ready_only, terminating_too):
    assert is_endpoint(one, include_terminating=False) is ready_only
    assert is_endpoint(one, include_terminating=True) is terminating_too


def test_addresses_of_pods():
    assert addresses(pod("1.1.1.1", "::1")) == ["1.1.1.1", "::1"]
    assert addresses({"status": {"podIP": "1.1.1.1"}}) == ["1.1.1.1"]
    assert addresses({}) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostname": "h", "subdomain": "web"}, True),
        ({"hostname": "h", "subdomain": "other"}, False),
        ({"subdomain": "web"}, False),
        ({"hostname": "h"}, False),
    ],
)
def test_hostnames(spec, expected):
    assert has_hostname(pod(**spec), service()) is expected
    other = {**service(), "metadata": {"name": "web", "namespace": "other"}}
    assert has_hostname(pod(**spec), other) is False


@pytest.mark.parametrize(("ip", "headless"), [(None, True), ("", True), ("None", True), ("10.0.0.1", False)])
def test_headless_services(ip, headless):
    assert is_headless({"spec": {"clusterIP": ip}}) is headless


def test_services_that_select():
    assert selects(service())
    assert selects(service(selector={}))
    assert not selects(service(selector=None))
    assert not selects(service(type="ExternalName"))


PORTS = [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]


@pytest.mark.parametrize(
    ("port", "number"),
    [
        ({"port": 80}, 80),
        ({"port": 80, "targetPort": 81}, 81),
        ({"port": 80, "targetPort": "http"}, 8080),
        ({"port": 80, "targetPort": "http", "protocol": "UDP"}, None),
        ({"port": 80, "targetPort": "dns", "protocol": "UDP"}, 53),
        ({"port": 80, "targetPort": "dns"}, None),
        ({"port": 80, "targetPort": "side"}, 9),
        ({"port": 80, "targetPort": "init"}, None),
    ],
)
def test_target_ports(port, number):
    initial = [
        {"ports": [{"name": "init", "containerPort": 8}]},
        {"ports": [{"name": "side", "containerPort": 9}], "restartPolicy": "Always"},
    ]
    assert target_port(pod(containers=[{"ports": PORTS}], initContainers=initial), port) == number


# --- subsets of Endpoints


def address(ip, uid=""):
    return {"ip": ip, **({"targetRef": {"uid": uid}} if uid else {})}


def test_subsets_with_the_same_addresses_are_one():
    http, dns = {"port": 80}, {"port": 53}
    found = repacked([
        {"addresses": [address("b"), address("a")], "ports": [http]},
        {"addresses": [address("a")], "notReadyAddresses": [address("b")], "ports": [dns]},
        {"addresses": [address("c")]},
    ])  # fmt: skip
    assert found == [
        {"addresses": [address("a"), address("b")], "ports": [http]},
        {"addresses": [address("a")], "notReadyAddresses": [address("b")], "ports": [dns]},
        {"addresses": [address("c")]},
    ]
    same = repacked([{"addresses": [address("a")], "ports": [http]}, {"addresses": [address("a")], "ports": [dns]}])
    assert [sorted(one["port"] for one in each["ports"]) for each in same] == [[53, 80]]


def test_an_address_that_is_not_ready_anywhere_is_not_ready():
    port = {"port": 80}
    for rows in ((0, 1), (1, 0)):
        subsets_of = [
            {"addresses": [address("a")], "ports": [port]},
            {"notReadyAddresses": [address("a")], "ports": [port]},
        ]
        assert repacked([subsets_of[row] for row in rows]) == [{"notReadyAddresses": [address("a")], "ports": [port]}]
    two = repacked([{"addresses": [address("a", "1"), address("a", "2")], "ports": [port]}])
    assert two[0]["addresses"] == [address("a", "1"), address("a", "2")]


@pytest.mark.parametrize(
    ("ready", "waiting", "kept", "over"),
    [
        ([CAPACITY], [0], [(CAPACITY, 0)], False),
        ([CAPACITY + 1], [5], [(CAPACITY, 0)], True),
        ([CAPACITY - 10], [10], [(CAPACITY - 10, 10)], False),
        ([CAPACITY - 10], [11], [(CAPACITY - 10, 10)], True),
        ([600, 600], [1, 1], [(500, 0), (500, 0)], True),
        ([1, 1500], [0, 0], [(1, 0), (999, 0)], True),
        ([300, 300], [300, 500], [(300, 150), (300, 250)], True),
        ([CAPACITY], [1], [(CAPACITY, 0)], True),
    ],
)
def test_the_most_addresses_of_endpoints(ready, waiting, kept, over):
    found = [
        {"addresses": [address(str(n)) for n in range(a)], "notReadyAddresses": [address(str(n)) for n in range(b)]}
        for a, b in zip(ready, waiting, strict=True)
    ]
    cut, was_cut = truncated(found)
    assert [(len(one.get("addresses", ())), len(one.get("notReadyAddresses", ()))) for one in cut] == kept
    assert was_cut is over
    assert CAPACITY == 1000


# --- slices


def endpoint(number, ready=True):
    return {"addresses": [f"10.0.{number // 250}.{number % 250}"], "conditions": {"ready": ready}}


def keyed(*endpoints):
    return {endpoint_key(one): one for one in endpoints}


def endpoint_slice(name, *endpoints, labels=None, kind="IPv4", **more):
    meta = {"name": name, "labels": labels or {"l": "1"}}
    return {"metadata": meta, "addressType": kind, "endpoints": list(endpoints), "ports": [], **more}


NEW = {"metadata": {"generateName": "web-"}, "addressType": "IPv4", "ports": []}
LABELS = {"l": "1"}


def sizes(changes):
    return {
        "create": [len(one["endpoints"]) for one in changes.create],
        "update": {one["metadata"]["name"]: len(one["endpoints"]) for one in changes.update},
        "delete": [one["metadata"]["name"] for one in changes.delete],
    }


def ranged(start, end):
    return [endpoint(number) for number in range(start, end)]


@pytest.mark.parametrize(
    ("existing", "wanted", "expected"),
    [
        ([], ranged(0, 3), {"create": [3], "update": {}, "delete": []}),
        ([("a", [])], ranged(0, 100), {"create": [100], "update": {}, "delete": []}),
        ([("a", [])], ranged(0, 99), {"create": [], "update": {"a": 99}, "delete": []}),
        ([], ranged(0, 250), {"create": [100, 100, 50], "update": {}, "delete": []}),
        ([("a", ranged(0, 3))], ranged(0, 3), {"create": [], "update": {}, "delete": []}),
        ([("a", ranged(0, 3))], ranged(0, 2), {"create": [], "update": {"a": 2}, "delete": []}),
        ([("a", ranged(0, 3))], ranged(5, 7), {"create": [2], "update": {}, "delete": ["a"]}),
        # a slice that changes anyway is filled first, the fullest of them before others
        ([("a", ranged(0, 3)), ("b", ranged(10, 12))], [*ranged(0, 2), *ranged(10, 14)], {"create": [], "update": {"a": 4}, "delete": []}),
        (
            [("a", ranged(0, 51)), ("b", ranged(100, 151))],
            [*ranged(0, 40), *ranged(100, 150), *ranged(200, 270)],
            {"create": [], "update": {"a": 60, "b": 100}, "delete": []},
        ),
        # else the one that gets as full as possible
        ([("a", ranged(0, 90)), ("b", ranged(100, 150))], [*ranged(0, 90), *ranged(100, 150), *ranged(200, 205)], {"create": [], "update": {"a": 95}, "delete": []}),
        ([("a", ranged(0, 90)), ("b", ranged(100, 150))], [*ranged(0, 90), *ranged(100, 150), *ranged(200, 210)], {"create": [], "update": {"a": 100}, "delete": []}),
        ([("a", ranged(0, 90)), ("b", ranged(100, 150))], [*ranged(0, 90), *ranged(100, 150), *ranged(200, 211)], {"create": [], "update": {"b": 61}, "delete": []}),
        ([("a", ranged(0, 90)), ("b", ranged(100, 150))], [*ranged(0, 90), *ranged(100, 150), *ranged(200, 251)], {"create": [51], "update": {}, "delete": []}),
        ([("a", ranged(0, 90))], [*ranged(0, 90), *ranged(200, 300)], {"create": [100], "update": {}, "delete": []}),
        ([("a", ranged(0, 90))], [*ranged(0, 90), *ranged(200, 305)], {"create": [100], "update": {"a": 95}, "delete": []}),
    ],
)  # fmt: skip
def test_endpoints_are_distributed_with_few_writes(existing, wanted, expected):
    present = [endpoint_slice(name, *listed) for name, listed in existing]
    assert sizes(distributed(present, keyed(*wanted), NEW, LABELS)) == expected
    assert MOST == 100


def test_slices_with_other_labels_or_other_endpoints_are_updated():
    present = endpoint_slice("a", endpoint(1), endpoint(2), labels={"old": "1"})
    (relabeled,) = distributed([present], keyed(endpoint(1), endpoint(2)), NEW, LABELS).update
    assert relabeled["metadata"] == {"name": "a", "labels": LABELS}
    assert relabeled["endpoints"] == present["endpoints"]
    present = endpoint_slice("a", endpoint(1), endpoint(2))
    (changed,) = distributed([present], keyed(endpoint(1), endpoint(2, ready=False)), NEW, LABELS).update
    assert [one["conditions"]["ready"] for one in changed["endpoints"]] == [True, False]


@settings(max_examples=100)
@given(st.lists(st.sets(st.integers(0, 400), max_size=100), max_size=4), st.sets(st.integers(0, 400), max_size=260))
def test_after_the_changes_each_endpoint_is_in_one_slice(existing, wanted):
    seen, present = set(), []
    for number, numbers in enumerate(existing):
        present.append(endpoint_slice(str(number), *map(endpoint, sorted(numbers - seen))))
        seen |= numbers
    changes = distributed(present, keyed(*map(endpoint, sorted(wanted))), NEW, LABELS)
    gone = {one["metadata"]["name"] for one in (*changes.update, *changes.delete)}
    left = [one for one in present if one["metadata"]["name"] not in gone]
    found = [one for each in (*left, *changes.update, *changes.create) for one in each["endpoints"]]
    assert sorted(map(endpoint_key, found)) == sorted(endpoint_key(endpoint(number)) for number in wanted)
    assert all(len(one["endpoints"]) <= MOST for one in (*changes.update, *changes.create))
    assert len(changes.create) <= math.ceil(len(wanted) / MOST)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"hints": {"forZones": []}}, True),
        ({"conditions": {"ready": False}}, False),
        ({"conditions": {"ready": True, "serving": True}}, False),
        ({"conditions": {"ready": True, "terminating": True}}, False),
        ({"targetRef": {"uid": "u", "resourceVersion": "2"}}, True),
        ({"targetRef": {"uid": "v", "resourceVersion": "1"}}, False),
        ({"nodeName": "b"}, False),
        ({"zone": "z"}, False),
    ],
)
def test_endpoints_that_are_the_same(changes, same):
    one = {**endpoint(1), "targetRef": {"uid": "u", "resourceVersion": "1"}, "nodeName": "a"}
    assert is_same_endpoint(one, {**one, **changes}) is same


def test_keys_of_ports_and_endpoints():
    a, b = {"name": "a", "port": 1}, {"port": 2, "name": "b"}
    assert ports_key([a, b]) == ports_key([{"name": "b", "port": 2}, a])
    assert ports_key([a]) != ports_key([b])
    target = {"targetRef": {"namespace": "n", "name": "p"}, "hostname": "h"}
    assert endpoint_key({"addresses": ["b", "a"], **target}) == (("a", "b"), "h", "n", "p")


def test_slices_to_delete_are_used_again():
    changes = SliceChanges([{**NEW, "endpoints": [1]}, {**NEW, "addressType": "IPv6"}], [], [])
    changes.delete += [endpoint_slice("a"), endpoint_slice("b", kind="IPv6"), endpoint_slice("c", kind="IPv6")]
    changes.recycle(lambda one: one["metadata"]["name"] != "b")
    assert [one["metadata"]["name"] for one in changes.update] == ["c"]
    assert [one["metadata"]["name"] for one in changes.delete] == ["a", "b"]
    assert changes.create == [{**NEW, "endpoints": [1]}]
    assert changes.update[0]["addressType"] == "IPv6"
    changes.recycle()
    assert [one["metadata"]["name"] for one in changes.update] == ["c", "a"]
    assert (changes.create, [one["metadata"]["name"] for one in changes.delete]) == ([], ["b"])


# --- hints


@pytest.mark.parametrize(
    ("distribution", "annotations", "expected"),
    [
        ("PreferClose", {}, "PreferClose"),
        ("PreferSameZone", {}, "PreferSameZone"),
        ("PreferSameNode", {}, "PreferSameNode"),
        ("Other", {}, None),
        (None, {}, None),
        ("PreferClose", {"service.kubernetes.io/topology-mode": "Auto"}, None),
        ("PreferClose", {"service.kubernetes.io/topology-aware-hints": "auto"}, None),
        ("PreferClose", {"service.kubernetes.io/topology-mode": "Disabled"}, "PreferClose"),
    ],
)
def test_distributions(distribution, annotations, expected):
    one = {"metadata": {"annotations": annotations}, "spec": {"trafficDistribution": distribution}}
    assert distribution_of(one) == expected


@pytest.mark.parametrize(
    ("distribution", "changes", "hints"),
    [
        (None, {}, None),
        ("PreferClose", {}, {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {}, {"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
        ("PreferSameNode", {"zone": None}, {"forNodes": [{"name": "n"}]}),
        ("PreferClose", {"zone": None}, None),
        ("PreferClose", {"conditions": {"ready": False}}, "old"),
    ],
)
def test_hints_of_endpoints(distribution, changes, hints):
    one = {**endpoint(1), "zone": "z", "nodeName": "n", "hints": "old", **changes}
    found = SliceChanges([endpoint_slice("new", one)], [endpoint_slice("b", one)])
    hint(found, [], distribution)
    assert [each["endpoints"][0].get("hints") for each in (*found.create, *found.update)] == [hints, hints]


def test_slices_are_updated_if_only_their_hints_change():
    hinted = {**endpoint(1), "zone": "z", "hints": {"forZones": [{"name": "z"}]}}
    plain = {**endpoint(2), "zone": "z"}
    found = SliceChanges()
    hint(found, [endpoint_slice("same", hinted), endpoint_slice("other", plain)], "PreferClose")
    assert [one["metadata"]["name"] for one in found.update] == ["other"]
    assert found.update[0]["endpoints"][0]["hints"] == hinted["hints"]
    found = SliceChanges()
    hint(found, [endpoint_slice("same", hinted), endpoint_slice("other", plain)], None)
    assert [one["metadata"]["name"] for one in found.update] == ["same"]


# --- what was written


def written(uid, generation=1, name="web"):
    labels = {"kubernetes.io/service-name": name}
    return {"metadata": {"namespace": "ns", "uid": uid, "generation": generation, "labels": labels}}


def test_changes_by_other_writers_are_noticed():
    tracker = SliceTracker()
    assert tracker.is_foreign(written("a"))
    tracker.wrote(written("a", 2))
    assert [tracker.is_foreign(written("a", number)) for number in (1, 2, 3)] == [False, False, True]
    assert (tracker.has(written("a")), tracker.has(written("b"))) == (True, False)
    assert not tracker.deleted(written("a"))
    assert not tracker.has(written("a"))
    tracker.wrote(written("a"))
    tracker.expect_deletion(written("a"))
    assert tracker.deleted(written("a"))
    assert tracker.deleted(written("unknown"))


def test_a_cache_that_lacks_what_was_written_is_stale():
    tracker, service_key = SliceTracker(), Request("ns", "web")
    assert not tracker.is_stale(service_key, [])
    tracker.wrote(written("a", 2))
    assert tracker.is_stale(service_key, [])
    assert tracker.is_stale(service_key, [written("a", 1)])
    assert not tracker.is_stale(service_key, [written("a", 2), written("b")])
    assert not tracker.is_stale(service_key, [written("a", 3)])
    tracker.expect_deletion(written("a"))
    assert tracker.is_stale(service_key, [written("a", 3)])
    assert not tracker.is_stale(service_key, [written("b")])
    tracker.wrote(written("a", 9))
    tracker.forget(service_key)
    assert not tracker.is_stale(service_key, [])


def test_the_time_of_the_change_that_endpoints_are_updated_for():
    def at(second):
        return f"2026-01-01T00:00:0{second}Z"

    def of(created):
        return {"metadata": {"namespace": "ns", "name": "web", "creationTimestamp": created}}

    triggers = TriggerTimes()
    assert triggers.changed(of(at(1)), [pod(name="a", ready_at=at(3))]) == at(1)
    assert triggers.changed(of(at(1)), [pod(name="a", ready_at=at(3))]) is None
    assert triggers.changed(of(at(1)), [pod(name="a", ready_at=at(5)), pod(name="b", ready_at=at(4))]) == at(4)
    assert triggers.changed(of(at(1)), [pod(name="a", ready_at=at(4)), pod(name="b", ready_at=at(4))]) is None
    assert triggers.changed(of(at(2)), [pod(name="a", ready_at=at(9))]) == at(2)
    triggers.forget(Request("ns", "web"))
    assert triggers.changed(of(at(2)), []) == at(2)


# --- the controllers

CONTROLLERS = pytest.mark.fakekube(controllers=["endpoint", "endpointslice", "endpointslicemirroring"])


@CONTROLLERS
def test_the_empty_slice_of_a_service_follows_its_labels(fakekube):
    started(fakekube)
    (before,) = slices(fakekube)
    assert not before["endpoints"]
    fakekube.patch("v1", "Service", "web", {"metadata": {"labels": {"team": "a"}}})
    fakekube.advance(5)
    (after,) = slices(fakekube)
    assert after["metadata"]["labels"]["team"] == "a"
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    version = after["metadata"]["resourceVersion"]
    fakekube.patch("v1", "Service", "web", {"metadata": {"annotations": {"x": "1"}}})
    fakekube.advance(5)
    assert slices(fakekube)[0]["metadata"]["resourceVersion"] == version


@CONTROLLERS
def test_a_slice_that_another_changes_is_corrected_after_a_second(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    (found,) = slices(fakekube)
    fakekube.update({**found, "endpoints": []})
    fakekube.advance("900ms")
    assert not slices(fakekube)[0]["endpoints"]
    fakekube.advance("200ms")
    assert [one["addresses"] for one in slices(fakekube)[0]["endpoints"]] == [["10.1.0.1"]]
    fakekube.delete("discovery.k8s.io/v1", "EndpointSlice", found["metadata"]["name"])
    fakekube.advance(2)
    assert [one["addresses"] for each in slices(fakekube) for one in each["endpoints"]] == [["10.1.0.1"]]


@CONTROLLERS
def test_pods_that_change_their_labels_come_and_go(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    fakekube.patch("v1", "Pod", "a", {"metadata": {"labels": {"app": "other"}}})
    fakekube.settle()
    assert subsets(fakekube) == []
    fakekube.patch("v1", "Pod", "a", {"metadata": {"labels": {"app": "web", "more": "1"}}})
    fakekube.settle()
    assert [one["ip"] for one in subsets(fakekube)[0]["addresses"]] == ["10.1.0.1"]
    set_ready(fakekube, fakekube.get("v1", "Pod", "a"), False)
    fakekube.settle()
    assert [one["ip"] for one in subsets(fakekube)[0]["notReadyAddresses"]] == ["10.1.0.1"]
    fakekube.patch("v1", "Service", "web", {"spec": {"publishNotReadyAddresses": True}})
    fakekube.settle()
    assert [one["ip"] for one in subsets(fakekube)[0]["addresses"]] == ["10.1.0.1"]
    assert slices(fakekube)[0]["endpoints"][0]["conditions"] == {"ready": True, "serving": False, "terminating": False}


@CONTROLLERS
def test_a_pod_of_an_unknown_node_is_no_endpoint_of_a_slice(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1", nodeName="missing")
    assert not slices(fakekube)[0]["endpoints"]
    (event,) = fakekube.events(reason="FailedToUpdateEndpointSlices")
    assert event["message"] == (
        "Error updating Endpoint Slices for Service default/web: skipping Pod a for Service default/web: "
        "Node missing Not Found"
    )
    fakekube.create(node("missing"))
    fakekube.advance(20)
    assert [one["nodeName"] for one in slices(fakekube)[0]["endpoints"]] == ["missing"]


@CONTROLLERS
def test_ports_of_a_service_and_of_its_slices(fakekube):
    listed = [{"name": "a", "port": 80, "appProtocol": "http"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    started(fakekube, ports=listed)
    add_pod(fakekube, "a", "10.1.0.1")
    found = sorted(slices(fakekube)[0]["ports"], key=lambda one: one["name"])
    assert found == [
        {"name": "a", "port": 80, "protocol": "TCP", "appProtocol": "http"},
        {"name": "b", "port": 53, "protocol": "UDP"},
    ]
    (subset,) = subsets(fakekube)
    assert sorted(subset["ports"], key=lambda one: one["name"]) == found
    present = fakekube.get("v1", "Service", "web")
    fakekube.update({**present, "spec": {**present["spec"], "ports": [{"name": "c", "port": 90}]}})
    fakekube.advance(2)
    assert [one["ports"] for one in slices(fakekube)] == [[{"name": "c", "port": 90, "protocol": "TCP"}]]


@CONTROLLERS
def test_endpoints_of_users_are_mirrored_until_they_say_no(fakekube):
    fakekube.create(service(selector=None))
    meta = {"name": "web", "namespace": "default", "labels": {"l": "1"}, "annotations": {"a": "1"}}
    both = [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]
    listed = [{"addresses": both, "notReadyAddresses": [{"ip": "10.1.0.2"}], "ports": [{"port": 80}]}]
    fakekube.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": listed})
    fakekube.advance(2)
    found = {one["addressType"]: one for one in slices(fakekube)}
    assert found.keys() == {"IPv4", "IPv6"}
    assert {one["addresses"][0]: one["conditions"]["ready"] for one in found["IPv4"]["endpoints"]} == {
        "10.1.0.1": True,
        "10.1.0.2": False,
    }
    assert (found["IPv4"]["metadata"]["labels"]["l"], found["IPv4"]["metadata"]["annotations"]) == ("1", {"a": "1"})
    fakekube.patch("v1", "Endpoints", "web", {"metadata": {"annotations": {"a": "2"}}})
    fakekube.advance(2)
    assert {one["metadata"]["annotations"]["a"] for one in slices(fakekube)} == {"2"}
    present = fakekube.get("v1", "Endpoints", "web")
    fakekube.update({**present, "subsets": [{"addresses": [{"ip": "10.1.0.9"}], "ports": [{"port": 81}]}]})
    fakekube.advance(2)
    assert [(one["addressType"], one["ports"][0]["port"]) for one in slices(fakekube)] == [("IPv4", 81)]
    fakekube.patch(
        "v1", "Endpoints", "web", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}}
    )
    fakekube.advance(2)
    assert slices(fakekube) == []
    fakekube.patch(
        "v1", "Endpoints", "web", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": None}}}
    )
    fakekube.advance(2)
    assert len(slices(fakekube)) == 1
    fakekube.patch("v1", "Service", "web", {"spec": {"selector": {"app": "web"}}})
    fakekube.advance(2)
    assert [one["endpoints"] or [] for one in slices(fakekube)] == [[]]


TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


@CONTROLLERS
def test_slices_and_endpoints_have_the_time_of_the_change_that_they_are_written_for(fakekube):
    started(fakekube)
    created = fakekube.get("v1", "Service", "web")["metadata"]["creationTimestamp"]
    (found,) = slices(fakekube)
    assert found["metadata"]["annotations"] == {TRIGGER: created}
    fakekube.advance(10)
    add_pod(fakekube, "a", "10.1.0.1")
    ready = fakekube.get("v1", "Pod", "a")["status"]["conditions"][0]["lastTransitionTime"]
    assert ready != created
    assert slices(fakekube)[0]["metadata"]["annotations"] == {TRIGGER: ready}
    assert fakekube.get("v1", "Endpoints", "web")["metadata"]["annotations"] == {TRIGGER: ready}
    fakekube.patch("v1", "Service", "web", {"metadata": {"labels": {"team": "a"}}})
    fakekube.advance(2)
    (found,) = slices(fakekube)
    assert (found["metadata"]["labels"]["team"], TRIGGER in (found["metadata"].get("annotations") or {})) == (
        "a",
        False,
    )


@CONTROLLERS
def test_a_slice_of_a_service_of_another_uid_is_replaced(fakekube):
    started(fakekube)
    (before,) = slices(fakekube)
    foreign = [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "other"}]
    fakekube.update({**before, "metadata": {**before["metadata"], "ownerReferences": foreign}})
    fakekube.patch("v1", "Service", "web", {"metadata": {"labels": {"team": "a"}}})
    fakekube.advance(3)
    (after,) = slices(fakekube)
    uid = fakekube.get("v1", "Service", "web")["metadata"]["uid"]
    assert [one["uid"] for one in after["metadata"]["ownerReferences"]] == [uid]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


@CONTROLLERS
def test_pods_that_leave_empty_a_slice_but_do_not_delete_it(fakekube):
    started(fakekube, clusterIP="None")
    add_pod(fakekube, "a", "10.1.0.1")
    assert slices(fakekube)[0]["ports"]
    assert "service.kubernetes.io/headless" in slices(fakekube)[0]["metadata"]["labels"]
    fakekube.delete("v1", "Pod", "a", gracePeriodSeconds=0)
    fakekube.advance(2)
    (found,) = slices(fakekube)
    assert (found["endpoints"] or [], found["ports"] or []) == ([], [])


@CONTROLLERS
def test_hints_of_slices_follow_the_service(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    assert "hints" not in slices(fakekube)[0]["endpoints"][0]
    fakekube.patch("v1", "Service", "web", {"spec": {"trafficDistribution": "PreferSameZone"}})
    fakekube.advance(2)
    assert slices(fakekube)[0]["endpoints"][0]["hints"] == {"forZones": [{"name": "z1"}]}
    add_pod(fakekube, "b", "10.1.0.2")
    (found,) = slices(fakekube)
    assert [one["hints"] for one in found["endpoints"]] == [{"forZones": [{"name": "z1"}]}] * 2


@pytest.mark.parametrize(
    ("change", "changed", "relabeled"),
    [
        ({}, False, False),
        ({"metadata": {"deletionTimestamp": "t"}}, True, False),
        ({"metadata": {"annotations": {"a": "1"}}}, False, False),
        ({"metadata": {"labels": {"a": "1"}}}, False, True),
        ({"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, True, False),
        ({"status": {"podIPs": []}}, False, False),
        ({"status": {"phase": "Running"}}, False, False),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, True, False),
        ({"spec": {"hostname": "h"}}, False, True),
        ({"spec": {"subdomain": "d"}}, False, True),
        ({"spec": {"nodeName": "n"}}, False, False),
    ],
)
def test_changes_of_pods_that_endpoints_show(change, changed, relabeled):
    """`endpoint/util`: podEndpointsChanged."""
    empty = {"metadata": {}, "spec": {}, "status": {}}
    pods = empty, {**empty, **change}
    assert [has_changed(*pods), has_changed(*pods[::-1])] == [changed] * 2
    assert [is_relabeled(*pods), is_relabeled(*pods[::-1])] == [relabeled] * 2


@pytest.mark.parametrize(
    ("number", "meta", "wanted", "fresh"),
    [
        (2, {}, 2, True),
        (2, {}, 3, False),
        (CAPACITY, {}, CAPACITY, True),
        (CAPACITY + 1, {}, CAPACITY + 1, False),
        (2, {"annotations": {"endpoints.kubernetes.io/over-capacity": "truncated"}}, 2, False),
        (2, {"annotations": {"other": "x"}}, 2, True),
        (2, {"labels": {"endpoints.kubernetes.io/managed-by": "other", "a": "1"}}, 2, False),
        (2, {"labels": {"a": "1"}}, 2, False),
        (2, {"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}, 2, False),
        (2, {"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller", "a": "2"}}, 2, False),
    ],
)
def test_endpoints_are_written_if_anything_differs(number, meta, wanted, fresh):
    """`endpoints_controller.go`: syncService compares subsets, labels and capacity."""

    def subsets_of(count):
        addresses = [{"ip": f"10.{one // 250}.{one % 250}.1"} for one in range(count)]
        return repacked([{"addresses": addresses, "ports": [{"port": 80, "protocol": "TCP"}]}])

    labels = {
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        "service.kubernetes.io/headless": "",
        "a": "1",
    }
    present = {"metadata": {"labels": labels, **meta}, "subsets": subsets_of(number)}
    owner = {"metadata": {"labels": {"a": "1"}}}
    assert _is_up_to_date(present, owner, subsets_of(wanted)) is fresh


TRIGGER, OVER = "endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity"


@pytest.mark.parametrize(
    ("present", "trigger", "over", "expected"),
    [
        (None, None, False, {}),
        ({"a": "b"}, None, False, {"a": "b"}),
        ({"a": "b", TRIGGER: "before", OVER: "truncated"}, None, False, {"a": "b"}),
        ({"a": "b", TRIGGER: "before"}, "now", False, {"a": "b", TRIGGER: "now"}),
        ({"a": "b"}, None, True, {"a": "b", OVER: "truncated"}),
        ({OVER: "truncated"}, "now", True, {TRIGGER: "now", OVER: "truncated"}),
    ],
)
def test_annotations_of_endpoints(present, trigger, over, expected):
    meta = {"name": "a"} if present is None else {"name": "a", "annotations": present}
    assert _annotations({"metadata": meta}, trigger, over) == expected


@pytest.mark.parametrize(
    ("annotations", "at_start", "is_left"),
    [
        (None, True, True),
        ({"a": "b"}, True, True),
        ({"control-plane.alpha.kubernetes.io/leader": "{}"}, True, False),
        (None, False, False),
    ],
)
def test_endpoints_that_may_be_left_of_a_service(annotations, at_start, is_left):
    queue, meta = set(), {"name": "a", "namespace": "n", "annotations": annotations}
    _left_over(CreateEvent({"metadata": meta}, at_start), queue)
    assert queue == ({Request("n", "a")} if is_left else set())
