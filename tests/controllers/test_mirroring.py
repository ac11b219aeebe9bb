"""Endpoints that users make, and the EndpointSlices that mirror them (`pkg/controller/endpointslicemirroring`)."""

import pytest

from fakekube.controllers.serviceendpoints.mirroring import Skipped, desired_endpoints
from tests.controllers.test_endpoints import service, slices

pytestmark = pytest.mark.fakekube(controllers=["endpointslicemirroring"])

API = "discovery.k8s.io/v1"


def endpoints(*addresses, port=80, waiting=(), **meta):
    subset = {
        "ports": [{"name": "a", "port": port, "appProtocol": "http"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    }
    subset["addresses"] = [{"ip": one, "nodeName": "n1", "hostname": "h"} for one in addresses]
    subset["notReadyAddresses"] = [{"ip": one} for one in waiting]
    meta = {"name": "web", "namespace": "default", **meta}
    subsets = [{name: found for name, found in subset.items() if found}]
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": subsets}


def begin(fakekube, made):
    fakekube.create(service(selector=None))
    fakekube.create(made)
    fakekube.advance(1)


def replace(fakekube, made):
    present = fakekube.get("v1", "Endpoints", "web")
    fakekube.update({**made, "metadata": {**present["metadata"], **made["metadata"]}})
    fakekube.advance(1)


def mirrored(fakekube):
    return sorted(one["addresses"][0] for each in slices(fakekube) for one in each["endpoints"] or ())


def test_a_mirror_has_what_the_endpoints_have(fakekube):
    begin(fakekube, endpoints("10.1.0.1", waiting=["10.1.0.2"]))
    (found,) = slices(fakekube)
    assert sorted(found["ports"], key=lambda one: one["name"]) == [
        {"name": "a", "port": 80, "protocol": "TCP", "appProtocol": "http"},
        {"name": "b", "port": 53, "protocol": "UDP"},
    ]
    first, second = sorted(found["endpoints"], key=lambda one: one["addresses"])
    assert first == {"addresses": ["10.1.0.1"], "conditions": {"ready": True}, "hostname": "h", "nodeName": "n1"}
    assert second == {"addresses": ["10.1.0.2"], "conditions": {"ready": False}}
    assert found["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == (
        "endpointslicemirroring-controller.k8s.io"
    )
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Endpoints", fakekube.get("v1", "Endpoints", "web")["metadata"]["uid"])


def test_a_mirror_is_written_only_if_something_has_changed(fakekube):
    begin(
        fakekube,
        endpoints("10.1.0.1", annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "1"}),
    )
    (before,) = slices(fakekube)
    assert before["metadata"]["annotations"] == {"a": "1"}
    patch = {"metadata": {"annotations": {"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"}}}
    fakekube.patch("v1", "Endpoints", "web", patch)
    fakekube.advance(1)
    assert slices(fakekube) == [before]
    replace(fakekube, endpoints("10.1.0.1", "10.1.0.3"))
    (after,) = slices(fakekube)
    assert (after["metadata"]["uid"], mirrored(fakekube)) == (before["metadata"]["uid"], ["10.1.0.1", "10.1.0.3"])
    replace(fakekube, endpoints("10.1.0.1", port=81))
    (other,) = slices(fakekube)
    assert other["metadata"]["uid"] == before["metadata"]["uid"]  # used again
    assert sorted(one["port"] for one in other["ports"]) == [53, 81]
    replace(fakekube, endpoints("fd00::1", port=81))
    assert [one["addressType"] for one in slices(fakekube)] == ["IPv6"]


def test_a_second_slice_of_the_same_ports_is_deleted(fakekube):
    begin(fakekube, endpoints("10.1.0.1"))
    (first,) = slices(fakekube)
    meta = {**first["metadata"], "name": "zz-twin"}
    twin = {name: value for name, value in meta.items() if name in ("name", "namespace", "labels", "ownerReferences")}
    fakekube.create({**first, "metadata": twin})
    fakekube.advance(1)
    assert len(slices(fakekube)) == 1


@pytest.mark.parametrize(
    ("ready", "waiting", "kept", "skipped"),
    [
        ((), (), [], Skipped(0, 0)),
        (("10.1.0.1",), (), ["10.1.0.1"], Skipped(0, 0)),
        (("10.1.0.1", "x", "10.1.0.300"), ("y",), ["10.1.0.1"], Skipped(3, 3)),
        (("10.1.0.1",), ("10.1.0.2",), ["10.1.0.1", "10.1.0.2"], Skipped(0, 0)),
        (("10.1.0.1", "10.1.0.2"), ("10.1.0.3",), ["10.1.0.1", "10.1.0.2"], Skipped(1, 0)),
        (("1.x", "10.1.0.1", "10.1.0.2"), ("10.1.0.3",), ["10.1.0.1", "10.1.0.2"], Skipped(2, 1)),
        (("10.1.0.1", "10.1.0.2", "10.1.0.3"), ("x",), ["10.1.0.1", "10.1.0.2"], Skipped(2, 0)),
        (("010.001.000.001", "FD00:0::1"), (), ["10.1.0.1", "fd00::1"], Skipped(0, 0)),
    ],
)
def test_the_first_valid_addresses_of_a_subset_are_mirrored(ready, waiting, kept, skipped):
    """`reconciler.go`: with at most two; the rest is counted, and only invalid ones before the limit as invalid."""
    desired, counted = desired_endpoints(endpoints(*ready, waiting=waiting), 2)
    found = {
        one["addresses"][0]: (kind, one["conditions"]["ready"])
        for (kind, _), (_, all) in desired.items()
        for one in all.values()
    }
    assert sorted(found) == kept
    assert counted == skipped
    assert all(kind == ("IPv6" if ":" in one else "IPv4") for one, (kind, _) in found.items())
    assert [one for one, (_, is_ready) in found.items() if not is_ready] == [one for one in kept if one in waiting]


def test_the_limit_is_of_each_subset_and_others_have_none():
    made = {**endpoints(), "subsets": []}
    for port, numbers in ((80, (1, 2)), (81, (3, 4, 5))):
        addresses = [{"ip": f"10.1.0.{number}"} for number in numbers]
        made["subsets"].append({"ports": [{"port": port}], "addresses": addresses})
    assert desired_endpoints(made, 2)[1] == Skipped(1, 0)
    assert desired_endpoints({"metadata": {}}, 2) == ({}, Skipped(0, 0))


@pytest.mark.slow
def test_at_most_a_thousand_addresses_of_a_subset_are_mirrored(fakekube):
    listed = [f"10.{number // 250}.{number % 250}.1" for number in range(1003)]
    begin(fakekube, endpoints(*listed[:1000]))
    assert len(mirrored(fakekube)) == 1000
    assert fakekube.events(reason="TooManyAddressesToMirror") == []
    replace(fakekube, endpoints(*listed))
    assert len(mirrored(fakekube)) == 1000
    (event,) = fakekube.events(reason="TooManyAddressesToMirror")
    assert event["message"].endswith("3 addresses were skipped")


@pytest.mark.parametrize(
    "meta",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_endpoints_that_are_not_mirrored(fakekube, meta):
    begin(fakekube, endpoints("10.1.0.1", **meta))
    assert slices(fakekube) == []


def test_a_mirror_goes_with_its_endpoints_its_service_or_its_selector(fakekube):
    begin(fakekube, endpoints("10.1.0.1"))
    fakekube.delete("v1", "Endpoints", "web")
    fakekube.advance(1)
    assert slices(fakekube) == []
    fakekube.create(endpoints("10.1.0.1"))
    fakekube.advance(1)
    assert mirrored(fakekube) == ["10.1.0.1"]
    fakekube.patch("v1", "Service", "web", {"spec": {"selector": {"app": "web"}}})
    fakekube.advance(1)
    assert slices(fakekube) == []
    fakekube.patch("v1", "Service", "web", {"spec": {"selector": None}})
    fakekube.advance(1)
    assert mirrored(fakekube) == ["10.1.0.1"]
    fakekube.delete("v1", "Service", "web")
    fakekube.advance(1)
    assert mirrored(fakekube) == []


def test_a_mirror_that_another_deletes_or_changes_comes_back(fakekube):
    begin(fakekube, endpoints("10.1.0.1"))
    (found,) = slices(fakekube)
    fakekube.delete(API, "EndpointSlice", found["metadata"]["name"])
    fakekube.advance(1)
    assert mirrored(fakekube) == ["10.1.0.1"]
    (found,) = slices(fakekube)
    fakekube.update({**found, "endpoints": []})
    fakekube.advance(1)
    assert mirrored(fakekube) == ["10.1.0.1"]


def test_a_mirror_that_cannot_be_written_is_tried_fifteen_times_again(fakekube):
    """`endpointslicemirroring_controller.go`: maxRetries."""
    rule = fakekube.fault(verb="create", resource="endpointslices", error=500)
    begin(fakekube, endpoints("10.1.0.1"))
    fakekube.advance("1h")
    assert len(fakekube.requests(verb="create", resource="endpointslices")) == 16
    rule.disarm()
    fakekube.advance("1h")
    assert slices(fakekube) == []
    replace(fakekube, endpoints("10.1.0.2"))
    assert mirrored(fakekube) == ["10.1.0.2"]
