"""The controllers of Endpoints and EndpointSlices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.controllers.serviceendpoints.deephash import fnv128a, slice_port_order, subset_port_order
from fakekube.controllers.serviceendpoints.endpointsubsets import CAPACITY, repacked, truncated
from fakekube.controllers.serviceendpoints.slices import MOST, distributed, endpoint_key
from tests.controllers.workloads import node, set_ready, template

pytestmark = pytest.mark.fakekube(controllers=["endpoint", "endpointslice", "endpointslicemirroring"], rbac=True)


def service(**spec):
    spec = {"ports": [{"port": 80}], "selector": {"app": "web"}, **spec}
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def add_pod(fakekube, name, ip, *, ready=True, ports=(), **spec):
    found = template()["spec"]
    found["containers"][0]["ports"] = list(ports)
    meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**found, "nodeName": "n1", **spec}})
    status = {"podIP": ip, "podIPs": [{"ip": ip}]}
    fakekube.patch("v1", "Pod", name, {"status": status}, subresource="status")
    set_ready(fakekube, fakekube.get("v1", "Pod", name), ready)
    fakekube.settle()


def started(fakekube, **spec):
    fakekube.create(node("n1", labels={"topology.kubernetes.io/zone": "z1"}))
    fakekube.create(service(**spec))
    fakekube.settle()


def subsets(fakekube):
    return fakekube.get("v1", "Endpoints", "web").get("subsets", [])


def slices(fakekube):
    return fakekube.list("discovery.k8s.io/v1", "EndpointSlice", label_selector="kubernetes.io/service-name=web")


def test_ready_and_other_addresses_are_apart(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    add_pod(fakekube, "b", "10.1.0.2", ready=False)
    (subset,) = subsets(fakekube)
    assert [one["ip"] for one in subset["addresses"]] == ["10.1.0.1"]
    assert [one["ip"] for one in subset["notReadyAddresses"]] == ["10.1.0.2"]
    (found,) = slices(fakekube)
    assert {one["addresses"][0]: one["conditions"]["ready"] for one in found["endpoints"]} == {
        "10.1.0.1": True,
        "10.1.0.2": False,
    }
    assert found["endpoints"][0]["zone"] == "z1"


def test_a_service_without_pods_has_an_empty_slice(fakekube):
    started(fakekube)
    (found,) = slices(fakekube)
    assert not found["endpoints"]
    assert subsets(fakekube) == []
    name = found["metadata"]["name"]
    add_pod(fakekube, "a", "10.1.0.1")
    assert [one["metadata"]["name"] for one in slices(fakekube)] == [name]


def test_ports_by_name_may_differ_between_pods(fakekube):
    started(fakekube, ports=[{"port": 80, "targetPort": "http"}])
    add_pod(fakekube, "a", "10.1.0.1", ports=[{"name": "http", "containerPort": 8080}])
    add_pod(fakekube, "b", "10.1.0.2", ports=[{"name": "http", "containerPort": 9090}])
    assert sorted(one["ports"][0]["port"] for one in slices(fakekube)) == [8080, 9090]
    assert sorted(one["ports"][0]["port"] for one in subsets(fakekube)) == [8080, 9090]


def test_pods_in_the_subdomain_have_hostnames(fakekube):
    started(fakekube, clusterIP="None")
    add_pod(fakekube, "a", "10.1.0.1", hostname="first", subdomain="web")
    assert subsets(fakekube)[0]["addresses"][0]["hostname"] == "first"
    (found,) = slices(fakekube)
    assert found["endpoints"][0]["hostname"] == "first"
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


@pytest.mark.slow
def test_endpoints_beyond_a_hundred_get_a_second_slice(fakekube):
    started(fakekube)
    for number in range(MOST + 1):
        add_pod(fakekube, f"p{number}", f"10.1.1.{number + 1}")
    assert sorted(len(one["endpoints"]) for one in slices(fakekube)) == [1, MOST]


def test_a_slice_that_somebody_changes_is_restored_after_a_second(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    (found,) = slices(fakekube)
    fakekube.update({**found, "endpoints": []})
    fakekube.settle()
    assert not slices(fakekube)[0]["endpoints"]
    fakekube.advance(1)
    assert len(slices(fakekube)[0]["endpoints"]) == 1


def test_hints_follow_the_traffic_distribution(fakekube):
    started(fakekube, trafficDistribution="PreferSameNode")
    add_pod(fakekube, "a", "10.1.0.1")
    hints = slices(fakekube)[0]["endpoints"][0]["hints"]
    assert hints == {"forZones": [{"name": "z1"}], "forNodes": [{"name": "n1"}]}
    fakekube.patch("v1", "Service", "web", {"spec": {"trafficDistribution": None}})
    fakekube.settle()
    assert "hints" not in slices(fakekube)[0]["endpoints"][0]


def test_endpoints_of_a_deleted_service_go(fakekube):
    started(fakekube)
    fakekube.delete("v1", "Service", "web")
    fakekube.settle()
    assert not fakekube.exists("v1", "Endpoints", "web")


def test_endpoints_of_a_user_are_mirrored(fakekube):
    started(fakekube, selector=None)
    endpoints = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}},
        "subsets": [{"addresses": [{"ip": "10.9.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 8080}]}],
    }
    fakekube.create(endpoints)
    fakekube.settle()
    found = {one["addressType"]: one["endpoints"][0]["addresses"] for one in slices(fakekube)}
    assert found == {"IPv4": ["10.9.0.1"], "IPv6": ["fd00::1"]}
    fakekube.patch("v1", "Endpoints", "web", {"subsets": None})
    fakekube.settle()
    assert slices(fakekube) == []


def test_an_idle_service_is_not_written(fakekube):
    started(fakekube)
    add_pod(fakekube, "a", "10.1.0.1")
    fakekube.advance(5)
    before = len([one for one in fakekube.requests(resource="endpointslices") if one.verb != "watch"])
    fakekube.advance(hours=1)
    after = [one for one in fakekube.requests(resource="endpointslices") if one.verb != "watch"]
    assert len(after) == before


ADDRESS = st.builds(lambda number: {"ip": f"10.0.0.{number}"}, st.integers(1, 5))
PORT = st.builds(lambda number: {"port": number, "protocol": "TCP"}, st.integers(1, 3))
SUBSET = st.fixed_dictionaries({
    "addresses": st.lists(ADDRESS, max_size=3),
    "notReadyAddresses": st.lists(ADDRESS, max_size=3),
    "ports": st.lists(PORT, max_size=3),
})  # fmt: skip


@given(st.lists(SUBSET, max_size=4))
def test_repacked_subsets_are_canonical(given_subsets):
    once = repacked(given_subsets)
    assert repacked(once) == once
    assert repacked(reversed(given_subsets)) == once


@given(st.integers(0, 1500), st.integers(0, 1500))
def test_endpoints_are_truncated_at_their_capacity(ready, waiting):
    lists = {"addresses": ready, "notReadyAddresses": waiting}
    subset = {name: [{"ip": str(one)} for one in range(count)] for name, count in lists.items() if count}
    kept, over = truncated([subset])
    total = sum(len(one.get(name, ())) for one in kept for name in lists)
    assert total == min(CAPACITY, ready + waiting)
    assert over is (ready + waiting > CAPACITY)
    assert sum(len(one.get("addresses", ())) for one in kept) == min(CAPACITY, ready)


@given(st.lists(st.sets(st.integers(0, 400), max_size=350), min_size=1, max_size=4))
def test_slices_hold_exactly_the_endpoints_after_each_change(states):
    """However endpoints come and go, the slices have them all, each once, and none is too full."""
    existing, names = [], 0
    for state in states:
        endpoints = [{"addresses": [f"10.0.{number // 250}.{number % 250}"]} for number in sorted(state)]
        new = {"metadata": {"labels": {}}, "addressType": "IPv4", "ports": []}
        changes = distributed(existing, {endpoint_key(one): one for one in endpoints}, new, {})
        gone = {one["metadata"]["name"] for one in (*changes.update, *changes.delete)}
        existing = [one for one in existing if one["metadata"]["name"] not in gone] + changes.update
        for one in changes.create:
            names += 1
            existing.append({**one, "metadata": {"name": f"s{names}", "labels": {}}})
        held = [end["addresses"][0] for one in existing for end in one["endpoints"]]
        assert sorted(held) == sorted(end["addresses"][0] for end in endpoints)
        assert all(len(one["endpoints"]) <= MOST for one in existing)


# --- the order of ports -----------------------------------------------------------------------------------------------

#: Texts and their hashes, as the authors of FNV publish them.
VECTORS = {b"": "6c62272e07bb014262b821756295c58d", b"a": "d228cb696f1a8caf78912b704e4a8964"}
PORTS = [{"name": name, "port": number} for name, number in (("http", 80), ("https", 443), ("dns", 53), ("x", 1))]


@pytest.mark.parametrize("text", VECTORS)
def test_fnv128a_is_that_of_its_authors(text):
    assert f"{fnv128a(text):032x}" == VECTORS[text]


def test_the_order_of_a_port_is_the_hash_of_what_go_prints(fakekube):
    """e2e, second pack: kube-controller-manager sorts ports by the hash of spew's text."""
    port = {"name": "http", "port": 80, "protocol": "TCP"}
    printed = "(v1.EndpointPort){Name:(*string)http Protocol:(*v1.Protocol)TCP Port:(*int32)80 AppProtocol:(*string)"
    assert slice_port_order(port) == fnv128a(f"{printed}<nil>}}".encode())
    assert slice_port_order({**port, "appProtocol": "h2c"}) == fnv128a(f"{printed}h2c}}".encode())
    printed = "(v1.EndpointPort){Name:(string)http Port:(int32)80 Protocol:(v1.Protocol)TCP AppProtocol:(*string)<nil>}"
    assert subset_port_order(port) == fnv128a(printed.encode())


def test_slices_and_subsets_have_their_ports_in_the_order_of_the_hash(fakekube):
    started(fakekube, ports=PORTS)
    add_pod(fakekube, "a", "10.1.0.1")
    (found,), (subset,) = slices(fakekube), subsets(fakekube)
    assert found["ports"] == sorted(found["ports"], key=slice_port_order)
    assert subset["ports"] == sorted(subset["ports"], key=subset_port_order)
    assert [one["name"] for one in found["ports"]] != [one["name"] for one in PORTS]
