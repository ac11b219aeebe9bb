"""Objects as Scales, and the endpoints that a reference to a Service names."""

import pytest

from fakekube.apiserver import serviceresolver
from fakekube.apiserver.endpoints.subresources.scale import scale_of

META = {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "creationTimestamp": "t"}
LABELS = {"matchLabels": {"b": "2", "a": "1"}}


@pytest.mark.parametrize(
    ("fields", "spec", "status"),
    [
        ({}, {}, {"replicas": 0}),
        ({"spec": {"replicas": 0}, "status": {}}, {}, {"replicas": 0}),
        ({"spec": {"replicas": 3}, "status": {"replicas": 2}}, {"replicas": 3}, {"replicas": 2}),
        ({"spec": {"selector": LABELS}}, {}, {"replicas": 0, "selector": "a=1,b=2"}),
        (
            {"spec": {"selector": {**LABELS, "matchExpressions": [{"key": "c", "operator": "Exists"}]}}},
            {},
            {"replicas": 0, "selector": "a=1,b=2,c"},
        ),
        ({"spec": {"selector": {"x": "1", "matchLabels": "2"}}}, {}, {"replicas": 0, "selector": "matchLabels=2,x=1"}),
        ({"spec": {"selector": {"x": "1"}}}, {}, {"replicas": 0, "selector": "x=1"}),
    ],
)
def test_an_object_as_a_scale(fields, spec, status):
    obj = {"metadata": {**META, "labels": {"x": "y"}, "generation": 2}, **fields}
    assert scale_of(obj) == {"metadata": META, "spec": spec, "status": status}


def endpoint(address, ready=None):
    return {"addresses": [address], **({} if ready is None else {"conditions": {"ready": ready}})}


SLICES = [
    {"ports": [{"name": "web", "port": 80}, {"name": "more", "port": 81}],
     "endpoints": [endpoint("10.0.0.1", False), endpoint("10.0.0.2"), endpoint("10.0.0.3", True)]},
    {"ports": [{"port": 82}, {"name": "none"}], "endpoints": [endpoint("10.0.0.4", None)]},
    {"ports": None, "endpoints": [endpoint("10.0.0.5")]},
    {"ports": [{"name": "web", "port": 83}], "endpoints": None},
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("web", [("10.0.0.2", 80), ("10.0.0.3", 80)]),
        ("more", [("10.0.0.2", 81), ("10.0.0.3", 81)]),
        ("", [("10.0.0.4", 82)]),
        ("none", []),
        ("other", []),
    ],
)
def test_the_ready_addresses_of_a_port(name, found):
    assert list(serviceresolver.ready_addresses(SLICES, name)) == found


@pytest.mark.parametrize(
    ("subset", "family", "ready"),
    [
        ({"addresses": [{"ip": "10.0.0.1"}], "notReadyAddresses": [{"ip": "10.0.0.2"}]}, "IPv4", ["10.0.0.1"]),
        ({"addresses": [{"ip": "fd00::1"}]}, "IPv6", ["fd00::1"]),
        ({"notReadyAddresses": [{"ip": "fd00::1"}]}, "IPv6", []),
        ({}, "IPv4", []),
    ],
)
def test_the_slice_of_a_subset_of_endpoints(subset, family, ready):
    made = serviceresolver._mirrored({**subset, "ports": [{"port": 1}]})
    assert made["addressType"] == family
    assert [address for address, _ in serviceresolver.ready_addresses([made], "")] == ready


@pytest.mark.parametrize(("number", "name"), [(80, "a"), (81, "b"), (82, None)])
def test_the_port_of_a_service(number, name):
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 82}]
    found = serviceresolver.service_port({"spec": {"ports": ports}}, number)
    assert (found and found["name"]) == name
    assert serviceresolver.service_port({"spec": {}}, number) is None
