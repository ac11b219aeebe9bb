"""How a reference to a Service is resolved to an address."""

import pytest

from fakekube.apiserver.needs import Service
from fakekube.apiserver.serviceresolver import Unresolved, resolve
from tests.apiserver.api import Api

SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


def cluster(*slices, ports=({"port": 443, "targetPort": "tls"},), **spec):
    api = Api()
    api.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": list(ports), **spec}})
    for one in slices:
        api.ok("POST", SLICES, one)
    return api


def endpoint_slice(name, *endpoints, port=8443, port_name="", family="IPv4"):
    meta = {"name": name, "labels": {"kubernetes.io/service-name": "s"}}
    ports = [{"name": port_name, "port": port}]
    return {"metadata": meta, "addressType": family, "endpoints": list(endpoints), "ports": ports}


def endpoint(address, **conditions):
    return {"addresses": [address], "conditions": conditions}


def resolved(api, port=443, name="s"):
    return resolve(api.apiserver.store, Service("default", name, port))


def test_a0_a_ready_endpoint():
    slices = (
        endpoint_slice("s-1", endpoint("192.0.2.1", ready=False)),
        endpoint_slice("s-2", endpoint("192.0.2.2", ready=True), port=9443),
    )
    assert resolved(cluster(*slices)) == "192.0.2.2:9443"


def test_a0_an_endpoint_without_a_condition_is_ready():
    assert resolved(cluster(endpoint_slice("s-1", endpoint("192.0.2.1")))) == "192.0.2.1:8443"


def test_a0_the_slice_has_the_name_of_the_port():
    ports = ({"name": "metrics", "port": 80}, {"name": "webhook", "port": 443})
    slices = (
        endpoint_slice("s-1", endpoint("192.0.2.1"), port_name="metrics"),
        endpoint_slice("s-2", endpoint("192.0.2.2"), port_name="webhook", port=10250),
    )
    api = cluster(*slices, ports=ports)
    assert (resolved(api), resolved(api, 80)) == ("192.0.2.2:10250", "192.0.2.1:8443")


def test_a0_the_primary_family_comes_first():
    slices = (
        endpoint_slice("s-1", endpoint("2001:db8::1"), family="IPv6"),
        endpoint_slice("s-2", endpoint("192.0.2.2")),
    )
    assert resolved(cluster(*slices)) == "192.0.2.2:8443"
    assert resolved(cluster(slices[0])) == "[2001:db8::1]:8443"


def test_a0_endpoints_without_slices():
    api = cluster()
    subset = {"notReadyAddresses": [{"ip": "192.0.2.1"}], "addresses": [{"ip": "192.0.2.2"}], "ports": [{"port": 8443}]}
    api.ok("POST", ENDPOINTS, {"metadata": {"name": "s"}, "subsets": [subset]})
    assert resolved(api) == "192.0.2.2:8443"


def test_a0_an_external_name_has_the_port_of_the_reference():
    api = cluster(ports=(), type="ExternalName", externalName="hooks.example.com")
    assert resolved(api, 8443) == "hooks.example.com:8443"


@pytest.mark.parametrize(
    ("slices", "port", "name", "message"),
    [
        pytest.param((), 443, "other", 'service "other" not found', id="no-service"),
        pytest.param((), 80, "s", 'no service port 80 found for service "s"', id="no-port"),
        pytest.param((), 443, "s", 'no endpoints available for service "s"', id="no-slices"),
        pytest.param(
            (endpoint_slice("s-1", endpoint("192.0.2.1", ready=False)),),
            443,
            "s",
            'no endpoints available for service "s"',
            id="not-ready",
        ),
        pytest.param(
            (endpoint_slice("s-1", endpoint("192.0.2.1"), port_name="x"),),
            443,
            "s",
            'no endpoints available for service "s"',
            id="another-port",
        ),
    ],
)
def test_a0_no_address(slices, port, name, message):
    with pytest.raises(Unresolved) as caught:
        resolved(cluster(*slices), port, name)
    assert str(caught.value) == message
